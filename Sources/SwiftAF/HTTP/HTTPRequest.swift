public import FoundationEssentials

/// A request as a value: what to send, and how it differs from what its session does for every request.
///
/// Nothing is checked while it is built; ``validate()`` is called before anything is sent.
public struct HTTPRequest: Sendable {
    /// The method, its case kept.
    public var method: HTTPMethod
    /// The URL exactly as given. Text that can't be a URL is an error of the transfer, never a trap.
    public var url: String
    /// Fields to send, in order.
    public var headers: HTTPHeaders
    /// What to send after the head.
    public var body: HTTPBody

    /// All that is below; nil while none of it was set, which keeps most requests small.
    private var settings: Settings?

    /// Makes a request for a URL that is text.
    public init(_ method: HTTPMethod, _ url: String, headers: HTTPHeaders = [:], body: HTTPBody = .none) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }

    /// Makes a request for a URL.
    public init(_ method: HTTPMethod, _ url: URL, headers: HTTPHeaders = [:], body: HTTPBody = .none) {
        self.init(method, url.absoluteString, headers: headers, body: body)
    }

    /// Makes a `GET` request for a URL that is text.
    public init(_ url: String, headers: HTTPHeaders = [:]) {
        self.init(.get, url, headers: headers)
    }

    /// Makes a `GET` request for a URL.
    public init(_ url: URL, headers: HTTPHeaders = [:]) {
        self.init(.get, url, headers: headers)
    }

    /// ``url`` as a URL, nil if it can't be one.
    public var parsedURL: URL? { URL(string: url) }

    /// The URL's scheme in lower case.
    public var scheme: String? { URLText(url).scheme.map { ASCII.lowercased($0) } }

    /// The URL's host as given, an IPv6 address without its brackets.
    public var host: String? { URLText(url).host.map(String.init) }

    /// The URL's port, or its scheme's; nil if there is neither.
    public var port: Int? {
        let parts = URLText(url)
        guard parts.portText?.isEmpty ?? true else { return parts.port }
        return switch scheme {
        case "http": 80
        case "https": 443
        default: nil
        }
    }
}

// MARK: - How it differs from what the session does

extension HTTPRequest {
    /// Time limits; each that is nil is the session's.
    public var timeouts: Timeouts {
        get { settings?.values.timeouts ?? Timeouts() }
        set { update { $0.timeouts = newValue } }
    }

    /// Size limits; each that is nil is the session's.
    public var limits: Limits {
        get { settings?.values.limits ?? Limits() }
        set { update { $0.limits = newValue } }
    }

    /// What to do with a redirect; nil for the session's policy.
    public var redirectPolicy: RedirectPolicy? {
        get { settings?.values.redirectPolicy }
        set { update { $0.redirectPolicy = newValue } }
    }

    /// The wished version of HTTP; nil for the session's.
    public var httpVersion: HTTPVersionPreference? {
        get { settings?.values.httpVersion }
        set { update { $0.httpVersion = newValue } }
    }

    /// Whether to ask for compressed bodies and decode them; nil for the session's.
    public var decompressesBody: Bool? {
        get { settings?.values.decompressesBody }
        set { update { $0.decompressesBody = newValue } }
    }

    /// 0 (last) to 1 (first) among the requests of the session that wait for a connection, and HTTP/2's weight.
    public var priority: Float? {
        get { settings?.values.priority }
        set { update { $0.priority = newValue } }
    }

    /// Bytes per second at most; each that is nil is the session's.
    public var rateLimit: RateLimit {
        get { settings?.values.rateLimit ?? RateLimit() }
        set { update { $0.rateLimit = newValue } }
    }

    /// Whether the server is asked before a body is sent; nil for the session's.
    public var continueExpectation: ContinueExpectation? {
        get { settings?.values.continueExpectation }
        set { update { $0.continueExpectation = newValue } }
    }

    /// Decides whether the body of the response is wanted, and where it goes; nil for the session's
    /// ``HTTPSessionManager/responseHandler``. Downloads, which have a destination, and server-sent events don't ask.
    public var responseHandler: ResponseHandler? {
        get { settings?.values.responseHandler }
        set { update { $0.responseHandler = newValue } }
    }

    /// Whether to wait for a route instead of failing without one; nil as the session says.
    public var waitsForConnectivity: Bool? {
        get { settings?.values.waitsForConnectivity }
        set { update { $0.waitsForConnectivity = newValue } }
    }

    /// The proxy of all its hops; nil for the session's choice.
    public var proxy: Proxy? {
        get { settings?.values.proxy }
        set { update { $0.proxy = newValue } }
    }

    /// A Unix-domain socket that all its hops go to, whatever host their URLs name: a path, or `@` and a name in the
    /// abstract namespace. Empty for none, nil for the session's. No proxy is asked then; both are an error.
    public var unixSocket: String? {
        get { settings?.values.unixSocket }
        set { update { $0.unixSocket = newValue } }
    }

    /// Of what the user looks at, for ``HTTPCookie/AcceptPolicy/onlyFromMainDocumentDomain``; nil for the request's own URL.
    public var mainDocumentURL: String? {
        get { settings?.values.mainDocumentURL }
        set { update { $0.mainDocumentURL = newValue } }
    }

