public import FoundationEssentials

/// A request: what to send, and the settings that differ from the session's.
///
/// Nothing is checked while it is built; ``validate()`` is called before it is sent.
public struct HTTPRequest: Sendable {
    /// The method.
    public var method: HTTPMethod
    /// The URL as given, absolute or relative to the manager's base URL. An invalid URL is an error when the request is
    /// sent.
    public var url: String
    /// The header fields, in order.
    public var headers: HTTPHeaders
    /// The body.
    public var body: HTTPBody

    /// The settings that override the session's; nil while none is set, which keeps most requests small.
    private var settings: Settings?

    /// Creates a request.
    public init(_ method: HTTPMethod, _ url: some URLConvertible, headers: HTTPHeaders = [:], body: HTTPBody = .none) {
        self.method = method
        self.url = url.urlText
        self.headers = headers
        self.body = body
    }

    /// Creates a `GET` request.
    public init(_ url: some URLConvertible, headers: HTTPHeaders = [:]) {
        self.init(.get, url, headers: headers)
    }

    /// ``url`` as a `URL`; nil if it is invalid.
    public var parsedURL: URL? { URL(string: url) }

    /// The scheme, in lower case.
    public var scheme: String? { URLText(url).scheme.map { ASCII.lowercased($0) } }

    /// The host as given; an IPv6 address without brackets.
    public var host: String? { URLText(url).host.map(String.init) }

    /// The port, 1 to 65535, or the default port of the scheme; nil if there is neither.
    public var port: Int? { URLText(url).port }
}

extension HTTPRequest: ExpressibleByStringInterpolation {
    /// Creates a `GET` request for a URL in a literal, as in `manager.stream("log")`.
    public init(stringLiteral url: String) {
        self.init(url)
    }
}

// MARK: - Settings that override the session's

extension HTTPRequest {
    /// Time limits; nil uses the session's.
    public var timeouts: Timeouts {
        get { settings?.values.timeouts ?? Timeouts() }
        set { ownSettings().values.timeouts = newValue }
    }

    /// Size limits; a transfer that exceeds one fails with ``SessionError/Code/tooLarge``. Nil uses the limit of the
    /// ``SessionConfiguration``; zero counts as 1.
    public var limits: Limits {
        get { settings?.values.limits ?? Limits() }
        set { ownSettings().values.limits = newValue }
    }

    /// The redirect policy; nil uses the session's.
    public var redirectPolicy: RedirectPolicy? {
        get { settings?.values.redirectPolicy }
        set { ownSettings().values.redirectPolicy = newValue }
    }

    /// The preferred version of HTTP; nil uses the session's.
    public var httpVersion: HTTPVersionPreference? {
        get { settings?.values.httpVersion }
        set { ownSettings().values.httpVersion = newValue }
    }

    /// Whether to request compressed bodies and decode them; nil uses the session's setting. With a `Range`, no
    /// compression is requested, and a part (206) isn't decoded, because it is a part of the encoded body (RFC 9110
    /// 14.2).
    public var decompressesBody: Bool? {
        get { settings?.values.decompressesBody }
        set { ownSettings().values.decompressesBody = newValue }
    }

    /// The priority among waiting requests of the session, such as `.high` or `0.8`; nil is ``Priority/normal``. Also
    /// the HTTP/2 weight: 1 for 0, the default 16 for 0.5, and 255 for 1 (RFC 7540 5.3).
    public var priority: Priority? {
        get { settings?.values.priority }
        set { ownSettings().values.priority = newValue }
    }

    /// Rate limits; nil uses the session's.
    public var rateLimit: RateLimit {
        get { settings?.values.rateLimit ?? RateLimit() }
        set { ownSettings().values.rateLimit = newValue }
    }

    /// When to send `Expect: 100-continue`; nil uses the session's setting.
    public var continueExpectation: ContinueExpectation? {
        get { settings?.values.continueExpectation }
        set { ownSettings().values.continueExpectation = newValue }
    }

    /// Decides what to do with the body when the head of the response arrives; nil uses
    /// ``HTTPSessionManager/responseHandler``. Not called for downloads with a destination and for server-sent events.
    public var responseHandler: ResponseHandler? {
        get { settings?.values.responseHandler }
        set { ownSettings().values.responseHandler = newValue }
    }

    /// Whether to wait for a network route instead of failing without one; nil uses the session's setting.
    public var waitsForConnectivity: Bool? {
        get { settings?.values.waitsForConnectivity }
        set { ownSettings().values.waitsForConnectivity = newValue }
    }

