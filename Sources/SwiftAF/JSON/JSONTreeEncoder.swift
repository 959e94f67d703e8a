import FoundationEssentials

extension JSONValue: EncodedValue {
    var encodedContent: EncodedNode<JSONValue>.Content {
        switch self {
        case .array(let elements): .elements(elements.map { .value($0) })
        case .object(let object): .members(object.map { ($0.key, .value($0.value)) })
        case .null, .bool, .number, .string: .value(self)
        }
    }
}

extension EncodedNode<JSONValue> {
    /// Returns the tree; nil if nothing was encoded.
    fileprivate func tree(at path: TreePath?) throws -> JSONValue? {
        func value(of part: Part) throws -> JSONValue {
            switch part {
            case .value(let value): value
            // An empty container has already become an array or an object.
            case .node(let node): try node.tree(at: path) ?? .object(JSONObject())
            }
        }
        switch try encoded(at: path) {
        case .empty: return nil
        case .value(let value): return value
        case .elements(let parts): return .array(try parts.map(value))
        case .members(let members):
            return .object(
                JSONObject(entries: try members.map { JSONObject.Entry(key: $0.name, value: try value(of: $0.part)) }))
        }
    }
}

/// Encodes a value into a node of a tree.
struct TreeEncoder: Encoder {
    private let context: TreeContext
    private let convertsKeys: Bool

    fileprivate init(context: TreeContext, convertsKeys: Bool) {
        self.context = context
        self.convertsKeys = convertsKeys
    }

    var codingPath: [any CodingKey] { context.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        context.node.becomeObject()
        return KeyedEncodingContainer(TreeKeyedEncoder<Key>(context: context, convertsKeys: convertsKeys))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        context.node.becomeArray()
        return TreeUnkeyedEncoder(context: context)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        TreeSingleEncoder(context: context)
    }

    /// Encodes a tree unchanged.
    func encode(tree: JSONValue) throws {
        context.node.set(tree)
    }

    /// Encodes a value as a tree.
    static func tree(of value: some Encodable, options: TreeOptions) throws -> JSONValue {
        try TreeContext(node: EncodedNode(), path: nil, options: options).tree(of: value, at: nil, isRoot: true)
    }
}

/// The state that all containers of a node share.
private struct TreeContext {
    let node: EncodedNode<JSONValue>
    let path: TreePath?
    let options: TreeOptions

    var codingPath: [any CodingKey] { path?.keys ?? [] }

    /// Returns the encoder of a nested container or a superclass, whose node was appended to this one.
    func encoder(_ nested: EncodedNode<JSONValue>, at step: any CodingKey) -> TreeEncoder {
        // If the container would be nested too deeply, the same node is returned, and the path must not grow either.
        let path = nested === node ? path : TreePath(step, below: path)
        return TreeEncoder(
            context: TreeContext(node: nested, path: path, options: options),
            convertsKeys: options.keys == .snakeCase)
    }

    func codingPath(to step: (any CodingKey)?) -> [any CodingKey] {
        path(to: step)?.keys ?? []
    }

    private func path(to step: (any CodingKey)?) -> TreePath? {
        step.map { TreePath($0, below: path) } ?? path
    }

