public import FoundationEssentials

/// Makes values of bodies: ``JSONCoder``, Foundation's decoders of JSON and of property lists, or one for another
/// format.
public protocol DataDecoder: Sendable {
    /// The value that the data says. May be called by many tasks at once.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension JSONCoder: DataDecoder {}
extension JSONDecoder: DataDecoder {}
extension PropertyListDecoder: DataDecoder {}

/// The body as any `Decodable`, read from JSON by ``JSONCoder`` or with another decoder.
///
/// An empty body, or a single space, is nil to optional types and ``JSONValue/null`` to ``JSONValue``; to others it is
/// an error. A refused status is the error by itself, because an error document seldom has the shape of the value;
/// ``SessionError/decodeBody(as:decoder:)`` and ``SessionError/problem`` read it.
public struct DecodableResponseSerializer<Output: Decodable & Sendable>: ResponseSerializer {
    /// Which responses are acceptable.
    public var validation: ResponseValidation

    /// Not to be changed once requests are made.
    public let decoder: any DataDecoder

    /// Makes a serializer; at first what ``JSONResponseSerializer`` accepts is acceptable.
    public init(
        _ type: Output.Type = Output.self,
        decoder: any DataDecoder = JSONCoder(),
        validation: ResponseValidation = JSONResponseSerializer().validation
    ) {
        self.decoder = decoder
        self.validation = validation
    }

    /// A serializer for property lists, XML or binary; at first those of type `application/x-plist` are acceptable.
    public static func propertyList(
        _ type: Output.Type = Output.self,
        decoder: PropertyListDecoder = PropertyListDecoder(),
        validation: ResponseValidation = ResponseValidation(acceptableContentTypes: ["application/x-plist"])
    ) -> DecodableResponseSerializer {
        DecodableResponseSerializer(type, decoder: decoder, validation: validation)
    }

    public func serialize(_ response: HTTPResponse, body: Data) throws -> Output {
        if let error = validation.validate(response, body: body).error { throw error }
        do {
            return try isBlank(body) ? Self.nothing() : decoder.decode(Output.self, from: body)
        } catch {
            throw SessionError(
                .serialization, message: Self.message(for: error, isBlank: isBlank(body)), response: response,
                body: body, underlying: error)
        }
    }

    /// What an empty body means.
    private static func nothing() throws -> Output {
        if let type = Output.self as? any ExpressibleByNilLiteral.Type, let value = type.init(nilLiteral: ()) as? Output
        {
            return value
        }
        let context = DecodingError.Context(codingPath: [], debugDescription: "the body is empty")
        throw DecodingError.valueNotFound(Output.self, context)
    }

    private static func message(for error: any Error, isBlank: Bool) -> String {
        if isBlank { return "the body is empty, which is no \(Output.self)" }
        guard let error = error as? DecodingError else { return "the body can't be decoded as \(Output.self)" }
        return "the body can't be decoded as \(Output.self): \(explain(error))"
    }

    /// What is wrong and where, without any of the data.
    private static func explain(_ error: DecodingError) -> String {
        switch error {
        case .typeMismatch(let type, let context): "no \(type)\(place(context))"
        case .valueNotFound(let type, let context): "no value for \(type)\(place(context))"
        case .keyNotFound(let key, let context): "no member \"\(key.stringValue)\"\(place(context))"
        case .dataCorrupted(let context): "malformed\(place(context))"
        @unknown default: "not decodable"
        }
    }

    private static func place(_ context: DecodingError.Context) -> String {
        guard !context.codingPath.isEmpty else { return "" }
        let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
        return " at $\(ASCII.printable(path, limit: 200))"
    }
}