    /// Whether to wait for a request of the same session that is already receiving the same cacheable response, and to
    /// use that response; nil uses the session's setting, ``SessionConfiguration/collapsesRequests``.
    public var collapsesRequests: Bool? {
        get { settings?.values.collapsesRequests }
        set { ownSettings().values.collapsesRequests = newValue }
    }

    /// The proxy of all hops; nil uses the session's. A proxy other than ``Proxy/direct`` fails with
    /// ``SessionError/Code/invalidInput`` if the request or the session has a Unix-domain socket.
    public var proxy: Proxy? {
        get { settings?.values.proxy }
        set { ownSettings().values.proxy = newValue }
    }

    /// The Unix-domain socket of all hops, whatever host their URLs name: a path, or `@` and a name in the abstract
    /// namespace. Empty for none; nil uses the session's. Can't be combined with ``proxy``. Cookies belong to the URL's
    /// host, as over TCP, so use a different host or session for each socket.
    public var unixSocket: String? {
        get { settings?.values.unixSocket }
        set { ownSettings().values.unixSocket = newValue }
    }

    /// Whether cookies of the session's storage are sent in addition to those of the request's `Cookie` fields, except
    /// those with the same names. They are chosen again for each hop: after redirects, challenges and upgrades to
    /// https. Default: false, the request's fields replace them.
    public var mergesCookies: Bool {
        get { settings?.values.mergesCookies ?? false }
        set { ownSettings().values.mergesCookies = newValue }
    }

    /// The URL of the top-level document, for ``Cookie/AcceptPolicy/onlyFromMainDocumentDomain``; nil uses the
    /// request's URL.
    public var mainDocumentURL: String? {
        get { settings?.values.mainDocumentURL }
        set { ownSettings().values.mainDocumentURL = newValue }
    }

    /// The credential for the server, sent in response to a challenge, or at once if it is ``Credential/isPreemptive``.
    /// Nil uses the session's.
    public var credential: Credential? {
        get { settings?.values.credential }
        set { ownSettings().values.credential = newValue }
    }

    /// The credential for the http proxy, instead of the user and password in its URL. Connections opened with it
    /// aren't reused.
    public var proxyCredential: Credential? {
        get { settings?.values.proxyCredential }
        set { ownSettings().values.proxyCredential = newValue }
    }

    /// The settings of `URLRequest` for caching, cookies and kinds of networks.
    public var hints: Hints {
        get { settings?.values.hints ?? Hints() }
        set { ownSettings().values.hints = newValue }
    }

    /// The request's own interceptors, which come before ``HTTPSessionManager/interceptors``.
    public var interceptors: [any RequestInterceptor] {
        get { settings?.values.interceptors ?? [] }
        set { ownSettings().values.interceptors = newValue }
    }

    /// Whether a ``RetryPolicy`` may retry the request. Default: true. Other interceptors decide for themselves: a
    /// ``BearerAuthenticator`` still repeats a request that was refused, with a new token.
    public var allowsRetries: Bool {
        get { settings?.values.allowsRetries ?? true }
        set { ownSettings().values.allowsRetries = newValue }
    }

    /// Called for each 1xx response, in addition to ``HTTPSessionManager/informationalHandler``.
    public var informationalHandler: InformationalHandler? {
        get { settings?.values.informationalHandler }
        set { ownSettings().values.informationalHandler = newValue }
    }

    /// Whether the response has a trust report: ``Response/trust``, ``DownloadResponse/trust``,
    /// ``StreamedResponse/trust``, or that of the ``SessionTask``.
    public var reportsTrust: Bool {
        get { settings?.values.reportsTrust ?? false }
        set { ownSettings().values.reportsTrust = newValue }
    }

    /// Whether any setting was changed.
    var hasSettings: Bool { settings != nil }

    /// Returns the settings, after they have been copied if another request shares them (copy on write).
    // Not inlined, because each setter would contain the code that copies all settings, 3 KB.
    @inline(never)
    private mutating func ownSettings() -> Settings {
        if isKnownUniquelyReferenced(&settings), let settings { return settings }
        let own = Settings(settings?.values ?? Settings.Values())
        settings = own
        return own
    }

    /// The settings that override the session's. Shared by copies of a request.
    // Sendable, because the object is changed only while no other request shares it.
    final class Settings: @unchecked Sendable {
        struct Values: Sendable {
            var timeouts = Timeouts()
            var limits = Limits()
            var redirectPolicy: RedirectPolicy?
            var httpVersion: HTTPVersionPreference?
            var decompressesBody: Bool?
            var priority: Priority?
            var rateLimit = RateLimit()
            var continueExpectation: ContinueExpectation?
            var responseHandler: ResponseHandler?
            var waitsForConnectivity: Bool?
            var collapsesRequests: Bool?
            var proxy: Proxy?
            var unixSocket: String?
            var mainDocumentURL: String?
            var mergesCookies = false
            var credential: Credential?
            var proxyCredential: Credential?
            var hints = Hints()
            var interceptors: [any RequestInterceptor] = []
            var allowsRetries = true
            var informationalHandler: InformationalHandler?
            var reportsTrust = false
        }

