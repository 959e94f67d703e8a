import FoundationEssentials

/// A node of a tree that is being built. Containers refer to it, and an encoder returns the same container each time,
/// because a class and its superclass may encode into the same one.
final class TreeNode {
    enum Part {
        case value(JSONValue)
        /// The node of a nested container or a superclass, which may still change.
        case node(TreeNode)
    }

    private enum Content {
        case empty
        case value(JSONValue)
        case elements([Part])
        case members([(key: String, part: Part)])
    }

    /// The number of members up to which a linear search is faster than a dictionary.
    private static let linearLimit = 12

    private var content = Content.empty
    /// The members that are containers, once there are more than ``linearLimit`` members.
    private var containers: [String: TreeNode] = [:]
    /// A misuse, for containers that can't throw.
    private var misuse: String?

    var elementCount: Int {
        if case .elements(let parts) = content { parts.count } else { 0 }
    }

    /// Turns an empty node into an array.
    func becomeArray() {
        switch content {
        case .empty: content = .elements([])
        case .elements: break
        case .value, .members: misuse = "a value was encoded both as an array and in another way"
        }
    }

    /// Turns an empty node into an object.
    func becomeObject() {
        switch content {
        case .empty: content = .members([])
        case .members: break
        case .value, .elements: misuse = "a value was encoded both as an object and in another way"
        }
    }

    func set(_ value: JSONValue) {
        guard case .empty = content else { return misuse = "a single value was encoded twice" }
        content = .value(value)
    }

    func append(_ part: Part) {
        guard case .elements(var parts) = content else { return }
        // Otherwise appending would copy the array.
        content = .empty
        parts.append(part)
        content = .elements(parts)
    }

    func append(_ part: Part, forKey key: String) {
        guard case .members(var members) = content else { return }
        content = .empty
        members.append((key, part))
        if members.count == Self.linearLimit + 1 {
            for member in members { index(member.part, forKey: member.key) }
        } else if members.count > Self.linearLimit {
            index(part, forKey: key)
        }
        content = .members(members)
    }

    private func index(_ part: Part, forKey key: String) {
        switch part {
        case .node(let node): containers[key] = node
        case .value: if !containers.isEmpty { containers[key] = nil }
        }
    }

    /// Returns the node of the last container for a key; nil if the key has no container.
    func node(forKey key: String) -> TreeNode? {
        guard case .members(let members) = content else { return nil }
        guard members.count <= Self.linearLimit else { return containers[key] }
        guard case .node(let node)? = members.last(where: { $0.key == key })?.part else { return nil }
        return node
    }

    /// Returns the tree; nil if nothing was encoded.
    func tree(depth: Int, _ codingPath: () -> [any CodingKey]) throws -> JSONValue? {
        func invalid(_ what: String) -> EncodingError {
            .invalidValue(self, EncodingError.Context(codingPath: codingPath(), debugDescription: what))
        }
        if let misuse { throw invalid(misuse) }
        guard depth <= JSONValue.maximumDepth else { throw invalid(JSONValue.WritingError.tooDeep.description) }
        func value(of part: Part) throws -> JSONValue {
            switch part {
            case .value(let value): value
            // An empty container has already become an array or an object.
            case .node(let node): try node.tree(depth: depth + 1, codingPath) ?? .object(JSONObject())
            }
        }
        switch content {
        case .empty: return nil
        case .value(let value): return value
        case .elements(let parts): return .array(try parts.map(value))
        case .members(let members):
            return .object(
                JSONObject(entries: try members.map { JSONObject.Entry(key: $0.key, value: try value(of: $0.part)) }))
        }
    }
}

/// Encodes a value into a node of a tree.
struct TreeEncoder: Encoder {
    private let node = TreeNode()
    private let path: TreePath?
    private let options: TreeOptions
    private let convertsKeys: Bool
    /// The number of arrays and objects around the value.
    private let depth: Int
    /// The number of values that are being encoded around it.
    private let level: Int

    private init(path: TreePath?, options: TreeOptions, convertsKeys: Bool, depth: Int, level: Int) {
        self.path = path
        self.options = options
        self.convertsKeys = convertsKeys
        self.depth = depth
        self.level = level
    }

    var codingPath: [any CodingKey] { path?.keys ?? [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.becomeObject()
        return KeyedEncodingContainer(TreeKeyedEncoder<Key>(context: context, convertsKeys: convertsKeys))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.becomeArray()
        return TreeUnkeyedEncoder(context: context)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        TreeSingleEncoder(context: context, convertsKeys: convertsKeys)
    }

    /// Encodes a tree unchanged.
    func encode(tree: JSONValue) throws {
        node.set(tree)
    }

    /// Returns the tree of a complete value.
    static func tree(of value: some Encodable, options: TreeOptions) throws -> JSONValue {
        try TreeContext(node: TreeNode(), path: nil, options: options, depth: -1, level: 0)
            .tree(of: value, at: nil, isRoot: true)
    }

    private var context: TreeContext {
        TreeContext(node: node, path: path, options: options, depth: depth, level: level)
    }

    /// Encodes a value one level deeper.
    fileprivate static func encode<Value: Encodable>(
        _ value: Value, in context: TreeContext, at step: (any CodingKey)?, convertsKeys: Bool
    ) throws -> JSONValue? {
        let path = step.map { TreePath($0, below: context.path) } ?? context.path
        let encoder = TreeEncoder(
            path: path, options: context.options, convertsKeys: convertsKeys, depth: context.depth + 1,
            level: context.level + 1)
        try value.encode(to: encoder)
        return try encoder.node.tree(depth: context.depth + 1) { encoder.codingPath }
    }

    /// Returns an encoder and its node, for a superclass or a nested encoder.
    fileprivate static func over(_ context: TreeContext, at step: any CodingKey) -> (TreeEncoder, TreeNode) {
        let encoder = TreeEncoder(
            path: TreePath(step, below: context.path), options: context.options,
            convertsKeys: context.options.keys == .snakeCase, depth: context.depth + 1, level: context.level + 1)
        return (encoder, encoder.node)
    }
}

/// The state that all containers of a node share.
private struct TreeContext {
    let node: TreeNode
    let path: TreePath?
    let options: TreeOptions
    /// The number of arrays and objects around the node.
    let depth: Int
    /// The number of values that are being encoded around the node. Higher than ``depth`` if a value encodes itself as
    /// another value.
    let level: Int

