public import FoundationEssentials

/// Reads and writes `Codable` values as JSON: what typed requests and responses use unless they are given another
/// decoder or encoder.
///
/// ```swift
/// var coder = JSONCoder()
/// coder.keys = .snakeCase
/// coder.dates = .iso8601
/// let user = try coder.decode(User.self, from: data)
/// let copy = try coder.encode(user)
/// ```
///
/// Types behave as with Foundation's `JSONDecoder` and `JSONEncoder`, whose options it knows by the same names. What
/// differs:
///
/// - **Numbers are exact or an error** for integers of every width, up to `Int128` and `UInt128`, and for `Decimal`.
///   `Double` and `Float` get the nearest value, or an error beyond their range. `1.0` and `1e2` are integers.
/// - **Repeated keys:** the last value counts, as for ``JSONValue``; `JSONDecoder` takes the first. See
///   ``repeatedKeys``.
/// - **Strict:** UTF-8 only, and nothing beyond RFC 8259: no comments, trailing commas, NaN. 512 levels of arrays and
///   objects at most, both ways, so that neither a text nor a value that contains itself overflows the stack.
/// - **Members are written in the order they are encoded in.**
/// - Dates of ``DateStyle/iso8601`` may have fractions of seconds.
///
/// What needs closures or `userInfo`: pass a `JSONDecoder` or `JSONEncoder`.
public struct JSONCoder: Sendable, Hashable, Codable {
    /// How names of members are made of coding keys.
    public enum KeyStyle: String, Sendable, Hashable, Codable {
        /// As they are.
        case useDefaultKeys
        /// `firstName` is `first_name`, as with `convertFromSnakeCase` and `convertToSnakeCase`. Keys of dictionaries
        /// stay as they are.
        case snakeCase
    }

    /// What a `Date` is in JSON, which has none.
    public enum DateStyle: String, Sendable, Hashable, Codable {
        /// Seconds since 2001, as `Date` codes itself.
        case deferredToDate
        /// Seconds since 1970.
        case secondsSince1970
        /// Milliseconds since 1970.
        case millisecondsSince1970
        /// Text such as `2024-02-29T12:00:00Z`. Fractions of seconds are read, and not written.
        case iso8601
    }

    /// What infinities and NaN are in JSON, which has no words for them.
    public enum NonConformingFloatStyle: Sendable, Hashable, Codable {
        /// An error.
        case `throw`
        /// Texts, which are then read as these values where a `Double` or a `Float` is expected.
        case strings(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    /// How names of members are made of coding keys.
    public var keys: KeyStyle
    /// What a `Date` is. `Data` is Base64 text, `URL` is text.
    public var dates: DateStyle
    /// What infinities and NaN are.
    public var nonConformingFloats: NonConformingFloatStyle
    /// What becomes of members of one object that have the same name when a text is read.
    public var repeatedKeys: JSONValue.RepeatedKeys
    /// Bytes of text beyond which nothing is read; nil for no limit of its own. Bodies in memory have that of the
    /// session.
    public var maximumSize: Int?

    /// Makes a coder; what is left out is as in `JSONDecoder` and `JSONEncoder`.
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
    /// - Throws: `DecodingError`, with the coding path of what is wrong. For malformed text it is `dataCorrupted`, with
    ///   a ``JSONParseError`` as the underlying error.
    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: data, repeatedKeys: repeatedKeys, maximumSize: maximumSize)
        } catch {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: [], debugDescription: error.description, underlyingError: error))
        }
        return try decode(type, from: value)
    }

    /// Decodes a value from a tree: cheaper than writing it out to read it again. A ``JSONValue`` inside comes as it
    /// is.
    ///
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(_ type: Value.Type, from value: JSONValue) throws -> Value {
        try TreeDecoder(value: value, step: nil, parent: nil, options: TreeOptions(self)).decode(type)
    }
}

extension JSONCoder {
    /// Encodes a value as JSON text in UTF-8.
    ///
    /// - Throws: `EncodingError`, with the coding path of what is wrong; what the value's own `encode(to:)` throws.
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
    /// - Throws: `EncodingError`; what the value's own `encode(to:)` throws.
    public func encodeTree<Value: Encodable>(_ value: Value) throws -> JSONValue {
        try TreeEncoder.tree(of: value, options: TreeOptions(self))
    }
}

extension JSONValue {
    /// The value as any `Decodable`, straight from the tree: cheaper than writing it out for a decoder to read again.
    ///
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(
        as type: Value.Type = Value.self, coder: JSONCoder = JSONCoder()
    ) throws -> Value {
        try coder.decode(type, from: self)
    }

    /// The tree of any `Encodable`.
    ///
    /// - Throws: `EncodingError`; what the value's own `encode(to:)` throws.
    public init(encoding value: some Encodable, coder: JSONCoder = JSONCoder()) throws {
        self = try coder.encodeTree(value)
    }
}

/// What decoders and encoders of trees carry along, in few bytes.
struct TreeOptions: Sendable {
    /// Words for what JSON has none for.
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

        /// Of a value that isn't finite.
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

    /// Whether the keys of a type's members are converted. Those of a dictionary are data.
    func convertsKeys(of type: any Any.Type) -> Bool {
        keys == .snakeCase && !(type is any TextKeyedDictionary.Type)
    }
}

/// Dictionaries with `String` as the key.
private protocol TextKeyedDictionary {}

extension Dictionary: TextKeyedDictionary where Key == String {}
