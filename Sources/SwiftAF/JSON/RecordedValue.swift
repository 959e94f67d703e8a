import FoundationEssentials

/// What a value passed to an encoder, recorded so that another encoder can write it later: the manager's, which isn't
/// known when a body or parameters are made. The value itself couldn't wait: it needn't be `Sendable`, may change
/// meanwhile, and its conformance may belong to an actor.
///
/// Dates, data and whatever else encoders have options for are kept as they are, names of members unconverted.
struct RecordedValue: Encodable, Sendable {
    indirect enum Content: Sendable {
        /// The value encoded nothing.
        case nothing
        case null
        case leaf(any Encodable & Sendable)
        case elements([Content])
        /// A dictionary has data for names, which encoders don't convert.
        case members([(name: String, content: Content)], isDictionary: Bool)
    }

    let content: Content
    /// The type of the value, for errors.
    let type: any Any.Type

    init(content: Content, type: any Any.Type) {
        self.content = content
        self.type = type
    }

    /// Records a value at once.
    ///
    /// - Throws: The errors of the value's own `encode(to:)`; `EncodingError` if it contains itself.
    init(_ value: some Encodable) throws {
        content = try RecordingContext(node: RecordedNode(), path: nil, level: 0).content(of: value, at: nil)
        type = Swift.type(of: value)
    }

    func encode(to encoder: any Encoder) throws {
        try content.encode(to: encoder)
    }
}

extension RecordedValue.Content: Encodable {
    /// What an encoder gets for this content within a container, so that it recognises types with options.
    private var encodable: any Encodable {
        switch self {
        case .leaf(let value): value
        case .members(let members, isDictionary: true):
            Dictionary(members.map { ($0.name, $0.content) }) { $1 }
        case .nothing, .null, .elements, .members: self
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .nothing: break
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .leaf, .members(_, isDictionary: true):
            var container = encoder.singleValueContainer()
            try container.encode(encodable)
        case .elements(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element.encodable) }
        case .members(let members, isDictionary: false):
            var container = encoder.container(keyedBy: TreeKey.self)
            for (name, content) in members { try container.encode(content.encodable, forKey: .name(name)) }
        }
    }
}

/// A node of a recording. Containers refer to it, and an encoder returns the same container each time, because a class
/// and its superclass may encode into the same one.
private final class RecordedNode {
    enum Part {
        case content(RecordedValue.Content)
        /// The node of a nested container or a superclass, which may still change.
        case node(RecordedNode)

        func content(_ codingPath: () -> [any CodingKey]) throws -> RecordedValue.Content {
            switch self {
            case .content(let content): content
            case .node(let node): try node.content(codingPath)
            }
        }
    }

    private enum Parts {
        case empty
        case single(RecordedValue.Content)
        case elements([Part])
        case members([(name: String, part: Part)])
    }

    private var parts = Parts.empty
    /// Whether the value is a dictionary with `String` keys.
    var isDictionary = false
    private var isMisused = false

    var elementCount: Int {
        if case .elements(let parts) = parts { parts.count } else { 0 }
    }

    func becomeArray() {
        switch parts {
        case .empty: parts = .elements([])
        case .elements: break
        case .single, .members: isMisused = true
        }
    }

    func becomeObject() {
        switch parts {
        case .empty: parts = .members([])
        case .members: break
        case .single, .elements: isMisused = true
        }
    }

    func set(_ content: RecordedValue.Content) {
        guard case .empty = parts else { return isMisused = true }
        parts = .single(content)
    }

    func append(_ part: Part) {
        guard case .elements(var elements) = parts else { return }
        // Otherwise appending would copy the array.
        parts = .empty
        elements.append(part)
        parts = .elements(elements)
    }

    func append(_ part: Part, named name: String) {
        guard case .members(var members) = parts else { return }
        parts = .empty
        members.append((name, part))
        parts = .members(members)
    }

    /// The node of the last container with a name.
    func node(named name: String) -> RecordedNode? {
        guard case .members(let members) = parts, case .node(let node)? = members.last(where: { $0.name == name })?.part
        else { return nil }
        return node
    }

    func content(_ codingPath: () -> [any CodingKey]) throws -> RecordedValue.Content {
        guard !isMisused else {
            throw EncodingError.invalidValue(
                self,
                EncodingError.Context(
                    codingPath: codingPath(), debugDescription: "a value was encoded in two ways at once"))
        }
        switch parts {
        case .empty: return .nothing
        case .single(let content): return content
        case .elements(let elements): return .elements(try elements.map { try $0.content(codingPath) })
        case .members(let members):
            return .members(
                try members.map { ($0.name, try $0.part.content(codingPath)) }, isDictionary: isDictionary)
        }
    }
}

/// The state that the containers of a node share.
private struct RecordingContext {
    let node: RecordedNode
    let path: TreePath?
    /// The number of values that are being encoded around the node.
    let level: Int

