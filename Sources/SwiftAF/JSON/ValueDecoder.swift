import FoundationEssentials

/// Decodes a value of JSON. The superclass is the path of the value. Subclasses read from different sources:
/// ``TapeDecoder`` from a text, ``TreeDecoder`` from a ``JSONValue``.
///
/// Methods take the position of a value: the decoder's own value, or one of its elements or members, so that scalars
/// are decoded without a decoder of their own. They return nil for a value of another type. A value that can't be
/// decoded in this way is decoded again with its own decoder, which throws the error.
///
/// A class, because decoders are passed as existentials, for which larger structs would be allocated as well.
class ValueDecoder: TreePath {
    /// The position of the decoder's own value.
    final let own: Int
    final let options: TreeOptions
    /// Whether to convert the names of an object's members.
    final var convertsKeys = true

    /// The elements of an array.
    struct Elements {
        /// The decoder of the array, which finds the positions of its elements.
        let decoder: ValueDecoder
        /// The position of the first element.
        let first: Int
        let count: Int
    }

    init(own: Int, options: TreeOptions, key: consuming (any CodingKey)?, parent: TreePath?) {
        self.own = own
        self.options = options
        super.init(key, below: parent)
    }

    init(own: Int, options: TreeOptions, index: Int, parent: TreePath) {
        self.own = own
        self.options = options
        super.init(index: index, below: parent)
    }

    // MARK: What subclasses override

    func kind(at position: Int) -> JSONKind { .null }
    func bool(at position: Int) -> Bool? { nil }
    func string(at position: Int) -> String? { nil }
    func number(at position: Int) -> JSONNumber? { nil }
    /// The number at `position`, if it has the common form.
    func digits(at position: Int) -> JSONNumber.Digits? { nil }
    func value(at position: Int) -> JSONValue { .null }
    /// Creates a decoder of the value at `position`; of null if it is nil.
    func child(at position: Int?, key: consuming (any CodingKey)?, below parent: TreePath?) -> ValueDecoder { self }
    /// Creates a decoder of an element of an array.
    func child(at position: Int, index: Int) -> ValueDecoder { self }

    // Arrays with elements of one type; nil if an element has another type or doesn't fit.
    func strings(at position: Int) -> [String]? { nil }
    func integers(at position: Int) -> [Int]? { nil }
    func doubles(at position: Int) -> [Double]? { nil }

    /// Returns the elements of an array.
    func elements(at position: Int) -> Elements? { nil }
    /// The position of the element after the one at `position`.
    func element(after position: Int) -> Int { position }

    /// Prepares for finding members. Called before the other methods for members.
    func openObject() {}
    /// The names of the members in order, each once.
    var names: [String] { [] }
    /// Returns the position of a member.
    func find(_ name: String) -> Int? { nil }
}

// MARK: - Decoder

extension ValueDecoder: Decoder {
    final var codingPath: [any CodingKey] { keys }
    final var userInfo: [CodingUserInfoKey: Any] { [:] }

    final func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try openMembers()
        return KeyedDecodingContainer(MembersContainer<Key>(decoder: self))
    }

    private final func openMembers() throws {
        guard kind(at: own) == .object else { throw mismatch([String: JSONValue].self, "an object") }
        openObject()
    }

    final func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard let elements = elements(at: own) else { throw mismatch([JSONValue].self, "an array") }
        return ElementsContainer(elements)
    }

    final func singleValueContainer() -> any SingleValueDecodingContainer { self }
}

extension ValueDecoder: SingleValueDecodingContainer {
    final func decodeNil() -> Bool { kind(at: own) == .null }

    final func decode(_ type: Bool.Type) throws -> Bool {
        guard let value = bool(at: own) else { throw mismatch(type) }
        return value
    }

    final func decode(_ type: String.Type) throws -> String {
        guard let value = string(at: own) else { throw mismatch(type) }
        return value
    }

    final func decode(_ type: Double.Type) throws -> Double {
        guard let number = number(at: own) else { return try floatWord(type) }
        guard let double = number.double else { throw tooLarge(type) }
        return double
    }

