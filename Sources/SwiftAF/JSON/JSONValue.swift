/// A JSON document or a part of one.
///
/// ```swift
/// let value: JSONValue = ["name": "Ada", "born": 1815, "tags": ["math", nil]]
/// value["tags"]?[0]?.string        // "math"
/// ```
///
/// Integers that fit `Int64` stay exact; every other number is a `Double`.
public enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)
}

extension JSONValue {
    /// The member of an object, nil if there is none or this is no object. Setting makes an object of anything
    /// that is none; setting nil removes the member.
    public subscript(key: String) -> JSONValue? {
        get { object?[key] }
        set {
            var object = self.object ?? JSONObject()
            object[key] = newValue
            self = .object(object)
        }
    }

    /// The element of an array, nil if the index is out of bounds or this is no array.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// Whether this is `null`.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The value of a boolean.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The value of an integer, also of a double without a fraction that fits.
    public var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .double(let value): Int64(exactly: value)
        default: nil
        }
    }

    /// ``integer`` as an `Int`.
    public var int: Int? { integer.flatMap { Int(exactly: $0) } }

    /// The value of any number; integers beyond 2^53 are rounded.
    public var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// The value of a string.
    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The elements of an array.
    public var array: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The members of an object.
    public var object: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }
}

extension JSONValue {
    /// The value without members and elements that are null, at every level. Null by itself stays.
    ///
    /// - Parameters:
    ///   - fromObjects: Whether null members go.
    ///   - fromArrays: Whether null elements go; those behind them move up.
    public func removingNulls(fromObjects: Bool = true, fromArrays: Bool = true) -> JSONValue {
        switch self {
        case .array(let elements):
            let kept = fromArrays ? elements.filter { !$0.isNull } : elements
            return .array(kept.map { $0.removingNulls(fromObjects: fromObjects, fromArrays: fromArrays) })
        case .object(let object):
            let kept = fromObjects ? object.filter { !$0.value.isNull } : Array(object)
            let cleaned = kept.map {
                ($0.key, $0.value.removingNulls(fromObjects: fromObjects, fromArrays: fromArrays))
            }
            return .object(JSONObject(cleaned))
        case .null, .bool, .integer, .double, .string:
            return self
        }
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// Members in order; of repeated keys the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(elements))
    }
}

extension JSONValue: CustomStringConvertible {
    /// Compact JSON with slashes as they are. Numbers that JSON has no words for, such as NaN, appear as `null`.
    public var description: String {
        var writer = JSONWriter(options: [.withoutEscapingSlashes], replacesNonFinite: true)
        do {
            try writer.write(self)
        } catch {
            return "<JSON nested too deeply>"
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension JSONValue: Codable {
    public init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: MemberKey.self) {
            var object = JSONObject()
            for key in container.allKeys { object[key.stringValue] = try container.decode(JSONValue.self, forKey: key) }
            self = .object(object)
            return
        }
        if var container = try? decoder.unkeyedContainer() {
            var elements: [JSONValue] = []
            while !container.isAtEnd { elements.append(try container.decode(JSONValue.self)) }
            self = .array(elements)
            return
        }
        self = try Self.scalar(from: decoder.singleValueContainer())
    }

    private static func scalar(from container: any SingleValueDecodingContainer) throws -> JSONValue {
        if container.decodeNil() { return .null }
        if let value = try? container.decode(Bool.self) { return .bool(value) }
        if let value = try? container.decode(Int64.self) { return .integer(value) }
        if let value = try? container.decode(Double.self) { return .double(value) }
        return .string(try container.decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .object(let object):
            var container = encoder.container(keyedBy: MemberKey.self)
            for (key, value) in object { try container.encode(value, forKey: MemberKey(stringValue: key)) }
        default:
            var container = encoder.singleValueContainer()
            try encodeScalar(into: &container)
        }
    }

    private func encodeScalar(into container: inout any SingleValueEncodingContainer) throws {
        switch self {
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .null, .array, .object: try container.encodeNil()
        }
    }

    private struct MemberKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }
}