        var values: Values

        init(_ values: Values) {
            self.values = values
        }
    }
}

extension HTTPRequest {
    /// Three independent time limits.
    ///
    /// Where a limit is nil, the next level's applies: the request's, the request serializer's, the manager's
    /// (``HTTPSessionManager/timeouts``), the configuration's (``SessionConfiguration/timeouts``), and finally 30 s to
    /// connect, 60 s without data, and no limit in total. Zero is no limit.
    public struct Timeouts: Hashable, Sendable, Codable {
        /// The time for name resolution, TCP and TLS together. Waiting for one of the
        /// ``SessionConfiguration/maximumConnectionsPerHost`` connections isn't counted.
        public var connect: Duration?
        /// The time without a byte in either direction, once there is a connection.
        public var idle: Duration?
        /// The time from start to end, including all redirects, retries and waiting.
        public var total: Duration?

        /// Creates limits; nil uses the next level's.
        public init(connect: Duration? = nil, idle: Duration? = nil, total: Duration? = nil) {
            self.connect = connect
            self.idle = idle
            self.total = total
        }

        /// The limits that apply where all levels are nil.
        package static let standard = Timeouts(connect: .seconds(30), idle: .seconds(60))
    }

    /// Size limits; a transfer that exceeds one fails with ``SessionError/Code/tooLarge``. Zero counts as 1;
    /// a negative limit is ``SessionError/Code/invalidInput``. Nil uses the limit of the ``SessionConfiguration``.
    public struct Limits: Hashable, Sendable, Codable {
        /// The maximum size of the body in bytes, after decoding. Nil: the configuration's for a body in memory, no
        /// limit for a stream or a file. Default: nil.
        public var maximumBodySize: Int64?
        /// The maximum size of the heads and trailers of a hop in bytes, including informational responses. Default:
        /// nil, the session's.
        public var maximumHeaderBytes: Int?
        /// The maximum number of fields of a hop's heads and trailers. Default: nil, the session's.
        public var maximumHeaderCount: Int?

        /// Creates limits.
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

/// The policy for redirects.
public struct RedirectPolicy: Hashable, Sendable, Codable {
    /// The maximum number of redirects; one more fails with ``SessionError/Code/redirect``. Zero fails on the first
    /// one. Default: 20.
    public var maximumCount: Int
    /// Whether redirects are followed; otherwise the 3xx response is returned. Default: true.
    public var followsRedirects: Bool
    /// Whether to follow a redirect from https to http, whose traffic can be read by anyone on the network path.
    /// Default: false.
    public var allowsInsecureDowngrade: Bool

    /// Creates a policy; the defaults are those of ``follow``.
    public init(maximumCount: Int = 20, followsRedirects: Bool = true, allowsInsecureDowngrade: Bool = false) {
        self.maximumCount = maximumCount
        self.followsRedirects = followsRedirects
        self.allowsInsecureDowngrade = allowsInsecureDowngrade
    }

    /// Follows at most 20 redirects, never from https to http.
    public static let follow = RedirectPolicy()
    /// Follows no redirects; the 3xx response is returned.
    public static let doNotFollow = RedirectPolicy(followsRedirects: false)

    /// Follows at most `count` redirects, never from https to http.
    public static func follow(atMost count: Int) -> RedirectPolicy {
        RedirectPolicy(maximumCount: count)
    }
}

extension HTTPRequest.Timeouts {
    /// Sets unset time limits from `defaults`.
    mutating func fillGaps(from defaults: HTTPRequest.Timeouts) {
        connect = connect ?? defaults.connect
        idle = idle ?? defaults.idle
        total = total ?? defaults.total
    }
}

extension HTTPRequest {
    /// Whether a credential of the request is to be stored for the session after it has answered a challenge.
    var mayStoreCredential: Bool {
        credential?.persistence == .forSession || proxyCredential?.persistence == .forSession
    }
}

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
    /// Method and URL without user information and query.
    public var description: String {
        "\(method) \(URLText(url).redacted)"
    }

    /// Replaces the default mirror, which would show what ``description`` hides.
    public var customMirror: Mirror {
        Mirror(self, children: ["description": description, "headers": headers, "body": body.description])
    }
}
