public import FoundationEssentials

/// Parameters of a request, independent of whether they are sent as a query, a form or JSON.
///
/// ```swift
/// let parameters: Parameters = ["name": name, "age": age, "tags": tags, "address": ["city": city, "zip": nil]]
/// let counts = Parameters(["a": 1, "b": 2] as [String: Int])
/// let person = Parameters(encoding: ada)
/// ```
///
/// A value in a literal can be nil, a boolean, a number, a string, a `Date`, `Data`, an array, a set or a dictionary of
/// such values, ``Parameters``, a ``JSONValue``, any other `Encodable`, one of Foundation's objects for these, such as
/// `NSNumber` and `NSNull`, or a `RawRepresentable` whose raw value is one of these, such as an enum of strings. Any
/// other value fails the request with ``SessionError/Code/invalidInput``, whose message names its key.
public enum Parameters: Sendable {
    /// A null: a key without a value in a query, `null` in JSON. As the argument `parameters:` or `json:` of a request,
    /// it means none, as in `isPaged ? Parameters(pages) : nil`.
    case null
    /// A boolean.
    case bool(Bool)
    /// A signed integer.
    case integer(Int64)
    /// An unsigned integer.
    case unsigned(UInt64)
    /// A floating-point number.
    case double(Double)
    /// A number of a ``JSONValue`` that no other case can represent exactly, with its digits.
    case number(JSONNumber)
    /// A string.
    case string(String)
    /// A date, written as RFC 3339 in UTC, such as `2024-02-29T12:00:00Z`; in JSON, by the manager's encoder.
    case date(Date)
    /// Bytes, written in Base64; in JSON, by the manager's encoder.
    case data(Data)
    /// An array.
    case array([Parameters])
    /// Unordered elements: written without brackets in a query, as an array by `HTTPBody.json(_:encoder:)`, an error
    /// for a ``JSONRequestSerializer``.
    case set([Parameters])
    /// Members in order. If a key is repeated, JSON has its last value, and a query or a form has all of them.
    case dictionary([Member])
    /// Any `Encodable`; encoded when the request is serialized.
    case encodable(any Encodable & Sendable)
    /// A value that can't be sent; the request fails with this error.
    case invalid(SessionError)

    /// A key and its value.
    public struct Member: Sendable {
        /// The key, unescaped.
        public let key: String
        /// The value of the key.
        public let value: Parameters

        /// Creates a member.
        public init(key: String, value: Parameters) {
            self.key = key
            self.value = value
        }
    }
}

extension Parameters {
    /// Creates a dictionary with its members in order. If a key is repeated, its last value is used.
    public init(_ pairs: some Sequence<(String, Parameters)>) {
        var members: [Member] = []
        var positions: [ExactText: Int] = [:]
        for (key, value) in pairs {
            if let position = positions[ExactText(key)] {
                members[position] = Member(key: key, value: value)
            } else {
                positions[ExactText(key)] = members.count
                members.append(Member(key: key, value: value))
            }
        }
        self = .dictionary(members)
    }

    /// Creates a dictionary of values; see ``Parameters`` for the values that it can have. Takes `[String: Int]`,
    /// `[String: String]`, `[String: Any]` and others. The members are sorted by key.
    public init(_ dictionary: [String: Any?]) {
        self = Self.make(of: dictionary, at: nil)
    }

    /// Creates an array of values; see ``Parameters`` for the values that it can have.
    public init(_ array: [Any?]) {
        self = Self.make(of: array, at: nil)
    }

    /// Creates an empty array from the literal `[]`, which would be ambiguous otherwise.
    @_documentation(visibility: internal)
    public init(_ empty: [Never]) {
        self = .array([])
    }

    /// Creates parameters from a value; see ``Parameters`` for the values that it can have. Nil becomes a null.
    ///
    /// ```swift
    /// parameters["count"] = Parameters(count)
    /// ```
    @_disfavoredOverload
    public init(_ value: Any?) {
        self = Self.make(of: value, at: nil)
    }

    /// Creates parameters from any `Encodable`, which is encoded when the request is serialized.
    public init(encoding value: any Encodable & Sendable) {
        self = .encodable(value)
    }

