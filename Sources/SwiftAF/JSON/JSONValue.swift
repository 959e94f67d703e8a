/// A JSON document or a part of it.
///
/// ```swift
/// let value: JSONValue = ["name": "Ada", "born": 1815, "tags": ["math", nil]]
/// value["tags"]?[0]?.string        // "math"
/// ```
///
/// Numbers keep their digits and objects keep the order of their members. Typed requests and responses use this type as
/// well, so that JSON is handled the same everywhere; see ``JSONCoder``.
public enum JSONValue: Sendable, Hashable {
    /// The literal `null`.
    case null
    /// The literal `true` or `false`.
    case bool(Bool)
    /// A number with all its digits.
    case number(JSONNumber)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object; its members keep their order.
    case object(JSONObject)
}

extension JSONValue {
    /// Creates a number from an integer.
    public static func integer(_ value: Int64) -> JSONValue {
        .number(JSONNumber(value))
    }

    /// Creates a number from a `Double`. Infinities and NaN can be stored but not written.
    public static func double(_ value: Double) -> JSONValue {
        .number(JSONNumber(value))
    }

    /// The member of an object; nil if no member has that name or the value isn't an object. Setting a member of a
    /// value that isn't an object replaces the value by an object. Setting nil removes the member, and does nothing to
    /// other values.
    public subscript(key: String) -> JSONValue? {
        get { object?[key] }
        set {
            if newValue == nil, object == nil { return }
            var object = self.object ?? JSONObject()
            // Releases the other reference to the members, so that setting doesn't copy them.
            self = .null
            object[key] = newValue
            self = .object(object)
        }
    }

    /// The element of an array; nil if the index is out of bounds or the value isn't an array.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// Whether the value is `null`.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The boolean; nil for other types.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The number with all its digits; nil for other types.
    public var number: JSONNumber? {
        if case .number(let value) = self { value } else { nil }
    }

    /// The exact value of a number; nil if it has a fraction or doesn't fit. `1.0` is an integer.
    ///
    /// For other widths, use ``JSONNumber/exactly(as:)`` of ``number``.
    public var integer: Int64? { number?.exactly() }

    /// The same as ``integer``, as an `Int`.
    public var int: Int? { number?.exactly() }

    /// The nearest `Double` of a number; nil if out of range.
    public var double: Double? { number?.double }

    /// The string; nil for other types.
    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The elements of an array; nil for other types.
    public var array: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The members of an object; nil for other types.
    public var object: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }
}

extension JSONValue {
    /// Returns the value without null members and elements, at every level. A top-level null is kept.
    ///
    /// - Parameters:
    ///   - fromObjects: Whether to remove null members.
    ///   - fromArrays: Whether to remove null elements; later elements move up.
    public func removingNulls(fromObjects: Bool = true, fromArrays: Bool = true) -> JSONValue {
        switch self {
        case .array(let elements):
            let kept = fromArrays ? elements.filter { !$0.isNull } : elements
            return .array(kept.map { $0.removingNulls(fromObjects: fromObjects, fromArrays: fromArrays) })
        case .object(let object):
            return .object(
                object.compactMapValues { value in
                    if fromObjects, value.isNull { return nil }
                    return value.removingNulls(fromObjects: fromObjects, fromArrays: fromArrays)
                })
        case .null, .bool, .number, .string:
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

    /// Creates an object with the members in order. If a key is repeated, its last value is used.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(elements))
    }
}

extension JSONValue: CustomStringConvertible {
    /// Compact JSON with unescaped slashes. Numbers that JSON can't express, such as NaN, appear as `null`.
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

extension JSONObject: CustomStringConvertible {
    /// Compact JSON, as of ``JSONValue``.
    public var description: String { JSONValue.object(self).description }
}
