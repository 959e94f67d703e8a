extension Dictionary where Key: Comparable {
    /// The members in the order of their keys.
    // Sorts the keys, not the members, because the compiler would specialise sorting for each type of member.
    var sortedByKey: [Element] {
        keys.sorted().compactMap { key in self[key].map { (key, $0) } }
    }
}
