public import FoundationEssentials

/// The head of a response with the metrics of its exchange. The body is separate.
public struct HTTPResponse: Sendable, Hashable {
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
    /// Times and sizes, hop by hop.
    public var metrics: ResponseMetrics

    /// Makes a response, for tests and caches. An interceptor may leave out the URL: it is then the request's.
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

    /// ``url`` as a `URL`; nil if it is invalid.
    public var parsedURL: URL? { URL(string: url) }

    /// The parsed Content-Type; nil if it is missing or invalid.
    public var mediaType: MediaType? {
        headers[HTTPHeaders.Name.contentType].flatMap { MediaType($0) }
    }

    /// The Content-Length; nil if it is missing or invalid.
    public var contentLength: Int64? {
        guard let text = headers[HTTPHeaders.Name.contentLength], text.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else {
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
        phrases[status]
    }

    private static let phrases: [Int: String] = [
        100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints",
        200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content",
        205: "Reset Content", 206: "Partial Content", 207: "Multi-Status", 208: "Already Reported", 226: "IM Used",
        300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        305: "Use Proxy", 307: "Temporary Redirect", 308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
        405: "Method Not Allowed", 406: "Not Acceptable", 407: "Proxy Authentication Required",
        408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed",
        413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable",
        417: "Expectation Failed", 421: "Misdirected Request", 422: "Unprocessable Content", 423: "Locked",
        424: "Failed Dependency", 425: "Too Early", 426: "Upgrade Required", 428: "Precondition Required",
        429: "Too Many Requests", 431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout", 505: "HTTP Version Not Supported", 506: "Variant Also Negotiates",
        507: "Insufficient Storage", 508: "Loop Detected", 511: "Network Authentication Required",
    ]
}

extension HTTPResponse {
    /// A file name for the body: from Content-Disposition, else the last component of the URL's path, else `download`
    /// with an extension for the Content-Type.
    ///
    /// The name is safe in any folder, whatever the server sends: one path component of at most 223 bytes, without
    /// slashes, backslashes and control characters, without a dot or space at its start or end, and not a device name.
    /// A file of that name may already exist.
    public var suggestedFileName: String { coreFileName }
}
