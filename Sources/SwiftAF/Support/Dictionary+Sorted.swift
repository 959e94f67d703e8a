extension Dictionary where Key: Comparable {
    /// The members in the order of their keys.
    // Sorts the keys and not the members: sorting is compiled again for each type of element.
    var sortedByKey: [Element] {
        keys.sorted().compactMap { key in self[key].map { (key, $0) } }
    }
}
