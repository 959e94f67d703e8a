public import FoundationEssentials

/// Tries several serializers in order, for servers whose responses have different formats.
///
/// The first serializer that returns a value is used, with its error if there is one; the errors of earlier ones are
/// discarded. A serializer that returns null or nil for an empty body isn't used. If no serializer is used, the
/// response is validated by ``validation`` and the value is the body's `Data`. A ``DataResponseSerializer`` always
/// returns a value.
///
/// ```swift
/// let text = StringResponseSerializer(validation: ResponseValidation(acceptableContentTypes: ["text/plain"]))
/// let serializer = CompoundResponseSerializer([JSONResponseSerializer(), text])
/// switch try await manager.response(.get, "status").serialized(by: serializer) {
/// case let json as JSONValue: …
/// case let text as String: …
/// default: …
/// }
/// ```
///
/// Two values are equal if they have equal serializers in the same order; serializers that aren't `Hashable` are never
/// equal. The encoded form names each serializer by its type, so all of them must be `Codable`. Types from outside of
/// this module must be registered with the decoder under ``userInfoKey``.
public struct CompoundResponseSerializer: ResponseSerializer {
    /// The output of the serializer that succeeded first.
    public typealias Output = any Sendable

    /// The serializers in the order in which they are tried.
    public let serializers: [any ResponseSerializer]

    /// The responses that are acceptable if no serializer is used.
    public var validation: ResponseValidation

    /// Creates a serializer. By default, any content type with status 200 to 299 is acceptable if no serializer is
    /// used.
    public init(_ serializers: [any ResponseSerializer], validation: ResponseValidation = .default) {
        self.serializers = serializers
        self.validation = validation
    }

    public func serialize(_ response: HTTPResponse, body: Data) throws -> any Sendable {
        let result = result(for: response, body: body)
        guard let error = result.error else { return result.value ?? body }
        guard var refusal = error as? SessionError else { throw error }
        refusal.parsedBody = result.value
        throw refusal
    }

    public func result(for response: HTTPResponse, body: Data) -> SerializedResult<any Sendable> {
        for serializer in serializers {
            if let result = Self.result(of: serializer, response, body) { return result }
        }
        return SerializedResult(value: body, error: validation.validate(response, body: body).error)
    }

    /// Returns the result of one serializer; nil if it has no value.
    private static func result(
        of serializer: some ResponseSerializer, _ response: HTTPResponse, _ body: Data
    ) -> SerializedResult<any Sendable>? {
        let result = serializer.result(for: response, body: body)
        guard let value = result.value, !(isBlank(body) && isNothing(value)) else { return nil }
        return SerializedResult(value: value, error: result.error)
    }

    /// Returns whether a value stands for an empty body: null or nil.
    private static func isNothing<Value>(_ value: Value) -> Bool {
        if let json = value as? JSONValue { return json.isNull }
        return (value as? any NilTestable)?.isNil ?? false
    }
}

/// An optional of any type.
private protocol NilTestable {
    var isNil: Bool { get }
}

extension Optional: NilTestable {
    fileprivate var isNil: Bool { self == nil }
}

extension CompoundResponseSerializer: Hashable {
    public static func == (left: CompoundResponseSerializer, right: CompoundResponseSerializer) -> Bool {
        left.validation == right.validation
            && left.serializers.elementsEqual(right.serializers) { left, right in
                guard let left = left as? any Hashable, let right = right as? any Hashable else { return false }
                return AnyHashable(left) == AnyHashable(right)
            }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(validation)
        hasher.combine(serializers.count)
    }
}

extension CompoundResponseSerializer: Codable {
    /// A serializer that can be part of an encoded ``CompoundResponseSerializer``.
    public typealias Part = ResponseSerializer & Codable

    /// The key in a decoder's `userInfo` for serializer types from outside of this module: an array of `any
    /// CompoundResponseSerializer.Part.Type`.
    public static let userInfoKey = CodingUserInfoKey(rawValue: "SwiftAF.CompoundResponseSerializer")

    private static let ownTypes: [any Part.Type] = [
        DataResponseSerializer.self, StringResponseSerializer.self, JSONResponseSerializer.self,
        CompoundResponseSerializer.self,
    ]

    private enum CodingKeys: String, CodingKey {
        case serializers, validation
    }

    private enum PartKeys: String, CodingKey {
        case type, value
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        var parts = try container.nestedUnkeyedContainer(forKey: .serializers)
        let types = Self.ownTypes + (Self.userInfoKey.flatMap { decoder.userInfo[$0] as? [any Part.Type] } ?? [])
        var serializers: [any ResponseSerializer] = []
        while !parts.isAtEnd {
            let part = try parts.nestedContainer(keyedBy: PartKeys.self)
            let name = try part.decode(String.self, forKey: .type)
            guard let type = types.first(where: { "\($0)" == name }) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .type, in: part,
                    debugDescription: """
                        unknown type of serializer '\(ASCII.printable(name, limit: 80))': register it in the decoder's \
                        userInfo under CompoundResponseSerializer.userInfoKey
                        """)
            }
            serializers.append(try part.decode(type, forKey: .value))
        }
        self.init(serializers, validation: try container.decode(ResponseValidation.self, forKey: .validation))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(validation, forKey: .validation)
        var parts = container.nestedUnkeyedContainer(forKey: .serializers)
        for serializer in serializers {
            guard let serializer = serializer as? any Part else {
                let context = EncodingError.Context(
                    codingPath: parts.codingPath, debugDescription: "\(type(of: serializer)) is not Codable")
                throw EncodingError.invalidValue(serializer, context)
            }
            var part = parts.nestedContainer(keyedBy: PartKeys.self)
            try part.encode("\(type(of: serializer))", forKey: .type)
            try part.encode(serializer, forKey: .value)
        }
    }
}