    /// Creates parameters from a JSON value.
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
    /// Creates a number with all its digits.
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

extension Parameters {
    /// The value of a key; nil if there is no such member. Setting a member of ``null`` turns it into a dictionary;
    /// setting nil removes the member.
    ///
    /// An ``encodable(_:)`` becomes a dictionary, and keeps its other members with the names of their keys. Setting a
    /// member of anything else, such as an array, fails the request with ``SessionError/Code/invalidInput``.
    ///
    /// ```swift
    /// var parameters: Parameters = ["page": page]
    /// if let text { parameters["q"] = .string(text) }
    /// ```
    public subscript(key: String) -> Parameters? {
        get {
            guard case .dictionary(let members) = expanded else { return nil }
            let key = ExactText(key)
            return members.last { ExactText($0.key) == key }?.value
        }
        set {
            let expanded = expanded
            var members: [Member]
            switch expanded {
            case .dictionary(let current):
                members = current
            case .null where newValue != nil:
                members = []
            case .invalid:
                self = expanded
                return
            default:
                if newValue != nil { self = .invalid(Self.memberOfNoDictionary(key)) }
                return
            }
            let exactKey = ExactText(key)
            let position = members.firstIndex { ExactText($0.key) == exactKey }
            members.removeAll { ExactText($0.key) == exactKey }
            if let newValue {
                members.insert(Member(key: key, value: newValue), at: position ?? members.count)
            }
            self = .dictionary(members)
        }
    }

    /// These parameters, where an `Encodable` is replaced by a dictionary of its members.
    private var expanded: Parameters {
        guard case .encodable(let value) = self else { return self }
        let recorded = Self.encode(value, at: nil)
        guard case .encodable(let value as RecordedValue) = recorded else { return recorded }
        switch value.content {
        case .nothing, .null: return .null
        case .leaf: return recorded
        case .elements(let elements): return .array(elements.map { Self.ofContent($0, of: value) })
        case .members(let members, _):
            return .dictionary(members.map { Member(key: $0.name, value: Self.ofContent($0.content, of: value)) })
        }
    }

    private static func ofContent(_ content: RecordedValue.Content, of value: RecordedValue) -> Parameters {
        switch content {
        case .null: .null
        case .leaf(let leaf): make(of: leaf, at: nil)
        case .nothing, .elements, .members: .encodable(RecordedValue(content: content, type: value.type))
        }
    }

    private static func memberOfNoDictionary(_ key: String) -> SessionError {
        SessionError(
            .invalidInput, message: "the parameter \"\(printable(key))\" was set on parameters that aren't a dictionary"
        )
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
    public init(arrayLiteral elements: Any?...) { self.init(elements) }

    /// Creates a dictionary with its members in order. If a key is repeated, its last value is used.
    public init(dictionaryLiteral elements: (String, Any?)...) {
        self.init(elements.map { ($0.0, Self.make(of: $0.1, at: $0.0)) })
    }
}

extension Parameters {
    /// Makes parameters from a value whose type isn't known.
    ///
    /// Dates, data and sets have cases of their own; other values are recorded until an encoder is known.
    ///
    /// - Parameter key: The key of the value, for errors.
    static func make(of value: Any?, at key: String?) -> Parameters {
        switch value {
        case nil: .null
        case let value as Parameters: value
        case let value as String: .string(value)
        case let value? where type(of: value) is AnyClass && ofObject(value) != nil: ofObject(value) ?? .null
        case let value as Bool: .bool(value)
        case let value as Int: .integer(Int64(value))
        case let value as Double: .double(value)
        case let value as Date: .date(value)
        case let value as Data: .data(value)
        case let value as JSONValue: Parameters(value)
        case let value as [Any?]:
            .array(value.enumerated().map { make(of: $1, at: "\(key ?? "")[\($0)]") })
        case let value as [String: Any?]:
            .dictionary(
                value.sorted { $0.key < $1.key }.map { name, value in
                    Member(key: name, value: make(of: value, at: key.map { "\($0)[\(name)]" } ?? name))
                })
        case let value as Substring: .string(String(value))
        case let value as Character: .string(String(value))
        case let value as Set<AnyHashable>:
            .set(value.map { make(of: $0.base, at: key) })
        case let value as any Encodable: encode(value, at: key)
        // An `NSURL` or an `NSUUID`, which isn't Encodable itself.
        case let value as URL: encode(value, at: key)
        case let value as UUID: encode(value, at: key)
        case let value as any RawRepresentable: ofRawValue(value, at: key)
        case let value?: isNil(value) ? .null : .invalid(unsupported(value, at: key))
        }
    }

    /// Makes parameters from an `NSNull` or `NSNumber`, whose module isn't imported; nil for another object.
    ///
    /// The class decides, because a number can be cast to `Bool`, too, and a boolean to numbers.
    private static func ofObject(_ value: Any) -> Parameters? {
        switch "\(type(of: value))" {
        case "NSNull": return .null
        case "__NSCFBoolean": return (value as? Bool).map { .bool($0) }
        // Converted by its text, because its conversions to binary numbers are inexact: 19.99 would be
        // 19.990000000000002.
        case "NSDecimalNumber": return ofText(of: value) ?? .double(.nan)
        default: break
        }
        if let value = value as? Int64 { return .integer(value) }
        if let value = value as? UInt64 { return .unsigned(value) }
        guard let double = value as? Double else { return nil }
        // A `Float` describes itself with fewer digits than the `Double` of the same value.
        return ofText(of: value) ?? .double(double)
    }

