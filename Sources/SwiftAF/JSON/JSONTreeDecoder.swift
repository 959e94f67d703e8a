import FoundationEssentials

/// Decodes a value of a tree.
struct TreeDecoder: Decoder, SingleValueDecodingContainer {
    let value: JSONValue
    /// The key or index of the value in its parent; nil at the root.
    let step: TreePath.Step?
    let parent: TreePath?
    let options: TreeOptions
    /// Whether to convert the names of an object's members.
    var convertsKeys = true

    /// Created only for containers and errors, because most values are scalars.
    var path: TreePath? { step.map { TreePath($0, below: parent) } }
    var codingPath: [any CodingKey] { path?.keys ?? [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let object) = value else { throw mismatch([String: JSONValue].self, "an object") }
        return KeyedDecodingContainer(TreeKeyedContainer<Key>(members: TreeMembers(object, of: self)))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw mismatch([JSONValue].self, "an array") }
        return TreeUnkeyedContainer(elements: elements, path: path, options: options)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { value.isNull }

    func decode(_ type: Bool.Type) throws -> Bool {
        guard case .bool(let value) = value else { throw mismatch(type) }
        return value
    }

    func decode(_ type: String.Type) throws -> String {
        guard case .string(let value) = value else { throw mismatch(type) }
        return value
    }

    func decode(_ type: Double.Type) throws -> Double {
        guard case .number(let number) = value else { return try floatWord(type) }
        guard let double = number.double else { throw tooLarge(type) }
        return double
    }

    func decode(_ type: Float.Type) throws -> Float {
        guard case .number(let number) = value else { return Float(try floatWord(type)) }
        guard let float = number.float else { throw tooLarge(type) }
        return float
    }

    func decode(_ type: Int.Type) throws -> Int { try integer() }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    func decode(_ type: Int128.Type) throws -> Int128 { try integer() }
    func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try integer() }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        // Fast paths for the most frequent element types. The casts are between identical types. None is to an
        // Optional of the type, whose metadata the runtime would look up for each value.
        if type == String.self { return unsafeBitCast(try decode(String.self), to: type) }
        if type == Double.self { return unsafeBitCast(try decode(Double.self), to: type) }
        if type == Int.self { return unsafeBitCast(try integer() as Int, to: type) }
        if type == Int64.self { return unsafeBitCast(try integer() as Int64, to: type) }
        if type == UInt8.self { return unsafeBitCast(try integer() as UInt8, to: type) }
        // Arrays of common scalars need no container. If an element doesn't fit, the container reports which.
        if type == [String].self, let array = elements(\.string) { return unsafeBitCast(array, to: type) }
        if type == [Int].self, let array = elements(\.int) { return unsafeBitCast(array, to: type) }
        if type == [Double].self, let array = elements(\.double) { return unsafeBitCast(array, to: type) }
        // Types whose own decoding differs from their representation in JSON.
        if type == JSONValue.self { return unsafeBitCast(value, to: type) }
        if type == Date.self { return unsafeBitCast(try date(), to: type) }
        if type == Data.self { return unsafeBitCast(try data(), to: type) }
        if type == URL.self { return unsafeBitCast(try url(), to: type) }
        if type == Decimal.self { return unsafeBitCast(try decimal(), to: type) }
        if options.keys == .snakeCase {
            var decoder = self
            decoder.convertsKeys = options.convertsKeys(of: type)
            return try Value(from: decoder)
        }
        return try Value(from: self)
    }

    private func elements<Element>(_ get: (JSONValue) -> Element?) -> [Element]? {
        guard case .array(let elements) = value else { return nil }
        var result: [Element] = []
        result.reserveCapacity(elements.count)
        for element in elements {
            guard let element = get(element) else { return nil }
            result.append(element)
        }
        return result
    }

    private func data() throws -> Data {
        guard let data = Data(base64Encoded: try decode(String.self)) else {
            throw corrupted("the string isn't valid Base64")
        }
        return data
    }

    private func url() throws -> URL {
        guard let url = URL(string: try decode(String.self)) else {
            throw corrupted("the string isn't a valid URL")
        }
        return url
    }

    private func decimal() throws -> Decimal {
        guard case .number(let number) = value else { throw mismatch(Decimal.self) }
        guard let decimal = number.decimal else { throw corrupted("the number has no exact value as a Decimal") }
        return decimal
    }

    private func integer<Number: FixedWidthInteger>() throws -> Number {
        guard case .number(let number) = value else { throw mismatch(Number.self) }
        guard let integer = number.exactly(as: Number.self) else {
            throw corrupted("the number has a fraction or doesn't fit in \(Number.self)")
        }
        return integer
    }

    /// Returns the value of a string that stands for an infinity or NaN.
    private func floatWord(_ type: any Any.Type) throws -> Double {
        guard let words = options.floatWords, case .string(let text) = value, let word = words.value(of: text) else {
            throw mismatch(type)
        }
        return word
    }

    private func date() throws -> Date {
        switch options.dates {
        case .deferredToDate: return try Date(from: self)
        case .secondsSince1970: return Date(timeIntervalSince1970: try decode(Double.self))
        case .millisecondsSince1970: return Date(timeIntervalSince1970: try decode(Double.self) / 1000)
        case .iso8601:
            let text = try decode(String.self)
            if let date = try? Date.ISO8601FormatStyle().parse(text) { return date }
            if let date = try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text) { return date }
            throw corrupted("the string isn't an ISO 8601 date, such as 2024-02-29T12:00:00Z")
        }
    }

    func mismatch(_ type: any Any.Type, _ name: String? = nil) -> DecodingError {
        let context = DecodingError.Context(
            codingPath: codingPath, debugDescription: "expected \(name ?? "\(type)"), found \(value.kind)")
        return value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    private func tooLarge(_ type: any Any.Type) -> DecodingError {
        corrupted("the number is beyond the range of \(type)")
    }

    private func corrupted(_ what: String) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: what))
    }
}

