/// Adds parameters to a request.
public protocol RequestSerializer: Sendable {
    /// Returns the request with the parameters. The request has all of its other headers already.
    ///
    /// Called on the caller's thread or task, before anything is sent. If it throws, the request fails with that error.
    func serialize(_ request: HTTPRequest, parameters: Parameters?) throws -> HTTPRequest

    /// Returns the request with the parameters, given the manager's encoder, for a serializer that writes JSON.
    /// Managers call this function. Default: calls ``serialize(_:parameters:)``.
    ///
    /// - Parameters:
    ///   - request: The request, with all of its other headers.
    ///   - parameters: The parameters; nil if there are none.
    ///   - encoder: The ``HTTPSessionManager/encoder``.
    func serialize(
        _ request: HTTPRequest, parameters: Parameters?, encoder: any DataEncoder
    ) throws -> HTTPRequest

    /// The encoding of parameters as fields of a multipart form. Default: `ParameterEncoder()`.
    var parameterEncoder: ParameterEncoder { get }
}

extension RequestSerializer {
    public var parameterEncoder: ParameterEncoder { ParameterEncoder() }

    public func serialize(
        _ request: HTTPRequest, parameters: Parameters?, encoder: any DataEncoder
    ) throws -> HTTPRequest {
        try serialize(request, parameters: parameters)
    }
}

/// Encodes parameters as a query, or as a form in the body for methods with a body.
///
/// Copies include every setting. The encoded form leaves out ``queryString`` and ``bodyEncoder``, which are code; they
/// are nil after decoding. Serializers are equal if all other settings are equal,
/// both or neither have a ``queryString``, and their body encoders have the same ``RequestBodyEncoder/contentEncoding``
/// or are both nil.
public struct HTTPRequestSerializer: RequestSerializer {
    /// Methods, in upper case, whose parameters are added to the URL. Default: GET, HEAD and DELETE.
    public var methodsEncodingParametersInURI: Set<String> = ["GET", "HEAD", "DELETE"]

    /// The encoding of parameters as a query or a form.
    public var parameterEncoder = ParameterEncoder()

    /// Encodes the query or form instead of ``parameterEncoder``. Called only if there are parameters. Its result is
    /// used unchanged; if it throws, the request fails with that error. Default: nil.
    public var queryString: (@Sendable (HTTPRequest, Parameters) throws -> String)?

    /// Default time limits of requests. Limits that are nil are the session's.
    public var timeouts = HTTPRequest.Timeouts()

    /// Default hints of requests. Hints that are nil aren't set.
    public var hints = HTTPRequest.Hints()

    /// Compresses bodies in memory; nil sends them uncompressed. Default: nil.
    public var bodyEncoder: (any RequestBodyEncoder)?

    private static let contentType = MediaType.form.essence
    /// The methods that send an empty form if there are no parameters. A TRACE must not have content (RFC 9110 9.3.8),
    /// and for OPTIONS and extension methods content has its own meaning.
    private static let methodsOfForms: Set<String> = ["POST", "PUT", "PATCH"]

    /// Creates a serializer with the default settings.
    public init() {}

    /// Returns the request with the parameters in its URL or body.
    ///
    /// ``Parameters/null`` means no parameters. A POST, PUT or PATCH with neither parameters nor a body gets an empty
    /// form, which servers of such APIs expect.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` if both a body and parameters for the body are given; the errors of
    ///   ``queryString``, ``bodyEncoder`` or an `Encodable`.
    public func serialize(_ request: HTTPRequest, parameters: Parameters?) throws -> HTTPRequest {
        var request = request
        let parameters = parameters.unlessNull
        fillGaps(of: &request)
        if encodesInURI(request.method) {
            if let query = try query(for: request, parameters), !query.isEmpty {
                request.url = Self.url(request.url, appending: query)
            }
        } else if request.body.isNone, parameters != nil || Self.methodsOfForms.contains(request.method.rawValue) {
            let form = try query(for: request, parameters) ?? ""
            request.headers.fillGap(name: .contentType, value: Self.contentType)
            request.body = .text(form, contentType: nil)
        } else if parameters != nil {
            throw HTTPRequest.secondBody(request.url)
        }
        try request.encodeBody(with: bodyEncoder)
        return request
    }

    /// Whether the parameters of this method are added to the URL.
    public func encodesInURI(_ method: HTTPMethod) -> Bool {
        methodsEncodingParametersInURI.contains(method.rawValue)
            || methodsEncodingParametersInURI.contains(method.rawValue.uppercased())
    }

    /// Adds the serializer's time limits and hints where the request lacks them.
    package func fillGaps(of request: inout HTTPRequest) {
        if timeouts != HTTPRequest.Timeouts() { request.timeouts.fillGaps(from: timeouts) }
        if hints != HTTPRequest.Hints() { request.hints.fillGaps(from: hints) }
    }

    private func query(for request: HTTPRequest, _ parameters: Parameters?) throws -> String? {
        guard let parameters else { return nil }
        return try queryString?(request, parameters) ?? parameterEncoder.encode(parameters)
    }

    /// Appends a query to a URL, after its own query and before its fragment. Like AFNetworking, and unlike
    /// ``CoreURL/append(query:to:)``, adds "&" also after an empty query and after another "&".
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
        case methodsEncodingParametersInURI, parameterEncoder, timeouts, hints
    }
}

extension HTTPRequestSerializer: Hashable {
    public static func == (left: HTTPRequestSerializer, right: HTTPRequestSerializer) -> Bool {
        left.parameterEncoder == right.parameterEncoder
            && left.methodsEncodingParametersInURI == right.methodsEncodingParametersInURI
            && left.timeouts == right.timeouts && left.hints == right.hints
            && (left.queryString == nil) == (right.queryString == nil)
            && left.bodyEncoder?.contentEncoding == right.bodyEncoder?.contentEncoding
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(methodsEncodingParametersInURI)
        hasher.combine(parameterEncoder)
        hasher.combine(timeouts)
        hasher.combine(hints)
    }
}
