public import FoundationEssentials

/// A response: its value, its head and its metrics.
///
/// A `Response<Data>` holds the body as received. ``value(as:validation:decoder:)`` decodes it:
///
/// ```swift
/// let response = try await manager.response(for: HTTPRequest("users/7"))
/// print(response.status, response.headers["ETag"] ?? "")
/// let user = try response.value(as: User.self)
/// ```
public struct Response<Value> {
    /// The value: the body, or what was decoded from it.
    public private(set) var value: Value
    /// The head, with the metrics of the exchange.
    public var head: HTTPResponse
    /// The body, after decoding of content encodings. Empty if it was saved to a file.
    public var body: Data {
        didSet { if Value.self == Data.self, let same = body as? Value { value = same } }
    }
    /// The path of the file, if the body was saved to one (``ResponseDecision/download(to:options:)``).
    public var filePath: String?

    var sharedTrust: SharedTrustReport?
    /// The settings of the manager for validating and decoding; nil for a response that the program created.
    var settings: ResponseSettings?

    /// Creates a response, for tests and caches. Without a body, the value is the body if it is `Data`; otherwise the
    /// body is empty.
    public init(value: Value, head: HTTPResponse, body: Data? = nil, filePath: String? = nil) {
        self.value = value
        self.head = head
        self.body = body ?? value as? Data ?? Data()
        self.filePath = filePath
    }

    /// The status code.
    public var status: Int { head.status }

    /// The header fields.
    public var headers: HTTPHeaders { head.headers }

    /// The URL of the response: the request's, or the last redirect's.
    public var url: String { head.url }

    /// Returns the absolute URL of a reference in this response, relative to ``url``:
    /// ``HTTPResponse/url(resolving:)``.
    public func url(resolving reference: some URLConvertible) -> String { head.url(resolving: reference) }

    /// Times and sizes, hop by hop.
    public var metrics: ResponseMetrics { head.metrics }

    /// The server's certificates and their evaluation, if ``HTTPRequest/reportsTrust`` was set and the response was
    /// received over TLS. For a reused connection, those of its handshake.
    public var trust: TrustReport? { sharedTrust?.report }

    /// The same response with another value.
    func with<Other>(value: Other) -> Response<Other> {
        var response = Response<Other>(value: value, head: head, body: body, filePath: filePath)
        response.sharedTrust = sharedTrust
        response.settings = settings
        return response
    }
}

extension Response: Sendable where Value: Sendable {}

extension Response where Value == Data {
    /// Creates a response with a body, for tests and caches.
    public init(head: HTTPResponse, body: Data = Data(), filePath: String? = nil) {
        self.init(value: body, head: head, body: body, filePath: filePath)
    }

    /// Checks the status, and the content type if the validation lists any.
    ///
    /// - Parameter validation: Nil uses the manager's, by default status 200 to 299.
    /// - Returns: This response. Decoding it later uses the same validation.
    /// - Throws: ``SessionError/Code/status`` or ``SessionError/Code/contentType``; the error has the head and the
    ///   body.
    @discardableResult
    public func validated(by validation: ResponseValidation? = nil) throws(SessionError) -> Response {
        let checked = validation ?? settings?.validation ?? .default
        if let error = checked.validate(head, body: body).error {
            throw settings.map { error.decoded(by: $0.decoder) } ?? error
        }
        guard let validation else { return self }
        var response = self
        response.settings = (settings ?? .standard).with(validation: validation)
        return response
    }

    /// Checks the response and decodes its body as a `Decodable`, ``JSONValue``, `Data` or `String`.
    ///
    /// - Parameters:
    ///   - type: The type of the value. It need not be `Sendable`: the body is decoded where this is called.
    ///   - validation: Nil uses the manager's. ``ResponseValidation/any`` decodes the body of every response.
    ///   - decoder: Nil uses the manager's. Ignored for ``JSONValue``, `Data` and `String`.
    /// - Throws: The errors of ``validated(by:)``; ``SessionError/Code/serialization`` if the body can't be decoded.
    public func value<Decoded: Decodable>(
        as type: Decoded.Type = Decoded.self, validation: ResponseValidation? = nil,
        decoder: (any DataDecoder)? = nil
    ) throws(SessionError) -> Decoded {
        var settings = settings ?? .standard
        if validation != nil || decoder != nil {
            settings = ResponseSettings(
                decoder: decoder ?? settings.decoder, validation: validation ?? settings.validation)
        }
        return try throwing { try settings.value(type, from: head, body) }
    }

    /// Decodes the body like ``value(as:validation:decoder:)``, and returns the value together with the head and the
    /// metrics. The value need not be `Sendable`: the response is if the value is.
    public func decoded<Decoded: Decodable>(
        as type: Decoded.Type = Decoded.self, validation: ResponseValidation? = nil,
        decoder: (any DataDecoder)? = nil
    ) throws(SessionError) -> Response<Decoded> {
        with(value: try value(as: type, validation: validation, decoder: decoder))
    }

    /// Checks the response and parses its body as JSON; an empty body is ``JSONValue/null``. The same as
    /// `value(as: JSONValue.self)`.
    ///
    /// - Parameter validation: Nil uses the manager's. ``ResponseValidation/any`` parses the body of every response.
    public func json(validation: ResponseValidation? = nil) throws(SessionError) -> JSONValue {
        try value(validation: validation)
    }

    /// Checks the response and decodes its body as text, in the response's charset, by default UTF-8, else ISO-8859-1.
    /// The same as `value(as: String.self)`.
    ///
    /// - Parameter validation: Nil uses the manager's. ``ResponseValidation/any`` decodes the body of every response,
    ///   such as the page of a 404.
    /// - Throws: The errors of ``validated(by:)``; ``SessionError/Code/serialization`` if the charset is unknown or the
    ///   body isn't valid in it.
    public func text(validation: ResponseValidation? = nil) throws(SessionError) -> String {
        try value(validation: validation)
    }

    /// Validates and parses the body with a serializer.
    public func serialized<Output>(by serializer: some ResponseSerializer<Output>) throws(SessionError) -> Output {
        try throwing { try serializer.serialize(head, body: body) }
    }

    /// Calls a function, and adds this response to the error that it throws.
    private func throwing<Output>(_ serialize: () throws -> Output) throws(SessionError) -> Output {
        do {
            return try serialize()
        } catch {
            let error = SessionError(serializing: error, of: self)
            throw settings.map { error.decoded(by: $0.decoder) } ?? error
        }
    }
}

extension Response: CustomStringConvertible {
    /// The head, and the size of the body in bytes or its file.
    public var description: String { "\(head), \(filePath.map { "saved to \($0)" } ?? "\(body.count) bytes")" }
}

extension SessionError {
    /// Wraps an error of a response serializer, unless it is a ``SessionError``.
    init(serializing error: any Error, of response: Response<Data>) {
        self =
            error as? SessionError
            ?? SessionError(
                .serialization, message: "the response serializer failed", response: response.head,
                body: response.body, underlying: error)
    }

    /// Wraps an error of a request serializer, unless it is a ``SessionError``.
    init(serializingRequest error: any Error, url: String?) {
        self =
            error as? SessionError
            ?? SessionError(
                .serialization, message: "the request serializer failed" + Self.detail(of: error), url: url,
                underlying: error)
    }

    /// The encoder's explanation why it refuses a value, such as a date.
    private static func detail(of error: any Error) -> String {
        guard case .invalidValue(_, let context) = error as? EncodingError else { return "" }
        return ": \(context.debugDescription)"
    }
}
