extension HTTPHeaders {
    /// The name of a header field. Equal names have the same letters, whatever their case.
    ///
    /// ```swift
    /// headers[.contentType] = "text/plain"
    ///
    /// extension HTTPHeaders.Name {
    ///     static let trace: Self = "X-Trace"
    /// }
    /// ```
    public struct Name: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The name as it is sent, with its case.
        public let text: String

        /// Creates a name. Invalid characters are refused when the request is validated.
        public init(_ text: String) {
            self.text = text
        }

        public init(stringLiteral text: String) {
            self.text = text
        }

        public var description: String { text }

        public static func == (left: Name, right: Name) -> Bool {
            ASCII.equalIgnoringCase(left.text, right.text)
        }

        public func hash(into hasher: inout Hasher) {
            for byte in text.utf8 { hasher.combine(ASCII.lowercased(byte)) }
            hasher.combine(text.utf8.count)
        }
    }
}

// The functions of HTTPHeaders with a `Name` instead of a `String`.
extension HTTPHeaders {
    /// The values of all fields of a name, joined with ", " (RFC 9110 5.2); for `Set-Cookie`, which can't be joined,
    /// only the first. Setting replaces all fields of that name with one; setting nil removes them.
    public subscript(name: Name) -> String? {
        get { self[name.text] }
        set { self[name.text] = newValue }
    }

    /// The value of the first field of a name.
    public func first(named name: Name) -> String? { first(named: name.text) }

    /// The values of all fields of a name, in order.
    public func values(named name: Name) -> [String] { values(named: name.text) }

    /// Whether there is a field of a name.
    public func contains(named name: Name) -> Bool { contains(named: name.text) }

    /// Appends a field; existing fields of that name stay.
    public mutating func add(name: Name, value: String, isSecret: Bool = false) {
        add(name: name.text, value: value, isSecret: isSecret)
    }

    /// Replaces all fields of a name with one, at the position of the first or at the end.
    public mutating func set(name: Name, value: String, isSecret: Bool = false) {
        set(name: name.text, value: value, isSecret: isSecret)
    }

    /// Removes all fields of a name. The library's default is still added; see ``suppressDefault(_:)-(String)``.
    public mutating func remove(named name: Name) { remove(named: name.text) }

    /// Removes all fields of a name, and keeps the library and libcurl from adding a default, as in
    /// `headers.suppressDefault(.accept)`. Adding a field of that name later reverts this.
    public mutating func suppressDefault(_ name: Name) { suppressDefault(name.text) }

    /// Whether ``suppressDefault(_:)-(String)`` was called for a name.
    public func isSuppressed(_ name: Name) -> Bool { isSuppressed(name.text) }

    package mutating func fillGap(name: Name, value: @autoclosure () -> String) {
        fillGap(name: name.text, value: value())
    }
}

extension HTTPHeaders.Field {
    /// Creates a field. Invalid characters are refused when the request is validated.
    public init(name: HTTPHeaders.Name, value: String, isSecret: Bool = false) {
        self.init(name: name.text, value: value, isSecret: isSecret)
    }

    /// Whether the field has a name, ignoring case.
    public func isNamed(_ name: HTTPHeaders.Name) -> Bool { isNamed(name.text) }
}

// Names of common fields.
extension HTTPHeaders.Name {
    /// `Accept` (RFC 9110 12.5.1).
    public static let accept = HTTPHeaders.Name("Accept")
    /// `Accept-Encoding` (RFC 9110 12.5.3).
    public static let acceptEncoding = HTTPHeaders.Name("Accept-Encoding")
    /// `Accept-Language` (RFC 9110 12.5.4).
    public static let acceptLanguage = HTTPHeaders.Name("Accept-Language")
    /// `Authorization` (RFC 9110 11.6.2).
    public static let authorization = HTTPHeaders.Name("Authorization")
    /// `Cache-Control` (RFC 9111 5.2).
    public static let cacheControl = HTTPHeaders.Name("Cache-Control")
    /// `Content-Disposition` (RFC 6266).
    public static let contentDisposition = HTTPHeaders.Name("Content-Disposition")
    /// `Content-Encoding` (RFC 9110 8.4).
    public static let contentEncoding = HTTPHeaders.Name("Content-Encoding")
    /// `Content-Length` (RFC 9110 8.6).
    public static let contentLength = HTTPHeaders.Name("Content-Length")
    /// `Content-Range` (RFC 9110 14.4).
    public static let contentRange = HTTPHeaders.Name("Content-Range")
    /// `Content-Type` (RFC 9110 8.3).
    public static let contentType = HTTPHeaders.Name("Content-Type")
    /// `Cookie` (RFC 6265 5.4).
    public static let cookie = HTTPHeaders.Name("Cookie")
    /// `Date` (RFC 9110 6.6.1).
    public static let date = HTTPHeaders.Name("Date")
    /// `ETag` (RFC 9110 8.8.3).
    public static let eTag = HTTPHeaders.Name("ETag")
    /// `Host` (RFC 9110 7.2).
    public static let host = HTTPHeaders.Name("Host")
    /// `If-Match` (RFC 9110 13.1.1).
    public static let ifMatch = HTTPHeaders.Name("If-Match")
    /// `If-None-Match` (RFC 9110 13.1.2).
    public static let ifNoneMatch = HTTPHeaders.Name("If-None-Match")
    /// `If-Range` (RFC 9110 13.1.5).
    public static let ifRange = HTTPHeaders.Name("If-Range")
    /// `Last-Modified` (RFC 9110 8.8.2).
    public static let lastModified = HTTPHeaders.Name("Last-Modified")
    /// `Location` (RFC 9110 10.2.2).
    public static let location = HTTPHeaders.Name("Location")
    /// `Proxy-Authorization` (RFC 9110 11.7.2).
    public static let proxyAuthorization = HTTPHeaders.Name("Proxy-Authorization")
    /// `Range` (RFC 9110 14.2).
    public static let range = HTTPHeaders.Name("Range")
    /// `Referer` (RFC 9110 10.1.3).
    public static let referer = HTTPHeaders.Name("Referer")
    /// `Retry-After` (RFC 9110 10.2.3).
    public static let retryAfter = HTTPHeaders.Name("Retry-After")
    /// `Set-Cookie` (RFC 6265 4.1).
    public static let setCookie = HTTPHeaders.Name("Set-Cookie")
    /// `Transfer-Encoding` (RFC 9112 6.1).
    public static let transferEncoding = HTTPHeaders.Name("Transfer-Encoding")
    /// `User-Agent` (RFC 9110 10.1.5).
    public static let userAgent = HTTPHeaders.Name("User-Agent")
    /// `WWW-Authenticate` (RFC 9110 11.6.1).
    public static let wwwAuthenticate = HTTPHeaders.Name("WWW-Authenticate")
}
