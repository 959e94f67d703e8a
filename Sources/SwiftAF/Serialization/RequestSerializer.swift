/// Puts parameters into a request.
public protocol RequestSerializer: Sendable {
    /// The request with the parameters in it, and with the serializer's default headers where it had none.
    ///
    /// Called on the caller's thread or task, before anything is sent; an error that it throws is the outcome.
    func serialize(_ request: HTTPRequest, parameters: Parameters?) throws -> HTTPRequest

    /// How parameters become the fields of a multipart form. ``ParameterEncoder``'s default unless it is said.
    var parameterEncoder: ParameterEncoder { get }
}

extension RequestSerializer {
    public var parameterEncoder: ParameterEncoder { ParameterEncoder() }
}

/// Writes parameters as a query, or as a form in the body for methods that have one.
///
/// A copy carries every setting. So does the coded form, secrets among the ``headers`` included, but for the two that
/// are code: ``queryString`` and ``bodyEncoder`` are left out of it, and nil after decoding. Code can't be compared
/// either: equal serializers agree in everything else, and both have a ``queryString`` or neither, and encode bodies
/// by the same name or not at all.
public struct HTTPRequestSerializer: RequestSerializer {
    /// Headers added to requests that don't have them. At first Accept-Language and User-Agent.
    public var headers: HTTPHeaders

    /// Methods, in capitals, whose parameters go into the URL.
    public var methodsEncodingParametersInURI: Set<String> = ["GET", "HEAD", "DELETE"]

    /// How parameters become a query or form.
    public var parameterEncoder = ParameterEncoder()

    /// Writes the query or form instead of ``parameterEncoder``. Called only if there are parameters; its result
    /// is used as it is, its error is the outcome.
    public var queryString: (@Sendable (HTTPRequest, Parameters) throws -> String)?

    /// Time limits for requests that don't say otherwise. Those that are nil are the session's.
    public var timeouts = HTTPRequest.Timeouts()

    /// Hints for requests that don't say otherwise. Those that are nil are not set.
    public var hints = HTTPRequest.Hints()

    /// Compresses bodies that are in memory; nil sends them as they are.
    public var bodyEncoder: (any RequestBodyEncoder)?

    private static let contentType = MediaType.form.essence

    /// Makes a serializer that adds the given headers where a request has none of their names.
    public init(headers: HTTPHeaders = DefaultHeaders.all) {
        self.headers = headers
    }

    /// Sets `Authorization: Basic …` for every request.
    public mutating func setAuthorization(username: String, password: String) {
        headers.setBasicAuthorization(username: username, password: password)
    }

    /// Sets `Authorization: Bearer …` for every request.
    public mutating func setAuthorization(bearerToken: String) {
        headers.setBearerAuthorization(token: bearerToken)
    }

    /// Removes the Authorization header.
    public mutating func clearAuthorization() {
        headers.remove(HTTPHeaders.Name.authorization)
    }

    /// The request with the parameters in its URL or body.
    ///
    /// Without parameters a method with a body still sends an empty form, as servers of such interfaces expect,
    /// unless the request has a body of its own.
    ///
    /// - Throws: ``SessionError`` with code ``SessionError/Code/invalidInput`` if the request has a body of its own
    ///   and parameters want to be one; what ``queryString``, ``bodyEncoder`` or an `Encodable` throws.
    public func serialize(_ request: HTTPRequest, parameters: Parameters?) throws -> HTTPRequest {
        var request = request
        fillGaps(of: &request)
        if encodesInURI(request.method) {
            guard let query = try query(for: request, parameters), !query.isEmpty else { return request }
            request.url = Self.url(request.url, appending: query)
            return request
        }
        if request.body.isNone {
            let form = try query(for: request, parameters) ?? ""
            request.headers.fillGap(name: HTTPHeaders.Name.contentType, value: Self.contentType)
            request.body = .text(form)
        } else if parameters != nil {
            throw Self.secondBody(of: request)
        }
        try request.encodeBody(with: bodyEncoder)
        return request
    }

    /// Whether parameters of this method go into the URL.
    public func encodesInURI(_ method: HTTPMethod) -> Bool {
        methodsEncodingParametersInURI.contains(method.rawValue)
            || methodsEncodingParametersInURI.contains(method.rawValue.uppercased())
    }

    /// Adds what this serializer has and the request lacks: headers, time limits, hints.
    package func fillGaps(of request: inout HTTPRequest) {
        request.headers.fillGaps(from: headers)
        if timeouts != HTTPRequest.Timeouts() { request.timeouts.fillGaps(from: timeouts) }
        if hints != HTTPRequest.Hints() { request.hints.fillGaps(from: hints) }
    }

    private func query(for request: HTTPRequest, _ parameters: Parameters?) throws -> String? {
        guard let parameters else { return nil }
        return try queryString?(request, parameters) ?? parameterEncoder.encode(parameters)
    }

    package static func secondBody(of request: HTTPRequest) -> SessionError {
        SessionError(.invalidInput, message: "the request has a body and parameters for another", url: request.url)
    }

    /// `url` with a query added to the one it may have, before the fragment. As in AFNetworking, "&" follows an empty query,
    /// too.
    private static func url(_ url: String, appending query: String) -> String {
        let parts = URLText(url)
        var result = ""
        result.reserveCapacity(url.utf8.count + 1 + query.utf8.count)
        result += parts.withoutFragment
        result += parts.query == nil ? "?" : "&"
        result += query
        if let fragment = parts.fragment { result += "#\(fragment)" }
        return result
    }
}

extension HTTPRequestSerializer: Codable {
    private enum CodingKeys: String, CodingKey {
        case headers, methodsEncodingParametersInURI, parameterEncoder, timeouts, hints
    }
}

extension HTTPRequestSerializer: Hashable {
    public static func == (left: HTTPRequestSerializer, right: HTTPRequestSerializer) -> Bool {
        left.headers == right.headers && left.parameterEncoder == right.parameterEncoder
            && left.methodsEncodingParametersInURI == right.methodsEncodingParametersInURI
            && left.timeouts == right.timeouts && left.hints == right.hints
            && (left.queryString == nil) == (right.queryString == nil)
            && left.bodyEncoder?.contentEncoding == right.bodyEncoder?.contentEncoding
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(headers)
        hasher.combine(methodsEncodingParametersInURI)
        hasher.combine(parameterEncoder)
        hasher.combine(timeouts)
        hasher.combine(hints)
    }
}