extension JSONValue {
    /// The kind of the value, for errors. Contains nothing of its content.
    fileprivate var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

/// The members of an object that is decoded, for containers with any type of key; and the path to the object.
private final class TreeMembers: TreePath {
    let object: JSONObject
    let options: TreeOptions
    /// Whether the names of the members were converted from snake case.
    private let isConverted: Bool
    /// The position after that of the last member that was found. Types decode their members in one order, which is
    /// usually the order in which they are written.
    private var next = 0

    init(_ object: JSONObject, of decoder: TreeDecoder) {
        options = decoder.options
        isConverted = decoder.convertsKeys && options.keys == .snakeCase
        self.object = isConverted ? object.mapKeys(SnakeCase.decoded) : object
        super.init(decoder.step, below: decoder.parent)
    }

    /// Returns a member. The key `authorID` also finds `author_id`, the name that it is encoded with.
    func find(_ name: String) -> JSONValue? {
        if let position = object.position(of: name, expectedAt: next) {
            next = position + 1
            return object[position].value
        }
        guard isConverted, SnakeCase.hasAcronym(name) else { return nil }
        return object[SnakeCase.decoded(SnakeCase.encoded(name))]
    }

    // Nil if the member is missing or doesn't fit. A decoder of the member then says why.

    func bool(_ name: String) -> Bool? { find(name)?.bool }
    func string(_ name: String) -> String? { find(name)?.string }
    func double(_ name: String) -> Double? { find(name)?.double }
    func integer<Number: FixedWidthInteger>(_ name: String) -> Number? { find(name)?.number?.exactly() }
}

/// A container for the members of an object.
///
/// Scalars are decoded without a decoder of their own, in code that isn't generic: the runtime would look up the metadata
/// of each type. What can't be decoded is decoded once more with a decoder, for its error.
private struct TreeKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: TreeMembers

