/// A value in the tree that an encoder builds.
protocol EncodedValue {
    /// The parts of an array or an object, to which a container adds others; any other value is itself.
    var encodedContent: EncodedNode<Self>.Content { get }
}

/// A node of a tree that an encoder builds. A class, because several containers refer to the same node: a class and its
/// superclass may each ask the encoder for a container of the same value.
final class EncodedNode<Value: EncodedValue> {
    enum Part {
        case value(Value)
        /// The node of a nested container or a superclass, which may still change.
        case node(EncodedNode)
    }

    enum Content {
        case empty
        case value(Value)
        case elements([Part])
        case members([(name: String, part: Part)])
    }

    /// The number of members up to which a linear search is faster than a dictionary.
    private static var linearLimit: Int { 12 }
    /// Enough for a value around each array or object that may be nested, which it encodes as its single value.
    private static var maximumLevel: Int { 2 * JSONValue.maximumDepth }

    private var content = Content.empty
    /// The value whose parts the content begins with, because a container continues it; otherwise nil.
    private(set) var continued: Value?
    /// The position of the last member of each name. Filled when a container is asked for among more than
    /// ``linearLimit`` members, because most objects have none.
    private var positions: [ExactText: Int] = [:]
    /// The number of members whose names are in ``positions``.
    private var indexedCount = 0
    /// The first misuse of the encoder. Kept until ``encoded(at:)`` throws it, because the functions that make
    /// containers can't throw.
    private var misuse: String?
    /// The number of arrays and objects around the node.
    private let depth: Int
    /// The number of values around the node that are being encoded. Higher than ``depth`` if a value encodes itself as
    /// another value.
    private let level: Int

    /// Creates the root node.
    convenience init() {
        self.init(depth: 0, level: 0)
    }

    private init(depth: Int, level: Int) {
        self.depth = depth
        self.level = level
    }

    /// Creates the node of a value that will become a part of this node, or replace it, once it is complete.
    ///
    /// - Returns: The node; nil if the value is nested too deeply. A value that contains itself would overflow the
    ///   stack otherwise.
    func nodeOfValue(replacing: Bool) -> EncodedNode? {
        let depth = replacing ? depth : depth + 1
        guard depth <= JSONValue.maximumDepth, level <= Self.maximumLevel else { return nil }
        return EncodedNode(depth: depth, level: level + 1)
    }

    // MARK: Building

    var elementCount: Int {
        if case .elements(let parts) = content { parts.count } else { 0 }
    }

    /// Turns an empty node into an array.
    func becomeArray() {
        switch content {
        case .empty: content = .elements([])
        case .elements: break
        case .value, .members: fail("a value was encoded both as an array and in another way")
        }
    }

    /// Turns an empty node into an object.
    func becomeObject() {
        switch content {
        case .empty: content = .members([])
        case .members: break
        case .value, .elements: fail("a value was encoded both as an object and in another way")
        }
    }

    func set(_ value: Value) {
        guard case .empty = content else { return fail("a single value was encoded twice") }
        content = .value(value)
    }

    func append(_ value: Value) {
        append(.value(value))
    }

    func append(_ value: Value, named name: String) {
        append(.value(value), named: name)
    }

    /// Appends an empty node to an array.
    ///
    /// - Returns: This node itself if the empty one would be nested too deeply. The value has an error then.
    func appendNode() -> EncodedNode {
        guard let node = nested() else { return self }
        append(.node(node))
        return node
    }

    /// Appends an empty node to an object.
    ///
    /// - Returns: This node itself if the empty one would be nested too deeply. The value has an error then.
    func appendNode(named name: String) -> EncodedNode {
        guard let node = nested() else { return self }
        append(.node(node), named: name)
        return node
    }

    /// Returns the node of a container for a name: that of the last value of this name if it is an array or an object,
    /// as with Foundation's `JSONEncoder`, or a new one.
    func container(named name: String) -> EncodedNode {
        guard let position = lastPosition(of: name) else { return appendNode(named: name) }
        switch part(at: position) {
        case .node(let node)?: return node
        case .value(let value)?: return node(continuing: value, at: position) ?? appendNode(named: name)
        case nil: return appendNode(named: name)
        }
    }

    /// Turns the value of a member into a node; nil if it is neither an array nor an object.
    private func node(continuing value: Value, at position: Int) -> EncodedNode? {
        let parts = value.encodedContent
        if case .value = parts { return nil }
        guard case .members(var members) = content, let node = nested() else { return nil }
        node.content = parts
        node.continued = value
        content = .empty
        members[position].part = .node(node)
        content = .members(members)
        return node
    }

    private func nested() -> EncodedNode? {
        guard depth < JSONValue.maximumDepth else {
            fail(JSONValue.WritingError.tooDeep.description)
            return nil
        }
        return EncodedNode(depth: depth + 1, level: level)
    }

    private func fail(_ what: String) {
        misuse = misuse ?? what
    }

    private func append(_ part: Part) {
        guard case .elements(var parts) = content else { return }
        // Releases the other reference to the array, so that appending doesn't copy it.
        content = .empty
        parts.append(part)
        content = .elements(parts)
    }

    private func append(_ part: Part, named name: String) {
        guard case .members(var members) = content else { return }
        content = .empty
        members.append((name, part))
        content = .members(members)
    }

    private func part(at position: Int) -> Part? {
        if case .members(let members) = content { members[position].part } else { nil }
    }

    private func lastPosition(of name: String) -> Int? {
        guard case .members(let members) = content else { return nil }
        let name = ExactText(name)
        guard members.count > Self.linearLimit else { return members.lastIndex { ExactText($0.name) == name } }
        for index in indexedCount..<members.count { positions[ExactText(members[index].name)] = index }
        indexedCount = members.count
        return positions[name]
    }

    // MARK: Reading

    /// Returns the content that the value at a path has encoded.
    ///
    /// - Throws: `EncodingError` if it was encoded in two ways or is nested too deeply.
    func encoded(at path: TreePath?) throws -> Content {
        guard let misuse else { return content }
        throw EncodingError.invalidValue(
            self, EncodingError.Context(codingPath: path?.keys ?? [], debugDescription: misuse))
    }
}