    /// Returns the tree of a value that is encoded into the node.
    func tree<Value: Encodable>(of value: Value, at step: (any CodingKey)?, isRoot: Bool = false) throws -> JSONValue {
        let type = Value.self
        // Fast paths for the most frequent element types. The casts are between identical types.
        if type == String.self { return .string(unsafeBitCast(value, to: String.self)) }
        if type == Int.self { return .number(JSONNumber(unsafeBitCast(value, to: Int.self))) }
        if type == Int64.self { return .number(JSONNumber(unsafeBitCast(value, to: Int64.self))) }
        if type == UInt8.self { return .number(JSONNumber(unsafeBitCast(value, to: UInt8.self))) }
        if type == Double.self { return try number(unsafeBitCast(value, to: Double.self), at: step) }
        if let tree = try foreign(value, at: step) { return tree }
        guard let node = node.nodeOfValue(replacing: step == nil) else {
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(
                    codingPath: codingPath(to: step), debugDescription: JSONValue.WritingError.tooDeep.description))
        }
        let inner = TreeContext(node: node, path: path(to: step), options: options)
        try value.encode(to: TreeEncoder(context: inner, convertsKeys: options.convertsKeys(of: type)))
        if let tree = try node.tree(at: inner.path) { return tree }
        guard !isRoot else {
            throw EncodingError.invalidValue(
                value, EncodingError.Context(codingPath: [], debugDescription: "\(type) encoded nothing"))
        }
        return .object(JSONObject())
    }

    /// Returns the tree of a type whose own encoding differs from its representation in JSON; nil for other types.
    private func foreign<Value: Encodable>(_ value: Value, at step: (any CodingKey)?) throws -> JSONValue? {
        let type = Value.self
        if type == JSONValue.self { return value as? JSONValue }
        if type == Date.self, let value = value as? Date { return try date(value, at: step) }
        if type == Data.self, let value = value as? Data { return .string(value.base64EncodedString()) }
        if type == URL.self, let value = value as? URL { return .string(value.absoluteString) }
        if type == Decimal.self, let value = value as? Decimal {
            guard let number = JSONNumber(value) else { throw nonFinite(value, at: step) }
            return .number(number)
        }
        return nil
    }

    private func date(_ date: Date, at step: (any CodingKey)?) throws -> JSONValue {
        switch options.dates {
        case .deferredToDate: return try number(date.timeIntervalSinceReferenceDate, at: step)
        case .secondsSince1970: return try number(date.timeIntervalSince1970, at: step)
        case .millisecondsSince1970: return try number(date.timeIntervalSince1970 * 1000, at: step)
        case .iso8601:
            guard let text = DateText.text(of: date) else { throw DateText.error(date, at: codingPath(to: step)) }
            return .string(text)
        }
    }

    /// Encodes a number without a zero fraction, so that integers are read as integers.
    func number(_ value: Double, at step: (any CodingKey)?) throws -> JSONValue {
        guard value.isFinite else {
            guard let words = options.floatWords else { throw nonFinite(value, at: step) }
            return .string(words.text(of: value))
        }
        return .number(JSONNumber(shortest: value.description) ?? JSONNumber(value))
    }

    func number(_ value: Float, at step: (any CodingKey)?) throws -> JSONValue {
        guard value.isFinite else { return try number(Double(value), at: step) }
        // Written with the digits of the `Float`, not of the `Double` with the same value: 0.1, not
        // 0.10000000149011612.
        return .number(JSONNumber(shortest: value.description) ?? JSONNumber(Double(value)))
    }

    private func nonFinite(_ value: Any, at step: (any CodingKey)?) -> EncodingError {
        .invalidValue(
            value,
            EncodingError.Context(
                codingPath: codingPath(to: step), debugDescription: JSONValue.WritingError.nonFiniteNumber.description))
    }
}

extension JSONNumber {
    /// Creates a number from the text that the standard library prints, without a zero fraction.
    init?(shortest text: String) {
        self.init(text.hasSuffix(".0") ? String(text.dropLast(2)) : text)
    }
}

/// A container for the members of an object.
private struct TreeKeyedEncoder<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let context: TreeContext
    let convertsKeys: Bool

    var codingPath: [any CodingKey] { context.codingPath }

    private func name(_ key: some CodingKey) -> String {
        convertsKeys ? SnakeCase.encoded(key.stringValue) : key.stringValue
    }

    private func append(_ value: JSONValue, _ key: Key) {
        context.node.append(value, named: name(key))
    }

    func encodeNil(forKey key: Key) throws { append(.null, key) }
    func encode(_ value: Bool, forKey key: Key) throws { append(.bool(value), key) }
    func encode(_ value: String, forKey key: Key) throws { append(.string(value), key) }
    func encode(_ value: Double, forKey key: Key) throws { append(try context.number(value, at: key), key) }
    func encode(_ value: Float, forKey key: Key) throws { append(try context.number(value, at: key), key) }
    func encode(_ value: Int, forKey key: Key) throws { append(.number(JSONNumber(value)), key) }
    func encode(_ value: Int8, forKey key: Key) throws { append(.number(JSONNumber(value)), key) }
    func encode(_ value: Int16, forKey key: Key) throws { append(.number(JSONNumber(value)), key) }
    func encode(_ value: Int32, forKey key: Key) throws { append(.number(JSONNumber(value)), key) }
    func encode(_ value: Int64, forKey key: Key) throws { append(.number(JSONNumber(value)), key) }
    func encode(_ value: Int128, forKey key: Key) throws { append(.number(JSONNumber(value)), key) }
    func encode(_ value: UInt, forKey key: Key) throws { append(.number(JSONNumber(value)), key) }
    func encode(_ value: UInt8, forKey key: Key) throws { append(.number(JSONNumber(value)), key) }
    func encode(_ value: UInt16, forKey key: Key) throws { append(.number(JSONNumber(value)), key) }
    func encode(_ value: UInt32, forKey key: Key) throws { append(.number(JSONNumber(value)), key) }
    func encode(_ value: UInt64, forKey key: Key) throws { append(.number(JSONNumber(value)), key) }
    func encode(_ value: UInt128, forKey key: Key) throws { append(.number(JSONNumber(value)), key) }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        append(try context.tree(of: value, at: key), key)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        nested(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        nested(key).unkeyedContainer()
    }

    private func nested(_ key: Key) -> TreeEncoder {
        context.encoder(context.node.container(named: name(key)), at: key)
    }

    func superEncoder() -> any Encoder { encoder(TreeKey.super) }
    func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }

    private func encoder(_ key: some CodingKey) -> TreeEncoder {
        context.encoder(context.node.appendNode(named: name(key)), at: key)
    }
}