    var codingPath: [any CodingKey] { members.keys }
    var allKeys: [Key] { members.object.uniqueKeys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { members.find(key.stringValue) != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try member(key).isNull }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        try members.bool(key.stringValue) ?? child(key).decode(type)
    }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        try members.string(key.stringValue) ?? child(key).decode(type)
    }

    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        try members.double(key.stringValue) ?? child(key).decode(type)
    }

    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try child(key).decode(type) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
        try members.integer(key.stringValue) ?? child(key).decode(type)
    }

    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
        try members.integer(key.stringValue) ?? child(key).decode(type)
    }

    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
        try members.integer(key.stringValue) ?? child(key).decode(type)
    }

    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
        try members.integer(key.stringValue) ?? child(key).decode(type)
    }

    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
        try members.integer(key.stringValue) ?? child(key).decode(type)
    }

    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
        try members.integer(key.stringValue) ?? child(key).decode(type)
    }

    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
        try members.integer(key.stringValue) ?? child(key).decode(type)
    }

    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
        try members.integer(key.stringValue) ?? child(key).decode(type)
    }

    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
        try members.integer(key.stringValue) ?? child(key).decode(type)
    }

    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
        try members.integer(key.stringValue) ?? child(key).decode(type)
    }

    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
        try members.integer(key.stringValue) ?? child(key).decode(type)
    }

    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
        try members.integer(key.stringValue) ?? child(key).decode(type)
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try child(key).decode(type)
    }

    // The default implementation looks a member up three times.

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try present(key).map { try $0.bool ?? decoder(of: $0, key).decode(type) }
    }

    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try present(key).map { try $0.string ?? decoder(of: $0, key).decode(type) }
    }

    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try present(key).map { try $0.double ?? decoder(of: $0, key).decode(type) }
    }

    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        try present(key).map { try $0.int ?? decoder(of: $0, key).decode(type) }
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try present(key).map { try decoder(of: $0, key).decode(type) }
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try child(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try child(key).unkeyedContainer()
    }

    func superDecoder() -> any Decoder {
        TreeDecoder(
            value: members.object[TreeKey.super.stringValue] ?? .null, step: .member(TreeKey.super),
            parent: members, options: members.options)
    }

    func superDecoder(forKey key: Key) -> any Decoder {
        decoder(of: members.find(key.stringValue) ?? .null, key)
    }

    /// Returns a member; nil if it is missing or null.
    private func present(_ key: Key) -> JSONValue? {
        guard let member = members.find(key.stringValue), !member.isNull else { return nil }
        return member
    }

    private func child(_ key: Key) throws -> TreeDecoder { decoder(of: try member(key), key) }

    private func decoder(of member: JSONValue, _ key: Key) -> TreeDecoder {
        TreeDecoder(value: member, step: .member(key), parent: members, options: members.options)
    }

    private func member(_ key: Key) throws -> JSONValue {
        guard let member = members.find(key.stringValue) else {
            let context = DecodingError.Context(
                codingPath: codingPath, debugDescription: "the object has no member named \"\(key.stringValue)\"")
            throw DecodingError.keyNotFound(key, context)
        }
        return member
    }
}

/// A container for the elements of an array.
private struct TreeUnkeyedContainer: UnkeyedDecodingContainer {
    private let elements: [JSONValue]
    private let path: TreePath?
    private let options: TreeOptions
    private(set) var currentIndex = 0

    init(elements: [JSONValue], path: TreePath?, options: TreeOptions) {
        self.elements = elements
        self.path = path
        self.options = options
    }

    var codingPath: [any CodingKey] { path?.keys ?? [] }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex == elements.count }

    mutating func decodeNil() throws -> Bool {
        guard try current(JSONValue.self).decodeNil() else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try advance(type) { try $0.decode(type) }
    }

    mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try advance([String: JSONValue].self) { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try advance([JSONValue].self) { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try advance(JSONValue.self) { $0 } }

    /// Uses the current element and advances on success.
    private mutating func advance<Result>(
        _ type: any Any.Type, _ use: (TreeDecoder) throws -> Result
    ) throws -> Result {
        let result = try use(current(type))
        currentIndex += 1
        return result
    }

    private func current(_ type: any Any.Type) throws -> TreeDecoder {
        guard !isAtEnd else {
            let context = DecodingError.Context(
                codingPath: codingPath + [TreeKey(intValue: currentIndex)], debugDescription: "the array has ended")
            throw DecodingError.valueNotFound(type, context)
        }
        return TreeDecoder(
            value: elements[currentIndex], step: .element(currentIndex), parent: path, options: options)
    }
}
