/// A collection of elements by number, in insertion order. Accepts no elements once it is closed.
///
/// Adding and removing take constant time: a session registers each request that is intercepted.
struct Registry<Element> {
    private var elements: [UInt64: Element] = [:]
    private var lastID: UInt64 = 0
    private var isClosed = false

    var isEmpty: Bool { elements.isEmpty }

    var all: [Element] { elements.sortedByKey.map(\.value) }

    /// Adds an element. Returns its number for ``remove(_:)``; nil if the registry is closed.
    mutating func add(_ element: Element) -> UInt64? {
        guard !isClosed else { return nil }
        lastID += 1
        elements[lastID] = element
        return lastID
    }

    mutating func remove(_ id: UInt64) {
        elements[id] = nil
    }

    /// Removes and returns all elements, and closes the registry.
    mutating func close() -> [Element] {
        defer { elements = [:] }
        isClosed = true
        return all
    }
}
