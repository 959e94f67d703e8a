/// The network options of a session. They apply to all of its connections.
public struct NetworkOptions: Hashable, Sendable {
    /// The addresses of a host name on a port. The name isn't resolved.
    public struct HostOverride: Hashable, Sendable {
        /// The host name in ASCII, case-insensitive, without regard to a trailing dot; `*` for every name.
        public var host: String
        /// The port of the server, or of the proxy with this name.
        public var port: UInt16
        /// IPv4 and IPv6 addresses, tried in this order.
        public var addresses: [String]

        /// Creates an override for one host and port.
        public init(host: String, port: UInt16, addresses: [String]) {
            self.host = host
            self.port = port
            self.addresses = addresses
        }
    }

    /// The address families to use.
    public enum IPVersion: Hashable, Sendable {
        /// Both: IPv6 first, and IPv4 in parallel after a delay (RFC 8305).
        case any
        /// IPv4 only.
        case v4
        /// IPv6 only.
        case v6
    }

    /// Address overrides. Default: none.
    public var hostOverrides: [HostOverride] = []
    /// DNS servers instead of the system's: addresses, optionally with ports. ``SessionError/Code/unsupported`` if
    /// libcurl has no c-ares. Default: empty, the system's.
    public var dnsServers: [String] = []
    /// The https URL of a DNS over HTTPS server (RFC 8484), without a fallback: if it fails, the request fails with
    /// ``SessionError/Code/dns``. It is verified by the session's policy. A host name in the URL is resolved by the
    /// system, unless it has an override. ``SessionError/Code/unsupported`` together with ``interface`` or
    /// ``SessionConfiguration/maximumConnections``, or if the environment names a proxy for this server that the
    /// session doesn't use: libcurl would send the queries through it. Default: nil.
    public var dnsOverHTTPS: String?
    /// The address families to use. No effect over a Unix-domain socket. Default: both.
    public var ipVersion = IPVersion.any
    /// The delay before IPv4 is tried in parallel to IPv6: up to a minute. Less than a millisecond counts as one; nil
    /// uses libcurl's default of 200 ms (CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS).
    public var happyEyeballsDelay: Duration?
    /// The local interface or address to connect from: `if!NAME`, `host!ADDRESS`, or either without a prefix
    /// (CURLOPT_INTERFACE). ``SessionError/Code/unsupported`` together with ``dnsOverHTTPS``. Default:
    /// nil, any.
    public var interface: String?
    /// The Unix-domain socket of every connection; see ``HTTPRequest/unixSocket``. Default: nil.
    public var unixSocket: String?
    /// Whether only public addresses are connected to, for programs that fetch untrusted URLs. A private, loopback,
    /// link-local or otherwise special address fails with ``SessionError/Code/connect``, on every hop; it is checked
    /// when the connection is opened, and nothing is sent. A request that would go through a proxy of the environment
    /// fails with ``SessionError/Code/unsupported``: set ``SessionConfiguration/proxies``, to
    /// ``ProxyConfiguration/direct`` or to a proxy that blocks private addresses itself. Requests through a proxy that
    /// you set and over Unix-domain sockets aren't checked. Default: false.
    public var allowsOnlyPublicAddresses = false

    /// Creates the default options.
    public init() {}

    /// A description of the delay if it is out of range; nil if it is valid.
    var fault: String? {
        guard let delay = happyEyeballsDelay, !(.zero ... .seconds(60)).contains(delay) else { return nil }
        return "the delay before IPv4 is tried is \(delay.fractionalSeconds) s: expected 0 to 60"
    }
}