    final func decode(_ type: Float.Type) throws -> Float {
        guard let number = number(at: own) else { return Float(try floatWord(type)) }
        guard let float = number.float else { throw tooLarge(type) }
        return float
    }

    final func decode(_ type: Int.Type) throws -> Int { try integer() }
    final func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    final func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    final func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    final func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    final func decode(_ type: Int128.Type) throws -> Int128 { try integer() }
    final func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    final func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    final func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    final func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    final func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
    final func decode(_ type: UInt128.Type) throws -> UInt128 { try integer() }

    final func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try decode(type, at: own, isOwn: true) { self }
    }
}

// MARK: - Types

extension ValueDecoder {
    /// Decodes a member.
    final func decode<Value: Decodable>(_ type: Value.Type, at position: Int, key: some CodingKey) throws -> Value {
        try decode(type, at: position, isOwn: false) { child(at: position, key: key, below: self) }
    }

    /// Decodes an element.
    final func decode<Value: Decodable>(_ type: Value.Type, at position: Int, index: Int) throws -> Value {
        try decode(type, at: position, isOwn: false) { child(at: position, index: index) }
    }

    /// Decodes the value at `position`.
    ///
    /// - Parameter makeDecoder: Makes the decoder of the value. Called only if the type needs one.
    @inline(__always)
    private final func decode<Value: Decodable>(
        _ type: Value.Type, at position: Int, isOwn: Bool, _ makeDecoder: () -> ValueDecoder
    ) throws -> Value {
        // Fast paths for the most frequent types of elements (`bench-json`). The casts are between identical types.
        // There is none to an Optional of the type, because the runtime would look up its metadata for each value.
        if type == String.self, let value = string(at: position) { return unsafeBitCast(value, to: type) }
        if type == Double.self, let value = double(at: position) { return unsafeBitCast(value, to: type) }
        if type == Int.self, let value: Int = integer(at: position) { return unsafeBitCast(value, to: type) }
        if type == Int64.self, let value: Int64 = integer(at: position) { return unsafeBitCast(value, to: type) }
        if type == UInt8.self, let value: UInt8 = integer(at: position) { return unsafeBitCast(value, to: type) }
        // Arrays of common scalars need no container. If an element doesn't fit, the container reports which.
        if type == [String].self, let array = strings(at: position) { return unsafeBitCast(array, to: type) }
        if type == [Int].self, let array = integers(at: position) { return unsafeBitCast(array, to: type) }
        if type == [Double].self, let array = doubles(at: position) { return unsafeBitCast(array, to: type) }
        if type == JSONValue.self { return unsafeBitCast(value(at: position), to: type) }
        let decoder = makeDecoder()
        // Types whose own decoding differs from their representation in JSON.
        if type == Date.self { return unsafeBitCast(try decoder.date(), to: type) }
        if type == Data.self { return unsafeBitCast(try decoder.data(), to: type) }
        if type == URL.self { return unsafeBitCast(try decoder.url(), to: type) }
        if type == Decimal.self { return unsafeBitCast(try decoder.decimal(), to: type) }
        // Only arrays are cast, because the runtime looks up the conformance at each cast.
        if let elements = decoder.elements(at: decoder.own), let type = type as? any ElementwiseDecodable.Type {
            return try type.decode(Value.self, from: elements)
        }
        if options.keys == .useDefaultKeys { return try Value(from: decoder) }
        return try Value(from: decoder.converting(keysOf: type, isOwn: isOwn))
    }

    /// Returns a decoder that converts keys if the type needs it. A decoder that decodes its own value isn't changed
    /// but copied, because it may be in use for a type that needs the opposite.
    private final func converting(keysOf type: any Any.Type, isOwn: Bool) -> ValueDecoder {
        let decoder = isOwn ? child(at: own, key: step, below: parent) : self
        decoder.convertsKeys = options.convertsKeys(of: type)
        return decoder
    }

    @inline(__always)
    final func double(at position: Int) -> Double? {
        digits(at: position)?.double ?? number(at: position)?.double
    }

