/// The path from the root to a container, shared by everything below it. Converted to an array only on demand.
class TreePath {
    /// The last step of the path, unless it is an index; nil for the root.
    private let key: (any CodingKey)?
    /// The last step of the path, if it is an index; otherwise -1. Much cheaper to store than a key.
    private let index: Int
    final let parent: TreePath?

    init(_ key: consuming (any CodingKey)?, below parent: TreePath?) {
        self.key = key
        index = -1
        self.parent = parent
    }

    init(index: Int, below parent: TreePath?) {
        key = nil
        self.index = index
        self.parent = parent
    }

    /// The last step of the path; nil for the root.
    final var step: (any CodingKey)? { index < 0 ? key : TreeKey.index(index) }

    final var keys: [any CodingKey] {
        var keys: [any CodingKey] = []
        var next: TreePath? = self
        while let path = next {
            if let step = path.step { keys.append(step) }
            next = path.parent
        }
        return keys.reversed()
    }
}

/// A coding key for any string or index. The text of an index is made only on demand.
enum TreeKey: CodingKey {
    case name(String)
    case index(Int)

    init(stringValue: String) { self = .name(stringValue) }
    init(intValue: Int) { self = .index(intValue) }

    var stringValue: String {
        switch self {
        case .name(let name): name
        case .index(let index): "Index \(index)"
        }
    }

    var intValue: Int? {
        if case .index(let index) = self { index } else { nil }
    }

    static let `super` = TreeKey.name("super")
}
