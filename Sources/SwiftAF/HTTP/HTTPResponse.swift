public import FoundationEssentials

/// The head of a response with the metrics of its exchange. The body is separate.
///
/// The comparison ignores ``isDecoded`` and ``metrics``, whose times differ with every exchange.
public struct HTTPResponse: Sendable {
    /// The status code, 200 for OK.
    public var status: Int
    /// The version of HTTP that was used.
    public var version: HTTPVersion
    /// The reason phrase as received; empty over HTTP/2, which has none.
    public var reason: String
    /// The header fields as received: in order, with case and duplicates.
    public var headers: HTTPHeaders
    /// The trailer fields, received after the body.
    public var trailers: HTTPHeaders
    /// The URL of the response: the request's, or the last redirect's.
    public var url: String
    /// Times and sizes, hop by hop. They are known at the end of the transfer: a head that is reported earlier has no
    /// hops. Only a response from the cache has one then, without times, for ``cacheStatus``.
    public var metrics: ResponseMetrics

    /// ``CoreRequest/decodesBody`` of the request.
    var decodes = false

    /// Creates a response, for tests and caches. An interceptor may omit the URL, which is then the request's.
    public init(
        status: Int,
        version: HTTPVersion = .http1_1,
        reason: String = "",
        headers: HTTPHeaders = [:],
        trailers: HTTPHeaders = [:],
        url: String = "",
        metrics: ResponseMetrics = ResponseMetrics()
    ) {
        self.status = status
        self.version = version
        self.reason = reason
        self.headers = headers
        self.trailers = trailers
        self.url = url
        self.metrics = metrics
    }

    /// Returns the absolute URL of a reference in this response, such as that of a `Link` field (RFC 8288) or of a link
    /// in a document: relative to ``url``, by the rules of RFC 3986 5.2. The result is checked when a request
    /// is sent.
    ///
    /// ```swift
    /// let page = try await manager.response(.get, "users")        // from https://example.org/api/users
    /// print(page.head.url(resolving: "?page=2"))                  // https://example.org/api/users?page=2
    /// ```
    public func url(resolving reference: some URLConvertible) -> String {
        CoreURL.resolve(reference.urlText, against: url)
    }

    /// ``url`` as a `URL`; nil if it is invalid.
    public var parsedURL: URL? { URL(string: url) }

    /// The parsed Content-Type; nil if it is missing or invalid.
    public var mediaType: MediaType? {
        headers[.contentType].flatMap { MediaType($0) }
    }

    /// Whether the body was encoded and is decoded (``SessionConfiguration/decompressesBodies``). ``headers`` still has
    /// the fields as received: `Content-Encoding` and `Content-Length` are those of the encoded body. Remove both to
    /// pass the response on.
    public var isDecoded: Bool {
        // A part of an encoded body can't be decoded.
        guard decodes, status != 206, let coding = headers[.contentEncoding] else { return false }
        return !coding.isEmpty && !ASCII.equalIgnoringCase(coding, "identity")
    }

    /// The number of bytes of the body by Content-Length; nil if that is missing or invalid, and if ``isDecoded``,
    /// because it is then the number of encoded bytes.
    public var contentLength: Int64? {
        guard !isDecoded, let text = headers[.contentLength], ASCII.isNumber(text) else {
            return nil
        }
        return Int64(text)
    }

    /// The number of body bytes received over all hops, before decoding.
    public var bytesReceived: Int64 { metrics.bytesReceived }

    /// The number of body bytes sent over all hops.
    public var bytesSent: Int64 { metrics.bytesSent }

    /// Whether the status is 200 to 299.
    public var isSuccessful: Bool { (200...299).contains(status) }
}

extension HTTPResponse: Hashable {
    public static func == (left: HTTPResponse, right: HTTPResponse) -> Bool {
        left.status == right.status && left.version == right.version && left.reason == right.reason
            && left.headers == right.headers && left.trailers == right.trailers && left.url == right.url
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(status)
        hasher.combine(version)
        hasher.combine(reason)
        hasher.combine(headers)
        hasher.combine(trailers)
        hasher.combine(url)
    }
}

extension HTTPResponse: CustomStringConvertible {
    /// The status line and the URL without user information and query.
    public var description: String {
        let phrase = reason.isEmpty ? HTTPStatus.phrase(for: status) ?? "" : ASCII.printable(reason, limit: 100)
        return "\(version) \(status) \(phrase) (\(URLText(url).redacted))"
    }
}

/// The reason phrases of status codes.
public enum HTTPStatus {
    /// The reason phrase of a status code, such as `Not Found` for 404; nil if it isn't registered.
    public static func phrase(for status: Int) -> String? {
        // A `switch`, because a dictionary would be built in every program that shows a single status.
        switch status {
        case 100: "Continue"
        case 101: "Switching Protocols"
        case 102: "Processing"
        case 103: "Early Hints"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 203: "Non-Authoritative Information"
        case 204: "No Content"
        case 205: "Reset Content"
        case 206: "Partial Content"
        case 207: "Multi-Status"
        case 208: "Already Reported"
        case 226: "IM Used"
        case 300: "Multiple Choices"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 305: "Use Proxy"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 402: "Payment Required"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 407: "Proxy Authentication Required"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 411: "Length Required"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 416: "Range Not Satisfiable"
        case 417: "Expectation Failed"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 423: "Locked"
        case 424: "Failed Dependency"
        case 425: "Too Early"
        case 426: "Upgrade Required"
        case 428: "Precondition Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 451: "Unavailable For Legal Reasons"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        case 506: "Variant Also Negotiates"
        case 507: "Insufficient Storage"
        case 508: "Loop Detected"
        case 511: "Network Authentication Required"
        default: nil
        }
    }
}

extension HTTPResponse {
    /// A file name for the body: from Content-Disposition, else the last component of the URL's path, else `download`
    /// with an extension for the Content-Type.
    ///
    /// The name is safe in any folder, whatever the server sends: one path component of at most 223 bytes, without
    /// slashes, backslashes and control characters, without a dot or space at its start or end, and not a device name.
    /// A longer name is cut before its extension, and gets a hash of the whole, so that names with the same beginning
    /// stay different. A file of that name may already exist.
    public var suggestedFileName: String { coreFileName }
}
