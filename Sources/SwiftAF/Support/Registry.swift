/// A collection of elements by number, in insertion order. Accepts no elements once it is closed.
///
/// Adding and removing take constant time: a session registers each request that is intercepted.
struct Registry<Element> {
    private var elements: [Int: Element] = [:]
    private var lastID = 0
    private var isClosed = false

    var isEmpty: Bool { elements.isEmpty }

    var all: [Element] { elements.sorted { $0.key < $1.key }.map(\.value) }

    /// Adds an element. Returns its number for ``remove(_:)``; nil if the registry is closed.
    mutating func add(_ element: Element) -> Int? {
        guard !isClosed else { return nil }
        lastID += 1
        elements[lastID] = element
        return lastID
    }

    mutating func remove(_ id: Int) {
        elements[id] = nil
    }

    /// Removes and returns all elements, and closes the registry.
    mutating func close() -> [Element] {
        defer { elements = [:] }
        isClosed = true
        return all
    }
}