/// A container for the elements of an array.
private struct TreeUnkeyedEncoder: UnkeyedEncodingContainer {
    let context: TreeContext

    var codingPath: [any CodingKey] { context.codingPath }
    var count: Int { context.node.elementCount }
    private var step: any CodingKey { TreeKey.index(count) }

    func encodeNil() throws { context.node.append(.null) }
    func encode(_ value: Bool) throws { context.node.append(.bool(value)) }
    func encode(_ value: String) throws { context.node.append(.string(value)) }
    func encode(_ value: Double) throws { context.node.append(try context.number(value, at: step)) }
    func encode(_ value: Float) throws { context.node.append(try context.number(value, at: step)) }
    func encode(_ value: Int) throws { append(value) }
    func encode(_ value: Int8) throws { append(value) }
    func encode(_ value: Int16) throws { append(value) }
    func encode(_ value: Int32) throws { append(value) }
    func encode(_ value: Int64) throws { append(value) }
    func encode(_ value: Int128) throws { append(value) }
    func encode(_ value: UInt) throws { append(value) }
    func encode(_ value: UInt8) throws { append(value) }
    func encode(_ value: UInt16) throws { append(value) }
    func encode(_ value: UInt32) throws { append(value) }
    func encode(_ value: UInt64) throws { append(value) }
    func encode(_ value: UInt128) throws { append(value) }
    func encode<Value: Encodable>(_ value: Value) throws {
        context.node.append(try context.tree(of: value, at: step))
    }

    private func append(_ value: some FixedWidthInteger) {
        context.node.append(.number(JSONNumber(value)))
    }

    func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        nested().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nested().unkeyedContainer() }
    func superEncoder() -> any Encoder { nested() }

    private func nested() -> TreeEncoder {
        let step = step
        return context.encoder(context.node.appendNode(), at: step)
    }
}

/// A container for a single value.
private struct TreeSingleEncoder: SingleValueEncodingContainer {
    let context: TreeContext

    var codingPath: [any CodingKey] { context.codingPath }

    func encodeNil() throws { context.node.set(.null) }
    func encode(_ value: Bool) throws { context.node.set(.bool(value)) }
    func encode(_ value: String) throws { context.node.set(.string(value)) }
    func encode(_ value: Double) throws { context.node.set(try context.number(value, at: nil)) }
    func encode(_ value: Float) throws { context.node.set(try context.number(value, at: nil)) }
    func encode(_ value: Int) throws { set(value) }
    func encode(_ value: Int8) throws { set(value) }
    func encode(_ value: Int16) throws { set(value) }
    func encode(_ value: Int32) throws { set(value) }
    func encode(_ value: Int64) throws { set(value) }
    func encode(_ value: Int128) throws { set(value) }
    func encode(_ value: UInt) throws { set(value) }
    func encode(_ value: UInt8) throws { set(value) }
    func encode(_ value: UInt16) throws { set(value) }
    func encode(_ value: UInt32) throws { set(value) }
    func encode(_ value: UInt64) throws { set(value) }
    func encode(_ value: UInt128) throws { set(value) }
    func encode<Value: Encodable>(_ value: Value) throws {
        context.node.set(try context.tree(of: value, at: nil))
    }

    private func set(_ value: some FixedWidthInteger) {
        context.node.set(.number(JSONNumber(value)))
    }
}
