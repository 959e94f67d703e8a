/// The configuration of a session. Changing a copy doesn't affect a session that was made with it.
public struct SessionConfiguration: Hashable, Sendable {
    /// The initial ``HTTPSessionManager/timeouts``. Default: 30 s to connect, 60 s without data, no limit in total,
    /// also for a limit that is nil. Zero is no limit.
    public var timeouts = HTTPRequest.Timeouts.standard

    /// The default size limits of requests.
    public var limits = Limits()

    /// The default speed limits of requests, per transfer. Default: no limit.
    public var rateLimit = HTTPRequest.RateLimit()

    /// When to send `Expect: 100-continue` before a body (RFC 9110 10.1.1). Default:
    /// ``HTTPRequest/ContinueExpectation/automatic``.
    public var continueExpectation = HTTPRequest.ContinueExpectation.automatic

    /// Whether a request without a route to its host waits for one, instead of failing with
    /// ``SessionError/Code/connect``. Without a route to the internet this also applies to ``SessionError/Code/dns``.
    /// The total time limit keeps running, and cancelling ends the wait. Default: false.
    public var waitsForConnectivity = false

    /// The maximum number of simultaneous connections per host; further requests wait, limited only by
    /// ``HTTPRequest/Timeouts/total``. A stream has a connection until it ends. At least 1; nil means no limit.
    /// Default: 6.
    public var maximumConnectionsPerHost: Int? = 6

    /// The maximum number of simultaneous connections in total; further requests wait. At least 1. Nil, the
    /// default, means no limit.
    public var maximumConnections: Int?

    /// The maximum number of idle connections kept for reuse. Zero means that connections aren't reused. Default: 64.
    public var maximumIdleConnections = 64

    /// The idle time after which a connection isn't reused, rounded up to whole seconds; it is closed within seconds
    /// then, as is one that the server has closed. Zero means that connections aren't reused. Default: 60 s.
    public var idleConnectionLifetime: Duration = .seconds(60)

    /// The age from which a connection isn't reused, rounded up to whole seconds. Nil, the default, and zero mean no
    /// limit.
    public var maximumConnectionAge: Duration?

    /// The number of requests after which a connection is closed. An HTTP/2 connection that still has requests in
    /// flight takes more, and is closed after the last one. At least 1. Nil, the default, means no limit.
    public var maximumRequestsPerConnection: Int?

    /// The default User-Agent. Nil, the default, sends the names of the program and the system; an empty string sends
    /// no such field.
    public var userAgent: String?

    /// The initial ``HTTPSessionManager/headers``, in addition to ``DefaultHeaders/all``. To leave out a default, call
    /// `headers.suppressDefault("Accept-Language")`.
    public var headers: HTTPHeaders = [:]

    /// The handling of redirects. Default: ``RedirectPolicy/follow``, at most 20.
    public var redirectPolicy = RedirectPolicy.follow

    /// The preferred version of HTTP. Default: ``HTTPVersionPreference/automatic``.
    public var httpVersion = HTTPVersionPreference.automatic

    /// Whether to request and decode compressed bodies. Default: true.
    public var decompressesBodies = true

    /// The proxies between the session and its servers. Default: those of the environment.
    public var proxies = ProxyConfiguration.environment

    /// The trust policy for https proxies, independent of ``securityPolicy``. No request is sent to a proxy that isn't
    /// trusted. Default: ``SecurityPolicy/default``.
    public var proxySecurityPolicy = SecurityPolicy.default

    /// Network options: DNS, addresses, interfaces, sockets.
    public var network = NetworkOptions()

    /// The store of cookies; nil disables cookies. A request with its own `Cookie` header sends only that. Default:
    /// nil.
    public var cookieStorage: CookieStorage?

    /// The policy for accepting cookies of servers. Default: ``Cookie/AcceptPolicy/always``.
    public var cookieAcceptPolicy = Cookie.AcceptPolicy.always

    /// The default credential, sent to the base URL's origin only, or to every server if the manager has no base URL. A
    /// request's own credential takes precedence.
    public var credential: Credential?

    /// The default credential for http proxies; overrides user and password of their URLs. Connections opened with it
    /// aren't reused, unlike those opened with user and password of a URL, which are sent as Basic.
    public var proxyCredential: Credential?

    /// The HSTS store (RFC 6797): http URLs of known hosts are upgraded before sending. Nil disables HSTS. Default:
    /// nil.
    public var hsts: HSTSStore?

    /// The HTTP cache; nil disables caching. Several sessions may use the same cache. Responses to requests with
    /// different credentials are kept apart, unless they are public: `Authorization`, a ``Credential``, the names of
    /// keys (such as `X-Api-Key`; see ``HTTPHeaders/Field/isSecret``), and header fields that are marked secret,
    /// but not cookies. Responses over https are used only under the same ``securityPolicy``. Default: nil.
    public var cache: HTTPCache?

