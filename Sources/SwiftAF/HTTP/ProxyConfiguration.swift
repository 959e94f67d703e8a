/// Which proxies a session goes through, chosen anew for every request and every redirect.
///
/// A proxy is written `[http|https|socks5|socks5h]://[user[:password]@]host[:port]`, without a scheme it is http. With socks5
/// names are looked up here, with socks5h by the proxy; to https servers an http proxy makes a tunnel. User and
/// password, percent-encoded, go to the proxy alone. A proxy that is asked over https is judged by
/// ``SessionConfiguration/proxySecurity``.
public struct ProxyConfiguration: Hashable, Sendable {
    /// Where the proxies are named.
    public enum Source: Hashable, Sendable {
        /// The variables http_proxy, https_proxy, all_proxy and no_proxy, as they are when the session is made; in
        /// capitals, too, but HTTP_PROXY not under CGI, where a client can set it. Never for this very host.
        case environment
        /// The values here.
        case given
        /// Every server is reached directly.
        case none
    }

    /// Where the proxies are named.
    public var source: Source
    /// For URLs that begin with http.
    public var http: String?
    /// For URLs that begin with https.
    public var https: String?
    /// For URLs of either kind that have none of their own.
    public var all: String?
    /// Hosts to be reached directly, as in no_proxy, and instead of it if the rest is the environment's: names with all
    /// that is below them, addresses, networks (`10.0.0.0/8`), each with a port if need be, or `*` for all. Separated by
    /// commas or spaces.
    public var bypass: String?

    public init(
        _ source: Source = .given, http: String? = nil, https: String? = nil, all: String? = nil,
        bypass: String? = nil
    ) {
        self.source = source
        self.http = http
        self.https = https
        self.all = all
        self.bypass = bypass
    }

    /// What the environment says.
    public static let environment = ProxyConfiguration(.environment)
    /// No proxies.
    public static let none = ProxyConfiguration(.none)
}

extension HTTPRequest {
    /// The proxy of one request, with connections of its own.
    public enum Proxy: Hashable, Sendable {
        /// None at all.
        case none
        /// One as ``ProxyConfiguration`` has it.
        case url(String)
    }
}
