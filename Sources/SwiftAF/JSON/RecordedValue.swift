import FoundationEssentials

/// The recorded calls that a value has made to an encoder. Another encoder can write them later: the manager's, which
/// isn't known when a body or parameters are made. The value itself can't be kept until then, because it needn't be
/// `Sendable`, may change meanwhile, and its conformance may belong to an actor.
///
/// Dates, data and other types that encoders have options for are recorded unchanged, and names of members unconverted.
struct RecordedValue: Encodable, Sendable {
    indirect enum Content: Sendable {
        /// The value encoded nothing.
        case nothing
        case null
        case leaf(any Encodable & Sendable)
        case elements([Content])
        /// An object. The first `dataNames` names are those of a dictionary: data, which encoders don't convert. The
        /// others are keys, which a container may have added to a dictionary.
        case members([(name: String, content: Content)], dataNames: Int)
    }

    let content: Content
    /// The type of the value, for errors.
    let type: any Any.Type

    init(content: Content, type: any Any.Type) {
        self.content = content
        self.type = type
    }

    /// Records a value before this initializer returns.
    ///
    /// - Throws: The errors of the value's own `encode(to:)`; `EncodingError` if it contains itself or is
    ///   nested too deeply.
    init(_ value: some Encodable) throws {
        content = try RecordingContext(node: EncodedNode(), path: nil).content(of: value, at: nil)
        type = Swift.type(of: value)
    }

    func encode(to encoder: any Encoder) throws {
        try content.encode(to: encoder)
    }
}

extension RecordedValue.Content: Encodable {
    /// The value that an encoder is given for this content within a container, so that it recognises types with
    /// options.
    private var encodable: any Encodable {
        switch self {
        case .leaf(let value): value
        case .members(let members, let dataNames) where dataNames > 0 && dataNames == members.count:
            Self.dictionary(members)
        case .nothing, .null, .elements, .members: self
        }
    }

    private static func dictionary(_ members: some Sequence<(name: String, content: Self)>) -> [String: Self] {
        Dictionary(members.map { ($0.name, $0.content) }) { $1 }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .nothing: break
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .leaf:
            var container = encoder.singleValueContainer()
            try container.encode(encodable)
        case .elements(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element.encodable) }
        case .members(let members, let dataNames) where dataNames > 0 && dataNames == members.count:
            var container = encoder.singleValueContainer()
            try container.encode(Self.dictionary(members))
        case .members(let members, _):
            var container = encoder.container(keyedBy: TreeKey.self)
            for (name, content) in members { try content.encode(named: name, into: &container) }
        }
    }

    /// Encodes a member. What containers have added to a dictionary, or to one within it, is added in the same way
    /// again, because encoders don't convert the names of a dictionary, but those that a container adds.
    private func encode(named name: String, into container: inout KeyedEncodingContainer<TreeKey>) throws {
        guard hasAdditions else { return try container.encode(encodable, forKey: .name(name)) }
        try container.encode(withoutAdditions.encodable, forKey: .name(name))
        try encodeAdditions(named: name, into: &container)
    }

    /// Whether containers have added members to this dictionary, or to one within it.
    private var hasAdditions: Bool {
        guard case .members(let members, let dataNames) = self, dataNames > 0 else { return false }
        return dataNames < members.count || members.contains { $0.content.hasAdditions }
    }

    /// The dictionary as it was encoded, before containers added members.
    private var withoutAdditions: Self {
        guard hasAdditions, case .members(let members, let dataNames) = self else { return self }
        return .members(members[..<dataNames].map { ($0.name, $0.content.withoutAdditions) }, dataNames: dataNames)
    }

    private func encodeAdditions(
        named name: String, into container: inout KeyedEncodingContainer<TreeKey>
    ) throws {
        guard hasAdditions, case .members(let members, let dataNames) = self else { return }
        var rest = container.nestedContainer(keyedBy: TreeKey.self, forKey: .name(name))
        for (name, content) in members[..<dataNames] { try content.encodeAdditions(named: name, into: &rest) }
        for (name, content) in members[dataNames...] { try content.encode(named: name, into: &rest) }
    }
}

extension RecordedValue.Content: EncodedValue {
    var encodedContent: EncodedNode<Self>.Content {
        switch self {
        case .elements(let elements): .elements(elements.map { .value($0) })
        case .members(let members, _): .members(members.map { ($0.name, .value($0.content)) })
        case .leaf(let recorded as RecordedValue): recorded.content.encodedContent
        case .leaf(JSONValue.array(let elements)): .elements(elements.map { .value(.leaf($0)) })
        case .leaf(JSONValue.object(let object)): .members(object.map { ($0.key, .value(.leaf($0.value))) })
        case .nothing, .null, .leaf: .value(self)
        }
    }

