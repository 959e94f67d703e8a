public import FoundationEssentials

/// Encodes and decodes `Codable` values as JSON. The default decoder and encoder of typed requests and responses.
///
/// ```swift
/// var coder = JSONCoder()
/// coder.keys = .snakeCase
/// coder.dates = .iso8601
/// let user = try coder.decode(User.self, from: data)
/// let copy = try coder.encode(user)
/// ```
///
/// Types are coded as by Foundation's `JSONDecoder` and `JSONEncoder`. An option applies to both directions and has a
/// shorter name: ``dates`` is `dateDecodingStrategy` and `dateEncodingStrategy`. Differences:
///
/// - **Numbers are exact or an error** for integers of every width, up to `Int128` and `UInt128`, and for `Decimal`.
///   `Double` and `Float` get the nearest value; a value out of range is an error. `1.0` and `1e2` are integers.
/// - **Repeated keys:** the last value is used, as for ``JSONValue``; `JSONDecoder` uses the first. See
///   ``repeatedKeys``.
/// - **Strict:** UTF-8 only, and nothing beyond RFC 8259: no comments, trailing commas or NaN. Arrays and objects are
///   nested at most 512 levels deep, in both directions, so that neither a text nor a value that contains itself
///   overflows the stack.
/// - **Members are written in the order in which they are encoded.**
/// - Dates in ``DateStyle/iso8601`` may have fractional seconds, and must exist: 30 February is an error.
///
/// For strategies with closures, or for `userInfo`, use a `JSONDecoder` or `JSONEncoder`.
public struct JSONCoder: Sendable, Hashable, Codable {
    /// The conversion between coding keys and names of members.
    public enum KeyStyle: String, Sendable, Hashable, Codable {
        /// No conversion.
        case useDefaultKeys
        /// The key `firstName` has the name `first_name`, as with `convertFromSnakeCase` and `convertToSnakeCase`. A
        /// key such as `authorID` or `fileSha256sum` is also found by the name that it is encoded with, `author_id` or
        /// `file_sha256sum`. Keys of dictionaries aren't converted.
        case snakeCase
    }

    /// The representation of a `Date`, which JSON doesn't have.
    public enum DateStyle: String, Sendable, Hashable, Codable {
        /// Seconds since 2001, as `Date` encodes itself.
        case deferredToDate
        /// Seconds since 1970.
        case secondsSince1970
        /// Milliseconds since 1970.
        case millisecondsSince1970
        /// A string such as `2024-02-29T12:00:00Z`. Fractional seconds are accepted but not written.
        case iso8601
    }

    /// The representation of infinities and NaN, which JSON doesn't have.
    public enum NonConformingFloatStyle: Sendable, Hashable, Codable {
        /// Throws an error.
        case `throw`
        /// These strings, which are also decoded as these values where a `Double` or a `Float` is expected.
        case strings(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    /// The conversion between coding keys and names of members.
    public var keys: KeyStyle
    /// The representation of a `Date`. `Data` is a Base64 string, `URL` is a string.
    public var dates: DateStyle
    /// The representation of infinities and NaN.
    public var nonConformingFloats: NonConformingFloatStyle
    /// The handling of repeated keys in an object when decoding.
    public var repeatedKeys: JSONValue.RepeatedKeys
    /// The maximum size of a text in bytes; larger ones aren't parsed. A negative size is 0. Nil for no limit; the
    /// session limits bodies in memory in any case. Default: nil.
    public var maximumSize: Int?

    /// Creates a coder. The defaults are those of `JSONDecoder` and `JSONEncoder`.
    public init(
        keys: KeyStyle = .useDefaultKeys, dates: DateStyle = .deferredToDate,
        nonConformingFloats: NonConformingFloatStyle = .throw,
        repeatedKeys: JSONValue.RepeatedKeys = .lastCounts, maximumSize: Int? = nil
    ) {
        self.keys = keys
        self.dates = dates
        self.nonConformingFloats = nonConformingFloats
        self.repeatedKeys = repeatedKeys
        self.maximumSize = maximumSize
    }
}

extension JSONCoder {
    /// Decodes a value from JSON text.
    ///
    /// - Throws: `DecodingError` with the coding path of the error. For malformed text it is `dataCorrupted`, with a
    ///   ``JSONParseError`` as the underlying error.
    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        try data.withUnsafeBytes { bytes in
            try bytes.withMemoryRebound(to: UInt8.self) { try decode(type, from: $0) }
        }
    }

