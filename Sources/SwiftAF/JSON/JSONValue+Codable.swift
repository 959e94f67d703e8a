import FoundationEssentials

extension JSONValue: Codable {
    /// Decodes a value from any format. ``JSONCoder`` passes it unchanged. Other decoders are asked for `Int64`,
    /// `UInt64`, `Decimal` and `Double`, in this order, so distinctions that they don't make are lost.
    public init(from decoder: any Decoder) throws {
        if let decoder = decoder as? ValueDecoder {
            self = decoder.value(at: decoder.own)
            return
        }
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
        if let value = try? container.decode(UInt64.self) { return .number(JSONNumber(value)) }
        if let value = try? container.decode(Decimal.self), let number = JSONNumber(value) { return .number(number) }
        if let value = try? container.decode(Double.self) { return .double(value) }
        return .string(try container.decode(String.self))
    }

    /// Encodes the value into any format. ``JSONCoder`` takes it unchanged. Other encoders get numbers as the first of
    /// `Int64`, `UInt64`, `Double` and `Decimal` that represents the value exactly.
    ///
    /// - Throws: `EncodingError` for a number that none of these types can represent exactly.
    public func encode(to encoder: any Encoder) throws {
        if let encoder = encoder as? TreeEncoder { return try encoder.encode(tree: self) }
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
        case .number(let value): try Self.encode(value, into: &container)
        case .string(let value): try container.encode(value)
        case .null, .array, .object: try container.encodeNil()
        }
    }

    private static func encode(_ number: JSONNumber, into container: inout any SingleValueEncodingContainer) throws {
        if case .binary(let value) = number.storage { return try container.encode(value) }
        if let value = number.exactly(as: Int64.self) { return try container.encode(value) }
        if let value = number.exactly(as: UInt64.self) { return try container.encode(value) }
        if let value = number.double, JSONNumber(value) == number { return try container.encode(value) }
        if let value = number.decimal { return try container.encode(value) }
        throw EncodingError.invalidValue(
            number,
            EncodingError.Context(
                codingPath: container.codingPath, debugDescription: "no type has the exact value of the number"))
    }

    private struct MemberKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }
}
