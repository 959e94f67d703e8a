public import FoundationEssentials

/// Parameters of a request, independent of whether they are sent as a query, a form or JSON.
///
/// ```swift
/// let parameters: Parameters = ["name": "Ada", "born": 1815, "tags": ["math", "code"], "photo": nil]
/// let same = Parameters.encodable(person)
/// ```
public enum Parameters: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case double(Double)
    /// A number of a ``JSONValue`` that no other case can represent exactly, with its digits.
    case number(JSONNumber)
    case string(String)
    case date(Date)
    case data(Data)
    case array([Parameters])
    /// Unordered elements: written without brackets in a query, an error in JSON.
    case set([Parameters])
    /// Members in order. If a key is repeated, its last value is used.
    case dictionary([Member])
    /// Any `Encodable`; encoded when the request is serialized.
    case encodable(any Encodable & Sendable)

    /// A key and its value.
    public struct Member: Sendable {
        /// The key, unescaped.
        public let key: String
        /// The value of the key.
        public let value: Parameters

        /// Makes a member.
        public init(key: String, value: Parameters) {
            self.key = key
            self.value = value
        }
    }
}

extension Parameters {
    /// Makes a dictionary with its members in order. If a key is repeated, its last value is used.
    public init(_ pairs: some Sequence<(String, Parameters)>) {
        var members: [Member] = []
        var positions: [String: Int] = [:]
        for (key, value) in pairs {
            if let position = positions[key] {
                members[position] = Member(key: key, value: value)
            } else {
                positions[key] = members.count
                members.append(Member(key: key, value: value))
            }
        }
        self = .dictionary(members)
    }

    /// Makes a dictionary of strings.
    public init(_ dictionary: [String: String]) {
        self.init(dictionary.map { ($0.key, .string($0.value)) })
    }

    /// Makes parameters from a JSON value.
    public init(_ value: JSONValue) {
        switch value {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .number(let value): self.init(value)
        case .string(let value): self = .string(value)
        case .array(let elements): self = .array(elements.map { Parameters($0) })
        case .object(let object): self = .dictionary(object.map { Member(key: $0.key, value: Parameters($0.value)) })
        }
    }
}

extension Parameters {
    /// Makes a number with all its digits.
    private init(_ number: JSONNumber) {
        if let value = number.exactly(as: Int64.self) {
            self = .integer(value)
        } else if let value = number.exactly(as: UInt64.self) {
            self = .unsigned(value)
        } else if let value = number.double, JSONNumber(value) == number || !number.isFinite {
            self = .double(value)
        } else {
            self = .number(number)
        }
    }
}

extension Parameters: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: Parameters...) { self = .array(elements) }

    /// Makes a dictionary with its members in order. If a key is repeated, its last value is used.
    public init(dictionaryLiteral elements: (String, Parameters)...) { self.init(elements) }
}

extension Parameters {
    /// Whether the parameters are an array or a dictionary, as far as this is known before encoding.
    var isContainer: Bool {
        switch self {
        case .array, .dictionary, .set, .encodable: true
        case .null, .bool, .integer, .unsigned, .double, .number, .string, .date, .data: false
        }
    }

    /// Returns the parameters as JSON. Dates become RFC 3339 strings, data becomes Base64.
    ///
    /// - Parameter encode: Encodes an `Encodable`.
    /// - Throws: ``SessionError/Code/serialization`` for a set, which JSON can't express; the errors of `encode`.
    func jsonValue(_ encode: (any Encodable) throws -> JSONValue) throws -> JSONValue {
        switch self {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .integer(let value): return .integer(value)
        case .unsigned(let value): return .number(JSONNumber(value))
        case .double(let value): return .double(value)
        case .number(let value): return .number(value)
        case .string(let value): return .string(value)
        case .date(let value): return .string(value.formatted(.iso8601))
        case .data(let value): return .string(value.base64EncodedString())
        case .array(let elements): return .array(try elements.map { try $0.jsonValue(encode) })
        case .set: throw SessionError(.serialization, message: "the parameters contain a set, which JSON can't express")
        case .dictionary(let members):
            let entries = try members.map { JSONObject.Entry(key: $0.key, value: try $0.value.jsonValue(encode)) }
            return .object(JSONObject(entries: entries))
        case .encodable(let value): return try encode(value)
        }
    }
}
