public import FoundationEssentials

/// A response and its body, whatever the status.
public struct DataResponse: Sendable {
    public var response: HTTPResponse
    /// Empty if it went into a file. Serializers are given it as it is.
    public var body: Data
    /// The file that the body went into, if it became a download (``ResponseDisposition/download(to:options:)``).
    public var filePath: String?

    /// What the server has shown of itself and what the policy had to say about it, if ``HTTPRequest/reportsTrust`` asked
    /// for it and the answer came over TLS. On a connection that was there already, what it showed when that was made.
    public var trust: TrustReport? { sharedTrust?.report }

    var sharedTrust: SharedTrustReport?

    public init(response: HTTPResponse, body: Data = Data(), filePath: String? = nil) {
        self.response = response
        self.body = body
        self.filePath = filePath
    }

    /// The status code.
    public var status: Int { response.status }

    /// The body as JSON; an empty one is ``JSONValue/null``. Status and type are not checked.
    ///
    /// - Throws: ``SessionError/Code/serialization``.
    public func json() throws(SessionError) -> JSONValue {
        try serialized(by: JSONResponseSerializer(validation: .none, allowsFragments: true))
    }

    /// The body decoded from JSON. Status and type are not checked.
    ///
    /// - Parameter decoder: Settings of ``JSONCoder``, or another decoder such as a `JSONDecoder`.
    /// - Throws: ``SessionError/Code/serialization``.
    public func decode<Value: Decodable & Sendable>(
        as type: Value.Type = Value.self, decoder: any DataDecoder = JSONCoder()
    ) throws(SessionError) -> Value {
        try serialized(by: DecodableResponseSerializer(type, decoder: decoder, validation: .none))
    }

    /// The body as text, in the charset that the response names, else UTF-8 or ISO-8859-1.
    ///
    /// - Throws: ``SessionError/Code/serialization`` if the charset is unknown or the body is not valid in it.
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
    /// The error of a serializer: itself if it is one of ours.
    init(serializing error: any Error, of response: DataResponse) {
        self =
            error as? SessionError
            ?? SessionError(
                .serialization, message: "the response serializer failed", response: response.response,
                body: response.body, underlying: error)
    }

    /// The error of a request serializer: itself if it is one of ours.
    init(serializingRequest error: any Error, url: String) {
        self =
            error as? SessionError
            ?? SessionError(.serialization, message: "the request serializer failed", url: url, underlying: error)
    }
}