    /// Who to be for the server, if it asks or, if that is ``Credential/isPreemptive``, at once. Nil as the session says.
    public var credential: Credential? {
        get { settings?.values.credential }
        set { update { $0.credential = newValue } }
    }

    /// The same for the http proxy that is asked first, instead of user and password of its URL. Connections that are made
    /// with it serve this request alone.
    public var proxyCredential: Credential? {
        get { settings?.values.proxyCredential }
        set { update { $0.proxyCredential = newValue } }
    }

    /// What `URLRequest` says about caches, cookies and radios.
    public var hints: Hints {
        get { settings?.values.hints ?? Hints() }
        set { update { $0.hints = newValue } }
    }

    /// Adapts this request and decides about repeating it, before the session's
    /// ``HTTPSessionManager/interceptor`` does. Nil for that alone.
    public var interceptor: (any RequestInterceptor)? {
        get { settings?.values.interceptor }
        set { update { $0.interceptor = newValue } }
    }

    /// Whether the response tells what the server has shown of itself: ``DataResponse/trust``, ``DownloadResponse/trust``,
    /// ``StreamedResponse/trust``, or that of the ``SessionTask``.
    public var reportsTrust: Bool {
        get { settings?.values.reportsTrust ?? false }
        set { update { $0.reportsTrust = newValue } }
    }

    /// Whether anything of it was set.
    var hasSettings: Bool { settings != nil }

    private mutating func update(_ change: (inout Settings.Values) -> Void) {
        var values = settings?.values ?? Settings.Values()
        change(&values)
        settings = Settings(values)
    }

    /// Shared by copies of a request, and never changed.
    private final class Settings: Sendable {
        struct Values: Sendable {
            var timeouts = Timeouts()
            var limits = Limits()
            var redirectPolicy: RedirectPolicy?
            var httpVersion: HTTPVersionPreference?
            var decompressesBody: Bool?
            var priority: Float?
            var rateLimit = RateLimit()
            var continueExpectation: ContinueExpectation?
            var responseHandler: ResponseHandler?
            var waitsForConnectivity: Bool?
            var proxy: Proxy?
            var unixSocket: String?
            var mainDocumentURL: String?
            var credential: Credential?
            var proxyCredential: Credential?
            var hints = Hints()
            var interceptor: (any RequestInterceptor)?
            var reportsTrust = false
        }

        let values: Values

        init(_ values: Values) {
            self.values = values
        }
    }
}

extension HTTPRequest {
    /// Three limits, independent of each other. Nil is the session's; zero is none at all.
    public struct Timeouts: Hashable, Sendable, Codable {
        /// Time for name resolution, TCP and TLS together.
        public var connect: Duration?
        /// Time without a single byte in either direction.
        public var idle: Duration?
        /// Time from the start to the end, over all redirects and repeats.
        public var total: Duration?

        /// Makes limits; those left out are the session's.
        public init(connect: Duration? = nil, idle: Duration? = nil, total: Duration? = nil) {
            self.connect = connect
            self.idle = idle
            self.total = total
        }
    }

    /// Sizes beyond which a transfer ends with ``SessionError/Code/tooLarge``. Nil is the session's.
    public struct Limits: Hashable, Sendable {
        /// Bytes of the body after decoding.
        public var maximumBodySize: Int64?
        /// Bytes of all heads of one exchange, interim ones and trailers included.
        public var maximumHeaderBytes: Int?
        /// Fields of one head.
        public var maximumHeaderCount: Int?

        /// Makes limits; those left out are the session's.
        public init(
            maximumBodySize: Int64? = nil,
            maximumHeaderBytes: Int? = nil,
            maximumHeaderCount: Int? = nil
        ) {
            self.maximumBodySize = maximumBodySize
            self.maximumHeaderBytes = maximumHeaderBytes
            self.maximumHeaderCount = maximumHeaderCount
        }
    }
}

/// What happens when a server redirects.
public struct RedirectPolicy: Hashable, Sendable {
    /// Redirects that are followed; one more is ``SessionError/Code/redirect``. Zero makes the first one an error.
    public var maximumCount: Int
    /// False if the 3xx response is the answer.
    public var followsRedirects: Bool
    /// Whether a redirect may go from https to http, where anybody on the way can read.
    public var allowsInsecureDowngrade: Bool

    /// Makes a policy; what is left out is as in ``follow``.
    public init(maximumCount: Int = 20, followsRedirects: Bool = true, allowsInsecureDowngrade: Bool = false) {
        self.maximumCount = maximumCount
        self.followsRedirects = followsRedirects
        self.allowsInsecureDowngrade = allowsInsecureDowngrade
    }

    /// At most 20, never from https to http.
    public static let follow = RedirectPolicy()
    /// The 3xx response is the answer.
    public static let doNotFollow = RedirectPolicy(followsRedirects: false)

    /// At most `count`, never from https to http.
    public static func follow(atMost count: Int) -> RedirectPolicy {
        RedirectPolicy(maximumCount: count)
    }
}

extension HTTPRequest: CustomStringConvertible {
    /// Method and URL without user information and query.
    public var description: String {
        "\(method) \(URLText(url).redacted)"
    }
}