    private func decode<Value: Decodable>(_ type: Value.Type, from text: UnsafeBufferPointer<UInt8>) throws -> Value {
        var tape = try parse(text)
        // If the type has kept a decoder, which may be used after the text is gone, the tape copies the text.
        defer { if !isKnownUniquelyReferenced(&tape) { tape.keepText() } }
        return try TapeDecoder(
            tape, at: 0, keepsRepeats: repeatedKeys == .kept, options: TreeOptions(self)
        ).decode(type)
    }

    private func parse(_ text: UnsafeBufferPointer<UInt8>) throws -> JSONTape {
        do {
            return try JSONParser.parse(text, refusesRepeats: repeatedKeys == .refused, maximumSize: maximumSize)
        } catch {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: [], debugDescription: error.description, underlyingError: error))
        }
    }

    /// Decodes a value directly from a tree, without writing and parsing text. A ``JSONValue`` within the value is
    /// copied unchanged.
    ///
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(_ type: Value.Type, from value: JSONValue) throws -> Value {
        try TreeDecoder(value, options: TreeOptions(self)).decode(type)
    }
}

extension JSONCoder {
    /// Encodes a value as JSON text in UTF-8.
    ///
    /// - Throws: `EncodingError` with the coding path of the error; the errors of the value's own `encode(to:)`.
    public func encode<Value: Encodable>(_ value: Value, options: JSONValue.WritingOptions = []) throws -> Data {
        let tree = try encodeTree(value)
        do {
            return try tree.data(options: options)
        } catch {
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(codingPath: [], debugDescription: error.description, underlyingError: error))
        }
    }

    /// Encodes a value as a tree.
    ///
    /// - Throws: `EncodingError`; the errors of the value's own `encode(to:)`.
    public func encodeTree<Value: Encodable>(_ value: Value) throws -> JSONValue {
        try TreeEncoder.tree(of: value, options: TreeOptions(self))
    }
}

extension JSONValue {
    /// Decodes a `Decodable` directly from this tree, without writing and parsing text.
    ///
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(
        as type: Value.Type = Value.self, coder: JSONCoder = JSONCoder()
    ) throws -> Value {
        try coder.decode(type, from: self)
    }

    /// Encodes an `Encodable` as a tree.
    ///
    /// - Throws: `EncodingError`; the errors of the value's own `encode(to:)`.
    public init(encoding value: some Encodable, coder: JSONCoder = JSONCoder()) throws {
        self = try coder.encodeTree(value)
    }
}

/// The options of a ``JSONCoder`` in a compact form, which decoders and encoders pass to nested ones.
struct TreeOptions: Sendable {
    /// The strings for values that JSON doesn't have.
    final class FloatWords: Sendable {
        let positiveInfinity: String
        let negativeInfinity: String
        let nan: String

        init(_ positiveInfinity: String, _ negativeInfinity: String, _ nan: String) {
            self.positiveInfinity = positiveInfinity
            self.negativeInfinity = negativeInfinity
            self.nan = nan
        }

        func value(of text: String) -> Double? {
            switch text {
            case positiveInfinity: .infinity
            case negativeInfinity: -.infinity
            case nan: .nan
            default: nil
            }
        }

        /// Returns the string of a value that isn't finite.
        func text(of value: Double) -> String {
            if value.isNaN { nan } else if value > 0 { positiveInfinity } else { negativeInfinity }
        }
    }

    let keys: JSONCoder.KeyStyle
    let dates: JSONCoder.DateStyle
    let floatWords: FloatWords?

    init(_ coder: JSONCoder) {
        keys = coder.keys
        dates = coder.dates
        switch coder.nonConformingFloats {
        case .throw: floatWords = nil
        case .strings(let positive, let negative, let nan): floatWords = FloatWords(positive, negative, nan)
        }
    }

    /// Returns whether to convert the keys of a type's members. The keys of a dictionary are data and aren't converted.
    func convertsKeys(of type: any Any.Type) -> Bool {
        keys == .snakeCase && !Self.isDictionary(type)
    }

    static func isDictionary(_ type: any Any.Type) -> Bool { type is any TextKeyedDictionary.Type }
}

/// A dictionary with `String` keys.
private protocol TextKeyedDictionary {}

extension Dictionary: TextKeyedDictionary where Key == String {}