    /// Makes parameters from the digits of a number's description; nil if it is infinite or NaN.
    private static func ofText(of number: Any) -> Parameters? {
        JSONNumber("\(number)").map { Parameters($0) }
    }

    /// Makes parameters from a raw value, if it is `Encodable` or a `Character`. Others are refused: a raw value could
    /// be of the same type again, and so on without end.
    private static func ofRawValue(_ value: any RawRepresentable, at key: String?) -> Parameters {
        let raw: Any = value.rawValue
        guard raw is any Encodable || raw is Character else { return .invalid(unsupported(value, at: key)) }
        return make(of: raw, at: key)
    }

    /// Records the value now, not when the request is sent, because a value in a literal needn't be `Sendable`.
    private static func encode(_ value: any Encodable, at key: String?) -> Parameters {
        do {
            let recorded = try RecordedValue(value)
            switch recorded.content {
            case .leaf(let value as String): return .string(value)
            case .leaf(let value as Int): return .integer(Int64(value))
            case .leaf(let value as JSONValue): return Parameters(value)
            case .null: return .null
            default: return .encodable(recorded)
            }
        } catch {
            let subject = key.map { "the value of the parameter \"\(printable($0))\"" } ?? "the parameters"
            var failure = SessionError(.serialization, message: "\(subject) can't be encoded")
            failure.underlying = error
            return .invalid(failure)
        }
    }

    private static func unsupported(_ value: Any, at key: String?) -> SessionError {
        SessionError(
            .invalidInput,
            message: "the value of the parameter \"\(printable(key))\" is a \(type(of: value)), which isn't Encodable")
    }

    private static func isNil(_ value: Any) -> Bool {
        let mirror = Mirror(reflecting: value)
        return mirror.displayStyle == .optional && mirror.children.isEmpty
    }

    private static func printable(_ key: String?) -> String { ASCII.printable(key ?? "", limit: 100) }
}

extension Parameters? {
    /// The parameters; nil also for ``Parameters/null``, because Swift reads the nil of `isPaged ? Parameters(pages) :
    /// nil` as that case.
    package var unlessNull: Parameters? {
        if case .null? = self { nil } else { self }
    }
}

extension Parameters {
    /// The error of the first value that can't be sent; nil if all can, as far as is known before they are encoded.
    var firstError: SessionError? {
        switch self {
        case .invalid(let error): error
        case .array(let elements), .set(let elements): elements.lazy.compactMap(\.firstError).first
        case .dictionary(let members): members.lazy.compactMap(\.value.firstError).first
        case .null, .bool, .integer, .unsigned, .double, .number, .string, .date, .data, .encodable: nil
        }
    }

    /// Whether the parameters are an array or a dictionary. True for an `Encodable`, of which this isn't known before
    /// it is encoded.
    var isContainer: Bool {
        switch self {
        case .array, .dictionary, .set, .encodable, .invalid: true
        case .null, .bool, .integer, .unsigned, .double, .number, .string, .date, .data: false
        }
    }

    /// Returns the parameters as the bytes of a JSON body, with sets as arrays. The members of dictionaries keep their
    /// names and their order.
    func jsonData(encoder: any DataEncoder) throws -> Data {
        if case .encodable(let value) = self { return try encoder.encode(value) }
        return try jsonValue(encoder: encoder, writesSets: true).data()
    }

    /// Returns the parameters as JSON.
    ///
    /// - Parameters:
    ///   - encoder: Encodes dates, data, numbers that aren't finite, and `Encodable` values.
    ///   - writesSets: Whether a set becomes an array.
    /// - Throws: ``SessionError/Code/serialization`` for another set; the errors of the encoder.
    func jsonValue(encoder: any DataEncoder, writesSets: Bool = false) throws -> JSONValue {
        switch self {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .integer(let value): return .integer(value)
        case .unsigned(let value): return .number(JSONNumber(value))
        // Written like a ``JSONCoder`` does: 5, not 5.0.
        case .double(let value):
            return try JSONNumber(shortest: value.description).map { .number($0) } ?? encoder.tree(of: value)
        case .number(let value): return .number(value)
        case .string(let value): return .string(value)
        case .date(let value): return try encoder.tree(of: value)
        case .data(let value): return try encoder.tree(of: value)
        case .set(let elements) where writesSets:
            return try Parameters.array(elements).jsonValue(encoder: encoder, writesSets: true)
        case .array(let elements):
            return .array(try elements.map { try $0.jsonValue(encoder: encoder, writesSets: writesSets) })
        case .set: throw SessionError(.serialization, message: "the parameters contain a set, which JSON can't express")
        case .dictionary(let members):
            let entries = try members.map {
                JSONObject.Entry(
                    key: $0.key, value: try $0.value.jsonValue(encoder: encoder, writesSets: writesSets))
            }
            return .object(JSONObject(entries: entries))
        case .encodable(let value): return try encoder.tree(of: value)
        case .invalid(let error): throw error
        }
    }
}