    /// The number of leading names of ``encodedContent`` that are data.
    fileprivate var dataNames: Int {
        switch self {
        case .members(_, let dataNames): dataNames
        case .leaf(let recorded as RecordedValue): recorded.content.dataNames
        case .leaf(JSONValue.object(let object)): object.count
        case .nothing, .null, .leaf, .elements: 0
        }
    }
}

extension EncodedNode<RecordedValue.Content> {
    fileprivate func content(isDictionary: Bool = false, at path: TreePath?) throws -> RecordedValue.Content {
        func content(of part: Part) throws -> RecordedValue.Content {
            switch part {
            case .value(let content): content
            case .node(let node): try node.content(at: path)
            }
        }
        switch try encoded(at: path) {
        case .empty: return .nothing
        case .value(let content): return content
        case .elements(let elements): return .elements(try elements.map(content))
        case .members(let members):
            return .members(
                try members.map { ($0.name, try content(of: $0.part)) },
                dataNames: isDictionary ? members.count : continued?.dataNames ?? 0)
        }
    }
}

/// The state that the containers of a node share.
private struct RecordingContext {
    let node: EncodedNode<RecordedValue.Content>
    let path: TreePath?

    var codingPath: [any CodingKey] { path?.keys ?? [] }

    /// Returns the encoder of a nested container or a superclass, whose node was appended to this one.
    func encoder(_ nested: EncodedNode<RecordedValue.Content>, at step: any CodingKey) -> RecordingEncoder {
        // If the container would be nested too deeply, the same node is returned, and the path must not grow either.
        RecordingEncoder(
            context: nested === node ? self : RecordingContext(node: nested, path: TreePath(step, below: path)))
    }

    func content<Value: Encodable>(of value: Value, at step: (any CodingKey)?) throws -> RecordedValue.Content {
        if let leaf = Self.leaf(value) { return .leaf(leaf) }
        let inner = path(to: step)
        guard let node = node.nodeOfValue(replacing: step == nil) else {
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(
                    codingPath: inner?.keys ?? [], debugDescription: JSONValue.WritingError.tooDeep.description))
        }
        try value.encode(to: RecordingEncoder(context: RecordingContext(node: node, path: inner)))
        return try node.content(isDictionary: TreeOptions.isDictionary(Value.self), at: inner)
    }

    private func path(to step: (any CodingKey)?) -> TreePath? {
        step.map { TreePath($0, below: path) } ?? path
    }

    /// Returns the value itself, if encoders have their own way to write its type; otherwise nil.
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

    func encodeNil(forKey key: Key) throws { context.node.append(.null, named: key.stringValue) }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        context.node.append(try context.content(of: value, at: key), named: key.stringValue)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        nested(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        nested(key).unkeyedContainer()
    }

    private func nested(_ key: Key) -> RecordingEncoder {
        context.encoder(context.node.container(named: key.stringValue), at: key)
    }

    func superEncoder() -> any Encoder { encoder(TreeKey.super) }
    func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }

    private func encoder(_ key: some CodingKey) -> RecordingEncoder {
        context.encoder(context.node.appendNode(named: key.stringValue), at: key)
    }
}

private struct RecordingUnkeyedContainer: UnkeyedEncodingContainer {
    let context: RecordingContext

    var codingPath: [any CodingKey] { context.codingPath }
    var count: Int { context.node.elementCount }

    func encodeNil() throws { context.node.append(.null) }
    func encode<Value: Encodable>(_ value: Value) throws {
        context.node.append(try context.content(of: value, at: TreeKey.index(count)))
    }

    func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        nested().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nested().unkeyedContainer() }
    func superEncoder() -> any Encoder { nested() }

    private func nested() -> RecordingEncoder {
        let step = TreeKey.index(count)
        return context.encoder(context.node.appendNode(), at: step)
    }
}

private struct RecordingSingleContainer: SingleValueEncodingContainer {
    let context: RecordingContext

    var codingPath: [any CodingKey] { context.codingPath }

    func encodeNil() throws { context.node.set(.null) }
    func encode<Value: Encodable>(_ value: Value) throws {
        context.node.set(try context.content(of: value, at: nil))
    }
}
