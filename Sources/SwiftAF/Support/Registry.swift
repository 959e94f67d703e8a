/// A collection of elements by number, in insertion order. Accepts no elements once it is closed.
struct Registry<Element> {
    private var elements: [(id: Int, element: Element)] = []
    private var lastID = 0
    private var isClosed = false

    var isEmpty: Bool { elements.isEmpty }

    var all: [Element] { elements.map(\.element) }

    /// Adds an element. Returns its number for ``remove(_:)``; nil if the registry is closed.
    mutating func add(_ element: Element) -> Int? {
        guard !isClosed else { return nil }
        lastID += 1
        elements.append((lastID, element))
        return lastID
    }

    mutating func remove(_ id: Int) {
        elements.removeAll { $0.id == id }
    }

    /// Removes and returns all elements, and closes the registry.
    mutating func close() -> [Element] {
        defer { elements = [] }
        isClosed = true
        return all
    }
}
