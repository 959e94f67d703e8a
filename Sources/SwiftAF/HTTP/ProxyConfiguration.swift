/// The proxies of a session, chosen for each request and each redirect.
///
/// A proxy is written `[http|https|socks5|socks5h]://[user[:password]@]host[:port]`. The default scheme is http. With
/// socks5, names are resolved by this machine, with socks5h by the proxy. Requests to https servers use a tunnel
/// through an http or https proxy. User and password are percent-encoded, and are sent to the proxy only.
/// ``SessionConfiguration/proxySecurityPolicy`` decides whether an https proxy is trusted.
public struct ProxyConfiguration: Hashable, Sendable {
    /// Where the proxies are configured.
    public enum Source: Hashable, Sendable {
        /// The environment variables http_proxy, https_proxy, all_proxy and no_proxy, also in capitals, read when the
        /// session is made. HTTP_PROXY is ignored under CGI, where a client can set it. No proxy is used for the
        /// loopback host.
        case environment
        /// The proxies of the properties ``http``, ``https`` and ``all``.
        case given
        /// No proxies.
        case direct
    }

    /// Where the proxies are configured.
    public var source: Source
    /// The proxy for http URLs. Default: nil.
    public var http: String?
    /// The proxy for https URLs. Default: nil.
    public var https: String?
    /// The proxy for URLs without one above. Default: nil.
    public var all: String?
    /// Hosts that are connected to directly, as in no_proxy, which it replaces: names with their subdomains, addresses,
    /// networks (`10.0.0.0/8`), each optionally with a port, or `*` for all; separated by commas or spaces. Default:
    /// nil, which leaves `no_proxy` in effect with the source ``Source/environment``.
    public var bypass: String?

    /// Creates a configuration. Proxies may be given with the source ``Source/given`` only.
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

    /// The proxies of the environment.
    public static let environment = ProxyConfiguration(.environment)
    /// No proxies.
    public static let direct = ProxyConfiguration(.direct)

    /// One proxy for all URLs, such as `http://proxy.example.org:3128`.
    ///
    /// - Parameters:
    ///   - url: The proxy, written as described above.
    ///   - bypass: Hosts that are connected to directly; see ``bypass``. Nil for none.
    public static func url(_ url: String, bypass: String? = nil) -> ProxyConfiguration {
        ProxyConfiguration(all: url, bypass: bypass)
    }
}

extension HTTPRequest {
    /// The proxy of one request. Its connections aren't shared with other requests.
    public enum Proxy: Hashable, Sendable {
        /// No proxy.
        case direct
        /// A proxy, written as in ``ProxyConfiguration``.
        case url(String)
    }
}

extension ProxyConfiguration: CustomStringConvertible, CustomReflectable {
    /// The source and the proxies, without their users and passwords.
    public var description: String {
        let proxies = [("http", http), ("https", https), ("all", all)].compactMap { name, url in
            url.map { "\(name): \(HTTPRequest.Proxy.url($0))" }
        }
        return (["\(source)"] + proxies + (bypass.map { ["bypass: \($0)"] } ?? [])).joined(separator: ", ")
    }

    /// Replaces the default mirror, which would show what ``description`` hides.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension HTTPRequest.Proxy: CustomStringConvertible, CustomReflectable {
    /// The proxy without user and password.
    public var description: String {
        switch self {
        case .direct: "direct"
        case .url(let url): Self.withoutUserInfo(url)
        }
    }

    /// Removes everything up to the last `@`, except a scheme. The core reads a proxy in the same way, because the text
    /// isn't a URL: it may lack the scheme, and the password may contain `/`, `?`, `#` and `@`.
    private static func withoutUserInfo(_ url: String) -> String {
        guard let mark = url.utf8.lastIndex(of: UInt8(ascii: "@")) else { return url }
        let host = url[url.utf8.index(after: mark)...]
        // In "user:pass://word@host", the text before the slashes isn't a scheme.
        guard let slashes = url.utf8.firstRange(of: "://".utf8), slashes.upperBound <= mark,
            schemes.contains(ASCII.lowercased(url[..<slashes.lowerBound]))
        else { return String(host) }
        return String(url[..<slashes.upperBound] + host)
    }

    private static let schemes = ["http", "https", "socks5", "socks5h"]

    /// Replaces the default mirror, which would show what ``description`` hides.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
