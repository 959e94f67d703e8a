public import FoundationEssentials

/// A type that a manager's calls accept as a URL: `String`, `Substring` or `URL`.
///
/// ```swift
/// let user: User = try await manager.get("users/7")
/// let page: Page = try await manager.get(page.next, parameters: ["size": 50])     // a `URL` from a response
/// ```
///
/// The text is checked when the request is sent.
public protocol URLConvertible: Sendable {
    /// Returns the text of the URL.
    static func urlText(of url: Self) -> String
}

extension URLConvertible {
    /// The text of the URL. Internal and not in the protocol, which would add a public member to every `String`.
    var urlText: String { Self.urlText(of: self) }
}

extension String: URLConvertible {
    public static func urlText(of url: String) -> String { url }
}

extension Substring: URLConvertible {
    public static func urlText(of url: Substring) -> String { String(url) }
}

extension URL: URLConvertible {
    public static func urlText(of url: URL) -> String { url.absoluteString }
}

/// A type that a manager's calls accept as a request: ``HTTPRequest``, or `String`, `Substring` or `URL` for a GET
/// request.
///
/// ```swift
/// try await manager.download(film.url, to: .folder("/tmp"))
/// for try await line in try await manager.stream("log").validated().lines { print(line) }
/// ```
public protocol RequestConvertible: Sendable {
    /// Returns the request.
    static func request(of source: Self) -> HTTPRequest
}

extension String: RequestConvertible {
    public static func request(of url: String) -> HTTPRequest { HTTPRequest(url) }
}

extension Substring: RequestConvertible {
    public static func request(of url: Substring) -> HTTPRequest { HTTPRequest(String(url)) }
}

extension URL: RequestConvertible {
    public static func request(of url: URL) -> HTTPRequest { HTTPRequest(url) }
}

extension HTTPRequest: RequestConvertible {
    public static func request(of request: HTTPRequest) -> HTTPRequest { request }
}