    /// Whether a request waits for another one of this session that is already receiving the same response, if that may
    /// be stored in the ``cache``, and then uses it if it fits. Of many such requests at the same time, only one is
    /// sent to the server.
    ///
    /// The wait lasts until the other request has completed, also while the reader of its stream pauses it, or until
    /// the ``HTTPRequest/Timeouts/total`` limit of the waiting request. If the other request is cancelled or reaches a
    /// limit of its own, one of the waiting requests takes its place. No effect without a cache. Default: false.
    public var collapsesRequests = false

    /// Separates the responses of this session from those of others with the same cache: sessions of other users, with
    /// another client certificate, with ``network`` options that lead to other servers (host overrides, a Unix socket),
    /// or with another ``SecurityPolicy/handler``. For other differences of ``securityPolicy`` no partition is needed:
    /// they keep responses apart by themselves. At most 255 bytes without a line feed. Default: nil.
    public var cachePartition: String?

    /// The initial trust policy for servers; see ``HTTPSessionManager/securityPolicy``. Default:
    /// ``SecurityPolicy/default``.
    public var securityPolicy = SecurityPolicy.default

    /// The TLS options: versions, ciphers, client certificates.
    public var tls = TLSOptions()

    /// Creates the default configuration.
    public init() {}

    /// The default configuration, the same as `SessionConfiguration()`.
    public static let `default` = SessionConfiguration()
}

extension SessionConfiguration {
    /// Size limits. Exceeding one fails with ``SessionError/Code/tooLarge``. Zero counts as 1; a negative limit fails
    /// every request with ``SessionError/Code/invalidInput``. For no limit of the body, set `.max`.
    public struct Limits: Hashable, Sendable, Codable {
        /// The maximum size of a body in memory, in bytes after decoding. Streamed bodies and bodies saved to a file
        /// are limited by their request only. Default: 64 MiB.
        public var maximumBodySize: Int64 = 64 << 20
        /// The maximum size of the heads and trailers of a hop in bytes, including informational responses. Default:
        /// 256 KiB.
        public var maximumHeaderBytes = 256 << 10
        /// The maximum number of fields of a hop's heads and trailers; with libcurl before 8.18, continuation lines
        /// (obs-fold, RFC 9112 5.2) count, too. Default: 512.
        public var maximumHeaderCount = 512
        /// The maximum number of informational (1xx) responses before the final one. Default: 16.
        public var maximumInformationalResponses = 16
        /// The maximum ratio of decoded to compressed size, checked beyond the first MiB. Default: 250.
        public var maximumDecodingRatio = 250

        /// Creates the default limits.
        public init() {}
    }
}

extension SessionConfiguration {
    /// The initial headers of a manager.
    var allHeaders: HTTPHeaders {
        var headers = headers
        if let userAgent, !headers.contains(named: .userAgent) {
            // With an empty one the core sends no User-Agent.
            if !userAgent.isEmpty { headers.set(name: .userAgent, value: userAgent) }
            headers.fillGap(name: .acceptLanguage, value: DefaultHeaders.acceptLanguage)
        } else {
            headers.fillGaps(from: DefaultHeaders.all)
        }
        return headers
    }
}

extension SessionConfiguration {
    /// A description of the first setting that is out of range; nil if all are valid.
    var fault: String? {
        let counts = [
            (limits.maximumBodySize, "the body limit"), (Int64(limits.maximumHeaderBytes), "the header size limit"),
            (Int64(limits.maximumHeaderCount), "the header count limit"),
            (Int64(limits.maximumInformationalResponses), "the limit of informational responses"),
            (Int64(limits.maximumDecodingRatio), "the decoding ratio"),
            (Int64(maximumIdleConnections), "the number of idle connections"),
        ]
        for (count, name) in counts {
            if let fault = count.fault(below: 0, name) { return fault }
        }
        let optionalCounts = [
            (maximumConnectionsPerHost, "the number of connections per host"),
            (maximumConnections, "the number of connections"),
            (maximumRequestsPerConnection, "the number of requests per connection"),
        ]
        for (count, name) in optionalCounts {
            if let fault = count?.fault(below: 1, name) { return fault + ", or nil for no limit" }
        }
        return idleConnectionLifetime.faultIfNegative("the lifetime of idle connections")
            ?? maximumConnectionAge?.faultIfNegative("the age of connections")
            ?? timeouts.fault ?? rateLimit.fault ?? redirectPolicy.fault ?? network.fault
    }
}