    @inline(__always)
    final func integer<Number: FixedWidthInteger>(at position: Int) -> Number? {
        if let digits = digits(at: position) { return digits.integer() }
        return number(at: position)?.exactly()
    }

    private final func integer<Number: FixedWidthInteger>() throws -> Number {
        if let value: Number = integer(at: own) { return value }
        guard kind(at: own) == .number else { throw mismatch(Number.self) }
        throw corrupted("the number has a fraction or doesn't fit in \(Number.self)")
    }

    private final func data() throws -> Data {
        guard let data = Data(base64Encoded: try decode(String.self)) else {
            throw corrupted("the string isn't valid Base64")
        }
        return data
    }

    private final func url() throws -> URL {
        guard let url = URL(string: try decode(String.self)) else {
            throw corrupted("the string isn't a valid URL")
        }
        return url
    }

    private final func decimal() throws -> Decimal {
        guard let number = number(at: own) else { throw mismatch(Decimal.self) }
        guard let decimal = number.decimal else { throw corrupted("the number has no exact value as a Decimal") }
        return decimal
    }

    /// Returns the value of a string that stands for an infinity or NaN.
    private final func floatWord(_ type: any Any.Type) throws -> Double {
        guard let words = options.floatWords, let text = string(at: own), let word = words.value(of: text) else {
            throw mismatch(type)
        }
        return word
    }

    private final func date() throws -> Date {
        do {
            return try dateOfStyle()
        } catch  where options.dates != .iso8601 && kind(at: own) == .string {
            let hint = DecodingHint.dateInString(isISO8601: DateText.date(of: string(at: own) ?? "") != nil)
            throw DecodingError.typeMismatch(
                Date.self,
                DecodingError.Context(
                    codingPath: codingPath, debugDescription: "expected Date, \(hint)", underlyingError: hint))
        }
    }

    private final func dateOfStyle() throws -> Date {
        switch options.dates {
        case .deferredToDate: return try Date(from: self)
        case .secondsSince1970: return Date(timeIntervalSince1970: try decode(Double.self))
        case .millisecondsSince1970: return Date(timeIntervalSince1970: try decode(Double.self) / 1000)
        case .iso8601:
            if let date = DateText.date(of: try decode(String.self)) { return date }
            throw corrupted("the string isn't an ISO 8601 date, such as 2024-02-29T12:00:00Z")
        }
    }
}

// MARK: - Errors

extension ValueDecoder {
    /// Makes the error of a member that is missing.
    final func missing(_ key: any CodingKey) -> DecodingError {
        let name = key.stringValue
        var text = "the object has no member named \"\(name)\""
        let hint = hint(forMissing: name)
        if let hint { text += ", \(hint)" }
        return .keyNotFound(
            key, DecodingError.Context(codingPath: codingPath, debugDescription: text, underlyingError: hint))
    }

    private final func hint(forMissing name: String) -> DecodingHint? {
        guard options.keys == .useDefaultKeys else {
            let camel = SnakeCase.decoded(name)
            return convertsKeys && camel != name ? .camelCase(camel) : nil
        }
        let snake = SnakeCase.encoded(name)
        return snake != name && find(snake) != nil ? .snakeCase(snake) : nil
    }

    private final func mismatch(_ type: any Any.Type, _ name: String? = nil) -> DecodingError {
        let kind = kind(at: own)
        let context = DecodingError.Context(
            codingPath: codingPath, debugDescription: "expected \(name ?? "\(type)"), found \(kind.rawValue)",
            underlyingError: DecodingHint.kind(kind))
        return kind == .null ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    private final func tooLarge(_ type: any Any.Type) -> DecodingError {
        corrupted("the number is beyond the range of \(type)")
    }

    private final func corrupted(_ what: String) -> DecodingError {
        .dataCorrupted(
            DecodingError.Context(
                codingPath: codingPath, debugDescription: what, underlyingError: DecodingHint.cause(what)))
    }
}

/// The kind of a value, for errors. Says nothing about the content of the value.
enum JSONKind: String {
    case null = "null"
    case bool = "a boolean"
    case number = "a number"
    case string = "a string"
    case array = "an array"
    case object = "an object"
}