    /// Returns the context of a nested container.
    func nested(at step: any CodingKey, node: TreeNode = TreeNode()) -> TreeContext {
        TreeContext(
            node: node, path: TreePath(step, below: path), options: options, depth: depth + 1, level: level)
    }

    /// The context of a value that replaces the node.
    var outer: TreeContext {
        TreeContext(node: node, path: path, options: options, depth: depth - 1, level: level)
    }

    func codingPath(to step: (any CodingKey)?) -> [any CodingKey] {
        (step.map { TreePath($0, below: path) } ?? path)?.keys ?? []
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
        // Without this limit, a value that contains itself would overflow the stack.
        guard depth < JSONValue.maximumDepth, level < 2 * JSONValue.maximumDepth else {
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(
                    codingPath: codingPath(to: step), debugDescription: JSONValue.WritingError.tooDeep.description))
        }
        let tree = try TreeEncoder.encode(value, in: self, at: step, convertsKeys: options.convertsKeys(of: type))
        if let tree { return tree }
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
        // The digits of the `Float`, not of the equal `Double`: 0.1, not 0.10000000149011612.
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

    var codingPath: [any CodingKey] { context.path?.keys ?? [] }

    private func name(_ key: some CodingKey) -> String {
        convertsKeys ? SnakeCase.encoded(key.stringValue) : key.stringValue
    }

    private func append(_ value: JSONValue, _ key: Key) {
        context.node.append(.value(value), forKey: name(key))
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
        let nested = nest(key)
        nested.node.becomeObject()
        return KeyedEncodingContainer(
            TreeKeyedEncoder<Nested>(context: nested, convertsKeys: context.options.keys == .snakeCase))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        let nested = nest(key)
        nested.node.becomeArray()
        return TreeUnkeyedEncoder(context: nested)
    }

    /// Containers for the same key are one, as with Foundation's `JSONEncoder`.
    private func nest(_ key: Key) -> TreeContext {
        let name = name(key)
        if let node = context.node.node(forKey: name) { return context.nested(at: key, node: node) }
        let nested = context.nested(at: key)
        context.node.append(.node(nested.node), forKey: name)
        return nested
    }

    func superEncoder() -> any Encoder { encoder(TreeKey.super) }
    func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }

    private func encoder(_ key: some CodingKey) -> any Encoder {
        let (encoder, node) = TreeEncoder.over(context, at: key)
        context.node.append(.node(node), forKey: name(key))
        return encoder
    }
}

/// A container for the elements of an array.
private struct TreeUnkeyedEncoder: UnkeyedEncodingContainer {
    let context: TreeContext

    var codingPath: [any CodingKey] { context.path?.keys ?? [] }
    var count: Int { context.node.elementCount }
    private var step: any CodingKey { TreeKey.index(count) }

    func encodeNil() throws { context.node.append(.value(.null)) }
    func encode(_ value: Bool) throws { context.node.append(.value(.bool(value))) }
    func encode(_ value: Float) throws { context.node.append(.value(try context.number(value, at: step))) }
    func encode(_ value: Int128) throws { context.node.append(.value(.number(JSONNumber(value)))) }
    func encode(_ value: UInt128) throws { context.node.append(.value(.number(JSONNumber(value)))) }
    func encode<Value: Encodable>(_ value: Value) throws {
        context.node.append(.value(try context.tree(of: value, at: step)))
    }

    func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        let nested = nest()
        nested.node.becomeObject()
        return KeyedEncodingContainer(
            TreeKeyedEncoder<Key>(context: nested, convertsKeys: context.options.keys == .snakeCase))
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        let nested = nest()
        nested.node.becomeArray()
        return TreeUnkeyedEncoder(context: nested)
    }

    private func nest() -> TreeContext {
        let nested = context.nested(at: step)
        context.node.append(.node(nested.node))
        return nested
    }

    func superEncoder() -> any Encoder {
        let (encoder, node) = TreeEncoder.over(context, at: step)
        context.node.append(.node(node))
        return encoder
    }
}

/// A container for a single value.
private struct TreeSingleEncoder: SingleValueEncodingContainer {
    let context: TreeContext
    let convertsKeys: Bool

    var codingPath: [any CodingKey] { context.path?.keys ?? [] }

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
        context.node.set(try context.outer.tree(of: value, at: nil))
    }

    private func set(_ value: some FixedWidthInteger) {
        context.node.set(.number(JSONNumber(value)))
    }
}
