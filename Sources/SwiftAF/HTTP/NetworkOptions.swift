/// How the hosts of a session are reached. What is here is the same for all of its connections.
public struct NetworkOptions: Hashable, Sendable {
    /// Addresses in place of those that a name has; nobody is asked for it on that port.
    public struct HostOverride: Hashable, Sendable {
        /// A name in ASCII, case and one trailing dot aside; `*` for every one.
        public var host: String
        /// The port of the server, or of the proxy whose name it is.
        public var port: UInt16
        /// IPv4 and IPv6, tried in this order.
        public var addresses: [String]

        public init(host: String, port: UInt16, addresses: [String]) {
            self.host = host
            self.port = port
            self.addresses = addresses
        }
    }

    /// Which addresses of a host are tried.
    public enum IPVersion: Hashable, Sendable {
        /// Both; IPv6 first, and IPv4 beside it when that takes long (RFC 8305).
        case any
        /// Those of IPv4 alone.
        case v4
        /// Those of IPv6 alone.
        case v6
    }

    /// Addresses that are known beforehand.
    public var hostOverrides: [HostOverride] = []
    /// Who is asked for names instead of the system's servers: addresses, each with a port if need be.
    /// ``SessionError/Code/unsupported`` where libcurl has no c-ares.
    public var dnsServers: [String] = []
    /// The https URL of a server that is asked for names (RFC 8484), and nobody else: if that fails, so does the
    /// request, with ``SessionError/Code/dns``. The session's policy judges it. A name in the URL is looked up by the
    /// system, unless it has an override. ``SessionError/Code/unsupported`` together with
    /// ``SessionConfiguration/maximumConnections``.
    public var dnsOverHTTPS: String?
    /// Which addresses of every host are tried.
    public var ipVersion = IPVersion.any
    /// How long IPv6 is tried alone, at most a minute; nil for libcurl's 200 ms.
    public var happyEyeballsDelay: Duration?
    /// Where connections leave this machine: `if!NAME`, a link; `host!ADDRESS`, one of its addresses; without a mark,
    /// what of both it is. Names over HTTPS are not asked for that way.
    public var interface: String?
    /// A Unix-domain socket that every connection goes to; see ``HTTPRequest/unixSocket``.
    public var unixSocket: String?
    /// Whether servers that are reached directly must have public addresses, for programs that fetch what others name: a
    /// host with one that is private, loopback, link-local or otherwise special is ``SessionError/Code/connect``, on every
    /// hop and whatever its name said before, and nothing is sent. What is asked of a proxy is for the proxy to judge.
    public var allowsOnlyPublicAddresses = false

    public init() {}
}
