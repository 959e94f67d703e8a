/// The path from the root to a container, shared by everything below it. Converted to an array only on demand.
class TreePath {
    /// A key or an index, one level deeper.
    enum Step: Sendable {
        case member(any CodingKey)
        case element(Int)

        var key: any CodingKey {
            switch self {
            case .member(let key): key
            case .element(let index): TreeKey(intValue: index)
            }
        }
    }

    /// Nil for the root.
    private let step: Step?
    private let parent: TreePath?

    init(_ step: Step?, below parent: TreePath?) {
        self.step = step
        self.parent = parent
    }

    final var keys: [any CodingKey] {
        var keys: [any CodingKey] = []
        var next: TreePath? = self
        while let path = next {
            if let step = path.step { keys.append(step.key) }
            next = path.parent
        }
        return keys.reversed()
    }
}

/// A coding key for any string or index.
struct TreeKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = "Index \(intValue)"
        self.intValue = intValue
    }

    static let `super` = TreeKey(stringValue: "super")
}
