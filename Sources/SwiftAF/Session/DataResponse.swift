public import FoundationEssentials

/// A response and its body, whatever the status.
public struct DataResponse: Sendable {
    public var response: HTTPResponse
    /// The body, after decoding of content encodings. Empty if it was saved to a file.
    public var body: Data
    /// The path of the file, if the body was saved to one (``ResponseDisposition/download(to:options:)``).
    public var filePath: String?

    /// The server's certificates and the verdict on them, if ``HTTPRequest/reportsTrust`` was set and the response came
    /// over TLS. On a reused connection, those of its handshake.
    public var trust: TrustReport? { sharedTrust?.report }

    var sharedTrust: SharedTrustReport?

    public init(response: HTTPResponse, body: Data = Data(), filePath: String? = nil) {
        self.response = response
        self.body = body
        self.filePath = filePath
    }

    /// The status code.
    public var status: Int { response.status }

    /// Parses the body as JSON; an empty body is ``JSONValue/null``. Status and content type aren't checked.
    ///
    /// - Throws: ``SessionError/Code/serialization``.
    public func json() throws(SessionError) -> JSONValue {
        try serialized(by: JSONResponseSerializer(validation: .none, allowsFragments: true))
    }

    /// Decodes the body from JSON. Status and content type aren't checked.
    ///
    /// - Parameter decoder: A ``JSONCoder`` with your settings, or another decoder such as `JSONDecoder`.
    /// - Throws: ``SessionError/Code/serialization``.
    public func decode<Value: Decodable & Sendable>(
        as type: Value.Type = Value.self, decoder: any DataDecoder = JSONCoder()
    ) throws(SessionError) -> Value {
        try serialized(by: DecodableResponseSerializer(type, decoder: decoder, validation: .none))
    }

    /// Decodes the body as text, in the response's charset, by default UTF-8, else ISO-8859-1.
    ///
    /// - Throws: ``SessionError/Code/serialization`` if the charset is unknown or the body isn't valid in it.
    public func text() throws(SessionError) -> String {
        try serialized(by: StringResponseSerializer(validation: .none))
    }

    /// Validates and parses the body with a serializer.
    public func serialized<Output>(by serializer: some ResponseSerializer<Output>) throws(SessionError) -> Output {
        do {
            return try serializer.serialize(response, body: body)
        } catch {
            throw SessionError(serializing: error, of: self)
        }
    }
}

extension ResponseValidation {
    /// Everything is acceptable.
    static let none = ResponseValidation(acceptableStatusCodes: nil, acceptableContentTypes: nil)
}

extension SessionError {
    /// Wraps an error of a response serializer, unless it is a ``SessionError``.
    init(serializing error: any Error, of response: DataResponse) {
        self =
            error as? SessionError
            ?? SessionError(
                .serialization, message: "the response serializer failed", response: response.response,
                body: response.body, underlying: error)
    }

    /// Wraps an error of a request serializer, unless it is a ``SessionError``.
    init(serializingRequest error: any Error, url: String) {
        self =
            error as? SessionError
            ?? SessionError(.serialization, message: "the request serializer failed", url: url, underlying: error)
    }
}
