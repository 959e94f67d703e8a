import FoundationEssentials

extension JSONValue {
    /// What a `Date` is in JSON, which has none.
    public enum DateDecoding: Sendable, Hashable {
        /// Seconds since 2001, as `Date` codes itself and `JSONDecoder` has it at first.
        case deferredToDate
        /// Seconds since 1970.
        case secondsSince1970
        /// Milliseconds since 1970.
        case millisecondsSince1970
        /// Text such as `2024-02-29T12:00:00Z`.
        case iso8601
    }

    /// The value as any `Decodable`, straight from the tree: cheaper than writing it out for a decoder to read again.
    /// `Data` is base64, `URL` is text, as for `JSONDecoder`; a ``JSONValue`` inside comes as it is.
    ///
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(
        as type: Value.Type = Value.self, dates: DateDecoding = .deferredToDate
    ) throws -> Value {
        try TreeDecoder(value: self, step: nil, parent: nil, dates: dates).decode(type)
    }
}

/// The way from the root to a container, shared by all that hangs below it; an array only when somebody asks.
private final class TreePath: Sendable {
    /// One level down.
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

    private let step: Step
    private let parent: TreePath?

    init(_ step: Step, below parent: TreePath?) {
        self.step = step
        self.parent = parent
    }

    var keys: [any CodingKey] {
        var keys: [any CodingKey] = []
        var next: TreePath? = self
        while let path = next {
            keys.append(path.step.key)
            next = path.parent
        }
        return keys.reversed()
    }
}

/// A key that any text or index can be.
private struct TreeKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = "\(intValue)"
        self.intValue = intValue
    }
}

/// Decodes from one value of a tree.
private struct TreeDecoder: Decoder, SingleValueDecodingContainer {
    let value: JSONValue
    /// The last step to the value; nil at the root.
    let step: TreePath.Step?
    let parent: TreePath?
    let dates: JSONValue.DateDecoding

    /// Made only for containers and errors: most values are scalars.
    var path: TreePath? { step.map { TreePath($0, below: parent) } }
    var codingPath: [any CodingKey] { path?.keys ?? [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let object) = value else { throw mismatch([String: JSONValue].self) }
        return KeyedDecodingContainer(TreeKeyedContainer<Key>(object: object, path: path, dates: dates))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw mismatch([JSONValue].self) }
        return TreeUnkeyedContainer(elements: elements, path: path, dates: dates)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { value.isNull }

    func decode(_ type: Bool.Type) throws -> Bool { try require(value.bool) }
    func decode(_ type: String.Type) throws -> String { try require(value.string) }
    func decode(_ type: Double.Type) throws -> Double { try require(value.double) }

    func decode(_ type: Float.Type) throws -> Float {
        let number = Float(try decode(Double.self))
        guard number.isFinite else { throw corrupted("the number does not fit \(type)") }
        return number
    }

    func decode(_ type: Int.Type) throws -> Int { try integer() }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        // These would code themselves in another way than JSON has it.
        if type == JSONValue.self { return try require(value as? Value) }
        if type == Date.self { return try require(date() as? Value) }
        if type == Data.self { return try require(value.string.flatMap { Data(base64Encoded: $0) } as? Value) }
        if type == URL.self { return try require(value.string.flatMap { URL(string: $0) } as? Value) }
        return try Value(from: self)
    }

    private func integer<Number: FixedWidthInteger>() throws -> Number {
        let number: Number?
        switch value {
        case .integer(let value): number = Number(exactly: value)
        case .double(let value): number = Number(exactly: value)
        default: throw mismatch(Number.self)
        }
        guard let number else { throw corrupted("the number does not fit \(Number.self)") }
        return number
    }

    private func date() throws -> Date {
        switch dates {
        case .deferredToDate: return try Date(from: self)
        case .secondsSince1970: return Date(timeIntervalSince1970: try decode(Double.self))
        case .millisecondsSince1970: return Date(timeIntervalSince1970: try decode(Double.self) / 1000)
        case .iso8601:
            guard let date = try? Date(try decode(String.self), strategy: .iso8601) else {
                throw corrupted("the text is no date of ISO 8601")
            }
            return date
        }
    }

    private func require<Value>(_ result: Value?) throws -> Value {
        guard let result else { throw mismatch(Value.self) }
        return result
    }

    private func mismatch(_ type: any Any.Type) -> DecodingError {
        let context = DecodingError.Context(codingPath: codingPath, debugDescription: "the value is no \(type)")
        return value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    private func corrupted(_ what: String) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: what))
    }
}

/// The members of an object.
private struct TreeKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let object: JSONObject
    let path: TreePath?
    let dates: JSONValue.DateDecoding

    var codingPath: [any CodingKey] { path?.keys ?? [] }
    var allKeys: [Key] { object.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { object[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try member(key).isNull }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try child(key).decode(type) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try child(key).decode(type) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try child(key).decode(type) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try child(key).decode(type) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try child(key).decode(type) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try child(key).decode(type) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try child(key).decode(type) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try child(key).decode(type) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try child(key).decode(type) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try child(key).decode(type) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try child(key).decode(type) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try child(key).decode(type) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try child(key).decode(type) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try child(key).decode(type) }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try child(key).decode(type)
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
            value: object["super"] ?? .null, step: .member(TreeKey(stringValue: "super")), parent: path, dates: dates)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { try child(key) }

    private func child(_ key: Key) throws -> TreeDecoder {
        TreeDecoder(value: try member(key), step: .member(key), parent: path, dates: dates)
    }

    private func member(_ key: Key) throws -> JSONValue {
        guard let member = object[key.stringValue] else {
            let context = DecodingError.Context(
                codingPath: codingPath, debugDescription: "the object has no such member")
            throw DecodingError.keyNotFound(key, context)
        }
        return member
    }
}

/// The elements of an array.
private struct TreeUnkeyedContainer: UnkeyedDecodingContainer {
    private let elements: [JSONValue]
    private let path: TreePath?
    private let dates: JSONValue.DateDecoding
    private(set) var currentIndex = 0

    init(elements: [JSONValue], path: TreePath?, dates: JSONValue.DateDecoding) {
        self.elements = elements
        self.path = path
        self.dates = dates
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

    /// Uses the current element, and moves on if that succeeded.
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
            value: elements[currentIndex], step: .element(currentIndex), parent: path, dates: dates)
    }
}