    var codingPath: [any CodingKey] { path?.keys ?? [] }

    func nested(at step: any CodingKey, node: RecordedNode = RecordedNode()) -> RecordingContext {
        RecordingContext(node: node, path: TreePath(step, below: path), level: level)
    }

    func content<Value: Encodable>(of value: Value, at step: (any CodingKey)?) throws -> RecordedValue.Content {
        if let leaf = Self.leaf(value) { return .leaf(leaf) }
        let inner = RecordingContext(
            node: RecordedNode(), path: step.map { TreePath($0, below: path) } ?? path, level: level + 1)
        // Without this limit, a value that contains itself would overflow the stack.
        guard level < 2 * JSONValue.maximumDepth else {
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(
                    codingPath: inner.codingPath, debugDescription: JSONValue.WritingError.tooDeep.description))
        }
        inner.node.isDictionary = TreeOptions.isDictionary(Value.self)
        try value.encode(to: RecordingEncoder(context: inner))
        return try inner.node.content { inner.codingPath }
    }

    /// The value itself, if it is of a type that encoders write in a way of their own.
    private static func leaf<Value: Encodable>(_ value: Value) -> (any Encodable & Sendable)? {
        switch Value.self {
        case is String.Type: value as? String
        case is Bool.Type: value as? Bool
        case is Int.Type: value as? Int
        case is Int8.Type: value as? Int8
        case is Int16.Type: value as? Int16
        case is Int32.Type: value as? Int32
        case is Int64.Type: value as? Int64
        case is Int128.Type: value as? Int128
        case is UInt.Type: value as? UInt
        case is UInt8.Type: value as? UInt8
        case is UInt16.Type: value as? UInt16
        case is UInt32.Type: value as? UInt32
        case is UInt64.Type: value as? UInt64
        case is UInt128.Type: value as? UInt128
        case is Double.Type: value as? Double
        case is Float.Type: value as? Float
        case is Date.Type: value as? Date
        case is Data.Type: value as? Data
        case is URL.Type: value as? URL
        case is Decimal.Type: value as? Decimal
        case is JSONValue.Type: value as? JSONValue
        case is RecordedValue.Type: value as? RecordedValue
        default: nil
        }
    }
}

private struct RecordingEncoder: Encoder {
    let context: RecordingContext

    var codingPath: [any CodingKey] { context.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        context.node.becomeObject()
        return KeyedEncodingContainer(RecordingKeyedContainer<Key>(context: context))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        context.node.becomeArray()
        return RecordingUnkeyedContainer(context: context)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { RecordingSingleContainer(context: context) }
}

private struct RecordingKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let context: RecordingContext

    var codingPath: [any CodingKey] { context.codingPath }

    func encodeNil(forKey key: Key) throws { context.node.append(.content(.null), named: key.stringValue) }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        context.node.append(.content(try context.content(of: value, at: key)), named: key.stringValue)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        RecordingEncoder(context: nest(key)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        RecordingEncoder(context: nest(key)).unkeyedContainer()
    }

    /// Containers for the same key are one, as with Foundation's `JSONEncoder`.
    private func nest(_ key: Key) -> RecordingContext {
        if let node = context.node.node(named: key.stringValue) { return context.nested(at: key, node: node) }
        return appended(key)
    }

    private func appended(_ key: some CodingKey) -> RecordingContext {
        let nested = context.nested(at: key)
        context.node.append(.node(nested.node), named: key.stringValue)
        return nested
    }

    func superEncoder() -> any Encoder { RecordingEncoder(context: appended(TreeKey.super)) }
    func superEncoder(forKey key: Key) -> any Encoder { RecordingEncoder(context: appended(key)) }
}

private struct RecordingUnkeyedContainer: UnkeyedEncodingContainer {
    let context: RecordingContext

    var codingPath: [any CodingKey] { context.codingPath }
    var count: Int { context.node.elementCount }

    func encodeNil() throws { context.node.append(.content(.null)) }
    func encode<Value: Encodable>(_ value: Value) throws {
        context.node.append(.content(try context.content(of: value, at: TreeKey.index(count))))
    }

    func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        RecordingEncoder(context: nest()).container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        RecordingEncoder(context: nest()).unkeyedContainer()
    }

    private func nest() -> RecordingContext {
        let nested = context.nested(at: TreeKey.index(count))
        context.node.append(.node(nested.node))
        return nested
    }

    func superEncoder() -> any Encoder { RecordingEncoder(context: nest()) }
}

private struct RecordingSingleContainer: SingleValueEncodingContainer {
    let context: RecordingContext

    var codingPath: [any CodingKey] { context.codingPath }

    func encodeNil() throws { context.node.set(.null) }
    func encode<Value: Encodable>(_ value: Value) throws {
        context.node.set(try context.content(of: value, at: nil))
    }
}
