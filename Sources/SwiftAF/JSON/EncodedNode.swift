/// A node of a tree that an encoder builds. A class, because several containers refer to the same node: a class and its
/// superclass may each ask the encoder for a container of the same value.
final class EncodedNode<Value> {
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

    private var content = Content.empty
    /// The members that are containers, once there are more than ``linearLimit`` members.
    private var containers: [String: EncodedNode] = [:]
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
        guard depth <= JSONValue.maximumDepth, level < 2 * JSONValue.maximumDepth else { return nil }
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

    /// Returns the node of a container for a name. As with Foundation's `JSONEncoder`, that is the last one that was
    /// appended for the name, if there is one; otherwise a new one.
    func container(named name: String) -> EncodedNode {
        existingContainer(named: name) ?? appendNode(named: name)
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
        if members.count == Self.linearLimit + 1 {
            for member in members { index(member.part, named: member.name) }
        } else if members.count > Self.linearLimit {
            index(part, named: name)
        }
        content = .members(members)
    }

    private func index(_ part: Part, named name: String) {
        switch part {
        case .node(let node): containers[name] = node
        case .value: if !containers.isEmpty { containers[name] = nil }
        }
    }

    private func existingContainer(named name: String) -> EncodedNode? {
        guard case .members(let members) = content else { return nil }
        guard members.count <= Self.linearLimit else { return containers[name] }
        guard case .node(let node)? = members.last(where: { $0.name == name })?.part else { return nil }
        return node
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
