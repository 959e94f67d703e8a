/// How a session behaves. A value: changing a copy does not change a session that was made with it.
public struct SessionConfiguration: Hashable, Sendable {
    /// Time limits of requests that have none of their own. At first 30 s to connect, 60 s without a byte, and no
    /// limit in total. Nil or zero: no limit.
    public var timeouts = HTTPRequest.Timeouts(connect: .seconds(30), idle: .seconds(60))

    /// Size limits of requests that have none of their own.
    public var limits = Limits()

    /// Bytes per second at most of requests that have no limits of their own. At first none. Of each transfer, not of
    /// all together.
    public var rateLimit = HTTPRequest.RateLimit()

    /// Whether a server is asked before a body is sent.
    public var continueExpectation = HTTPRequest.ContinueExpectation.automatic

    /// Whether a request that finds no route to its host waits for one instead of failing with
    /// ``SessionError/Code/connect``; or, while there is none to the internet, with ``SessionError/Code/dns``. The
    /// total time limit counts on, and cancelling ends the wait.
    public var waitsForConnectivity = false

    /// Connections open at once to one host; further requests wait. Zero: no limit.
    public var maximumConnectionsPerHost = 6

    /// Connections open at once to all hosts; further requests wait. Zero: no limit.
    public var maximumConnections = 0

    /// Connections kept open for reuse while they are idle. Zero: none is reused.
    public var maximumIdleConnections = 64

    /// A connection that was idle for longer is not reused. Counted in whole seconds.
    public var idleConnectionLifetime: Duration = .seconds(60)

    /// The User-Agent of requests that have none. Nil for program and system; empty for none.
    public var userAgent: String?

    /// Fields added to every request that has none of their names, after those of the request serializer.
    public var headers: HTTPHeaders = [:]

    /// How redirects are handled.
    public var redirectPolicy = RedirectPolicy.follow

    /// The wished version of HTTP.
    public var httpVersion = HTTPVersionPreference.automatic

    /// Whether compressed bodies are asked for and decoded.
    public var decompressesBodies = true

    /// Between the session and its servers. At first what the environment says.
    public var proxies = ProxyConfiguration.environment

    /// Which proxies over https are trusted, whatever ``security`` says. A proxy that is refused has heard of no
    /// request.
    public var proxySecurity = SecurityPolicy.default

    /// How hosts are reached: names, addresses, interfaces, sockets.
    public var network = NetworkOptions()

    /// Where cookies are kept and sent from; nil for none. A request with a `Cookie` of its own sends that, and nothing
    /// from here.
    public var cookieStorage: CookieStorage?

    /// Which cookies of servers are kept.
    public var cookieAcceptPolicy = HTTPCookie.AcceptPolicy.always

    /// Who to be for servers, where a request has no credential of its own: for those of the base URL's origin, or for
    /// all if the manager has no base URL.
    public var credential: Credential?

    /// The same for http proxies, instead of user and password of their URLs.
    public var proxyCredential: Credential?

    /// Hosts that want https only; nil to forget what servers say about it.
    public var hsts: HSTSStore?

    /// Which servers are trusted at first; see ``HTTPSessionManager/securityPolicy``.
    public var security = SecurityPolicy.default

    /// Versions of TLS, ciphers, client certificates.
    public var tls = TLSOptions()

    public init() {}

    /// What the initializer gives.
    public static let `default` = SessionConfiguration()
}

extension SessionConfiguration {
    /// Sizes beyond which a transfer ends with ``SessionError/Code/tooLarge``.
    public struct Limits: Hashable, Sendable {
        /// Bytes of a body that is collected in memory, after decoding. Bodies that are streamed or written to a
        /// file are only limited by their request.
        public var maximumBodySize: Int64 = 64 << 20
        /// The maximum size of all heads of an exchange in bytes, including interim responses and trailers.
        public var maximumHeaderBytes = 256 << 10
        /// The maximum number of fields of all heads of an exchange.
        public var maximumHeaderCount = 512
        /// Interim (1xx) responses before the final one.
        public var maximumInterimResponses = 16
        /// Times that a body may be larger decoded than compressed, counted beyond the first MiB.
        public var maximumDecodingRatio = 250

        public init() {}
    }
}

extension SessionConfiguration {
    /// The serializer of a session that is given none.
    var requestSerializer: HTTPRequestSerializer {
        var serializer = HTTPRequestSerializer()
        if let userAgent {
            // The core sends it, or nothing where it is empty.
            serializer.headers.remove(HTTPHeaders.Name.userAgent)
            if !userAgent.isEmpty { serializer.headers.set(name: HTTPHeaders.Name.userAgent, value: userAgent) }
        }
        return serializer
    }
}
