public import FoundationEssentials

/// Decodes the body as a `Decodable`, with ``JSONCoder`` or another decoder.
///
/// An empty body, or a single space, decodes as nil for optional types, as ``EmptyResponse/emptyValue`` for an
/// ``EmptyResponse``, and as ``JSONValue/null`` for ``JSONValue``; for other types it is an error. If the status isn't
/// acceptable, the body isn't decoded, because the body of an error rarely has the shape of the value; use
/// ``SessionError/decodeBody(as:decoder:)`` and ``SessionError/problem`` to read it.
public struct DecodableResponseSerializer<Output: Decodable & Sendable>: ResponseSerializer {
    /// The responses that are acceptable.
    public var validation: ResponseValidation

    /// The decoder. Don't modify it once requests have been made.
    public let decoder: any DataDecoder

    /// Creates a serializer. By default, it accepts the same responses as ``JSONResponseSerializer``.
    public init(
        _ type: Output.Type = Output.self,
        decoder: any DataDecoder = JSONCoder(),
        validation: ResponseValidation = JSONResponseSerializer().validation
    ) {
        self.decoder = decoder
        self.validation = validation
    }

    /// Returns a serializer for property lists, XML or binary. By default, the type `application/x-plist` is
    /// acceptable.
    public static func propertyList(
        _ type: Output.Type = Output.self,
        decoder: PropertyListDecoder = PropertyListDecoder(),
        validation: ResponseValidation = ResponseValidation(acceptableContentTypes: PropertyListDecoder().contentTypes)
    ) -> DecodableResponseSerializer {
        DecodableResponseSerializer(type, decoder: decoder, validation: validation)
    }

    public func serialize(_ response: HTTPResponse, body: Data) throws -> Output {
        try DecodableBody(decoder, validation).value(Output.self, from: response, body)
    }
}

/// Validates a response and decodes its body as a `Decodable`, which need not be `Sendable`.
struct DecodableBody {
    private let decoder: any DataDecoder
    private let validation: ResponseValidation

    init(_ decoder: any DataDecoder, _ validation: ResponseValidation) {
        self.decoder = decoder
        self.validation = validation
    }

    func value<Value: Decodable>(_ type: Value.Type, from response: HTTPResponse, _ body: Data) throws -> Value {
        if let error = validation.validate(response, body: body).error { throw error }
        if type == Empty.self, let empty = Empty() as? Value { return empty }
        do {
            return try isBlank(body) ? Self.nothing() : decoder.decodeReceived(type, from: body)
        } catch {
            throw SessionError(
                .serialization, message: Self.message(for: error, type, isBlank: isBlank(body)), response: response,
                body: body, underlying: error)
        }
    }

    /// Returns the value that stands for an empty body; throws if the type has none.
    private static func nothing<Value>() throws -> Value {
        if let type = Value.self as? any ExpressibleByNilLiteral.Type, let value = type.init(nilLiteral: ()) as? Value {
            return value
        }
        if let type = Value.self as? any EmptyResponse.Type, let value = type.emptyValue as? Value { return value }
        let context = DecodingError.Context(codingPath: [], debugDescription: "the body is empty")
        throw DecodingError.valueNotFound(Value.self, context)
    }

    private static func message(for error: any Error, _ type: Any.Type, isBlank: Bool) -> String {
        if isBlank { return "the body is empty, but a value of \(type) was expected" }
        return "the body \(DecodingFailure.text(error, of: type))"
    }
}
