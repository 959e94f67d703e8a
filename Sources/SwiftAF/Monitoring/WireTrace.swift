/// The heads that were sent and received, including libcurl's own fields, and their connections. Reported for each
/// redirect, authentication round, retry and CONNECT.
///
/// Secrets are redacted: `<hidden>` replaces the values of secret fields (``HTTPHeaders/Field/isSecret``), and URLs
/// have no user information. HTTP/2 heads are written like those of HTTP/1.1, with the version `HTTP/2`, names in lower
/// case and `host` for `:authority`.
public struct WireTrace: Sendable, Hashable {
    /// A traced event.
    public enum Event: Sendable, Hashable {
        /// The connection of the following request heads. If its TLS handshake failed, no head follows.
        case connection(Connection)
        /// The complete head of a request, as sent, with line ends.
        case requestHead([UInt8])
        /// One line of a response's head or trailers, with its end; the empty one ends them.
        case responseLine([UInt8])
    }

    /// A connection, as far as it is known when it is about to be used, or when its TLS handshake failed.
    public struct Connection: Sendable, Hashable {
        /// The remote address; nil for a Unix-domain socket.
        public var address: String?
        /// The peer's port.
        public var port: Int
        /// Whether the address is a proxy's.
        public var isProxy: Bool
        /// Whether the connection was taken from the pool.
        public var isReused: Bool
        /// The TLS version, such as `TLSv1.3`; nil without TLS.
        public var tlsVersion: String?
        /// OpenSSL's name of the cipher suite; nil without TLS.
        public var cipher: String?
        /// The protocol that ALPN selected, such as `h2`; nil for none.
        public var applicationProtocol: String?
        /// The subject of the peer's certificate as a distinguished name (RFC 4514); nil without one.
        public var certificateSubject: String?

        /// Creates a value, for tests of monitors.
        public init(
            address: String?, port: Int, isProxy: Bool = false, isReused: Bool = false, tlsVersion: String? = nil,
            cipher: String? = nil, applicationProtocol: String? = nil, certificateSubject: String? = nil
        ) {
            self.address = address
            self.port = port
            self.isProxy = isProxy
            self.isReused = isReused
            self.tlsVersion = tlsVersion
            self.cipher = cipher
            self.applicationProtocol = applicationProtocol
            self.certificateSubject = certificateSubject
        }
    }

    /// What was sent, received or connected.
    public var event: Event
    /// The index that its hop will have in ``ResponseMetrics/hops``.
    public var hop: Int
    /// Whether the event belongs to a CONNECT: to the request, its response, or the connection for them.
    public var isTunnel: Bool

    /// Creates a value, for tests of monitors.
    public init(_ event: Event, hop: Int = 0, isTunnel: Bool = false) {
        self.event = event
        self.hop = hop
        self.isTunnel = isTunnel
    }
}
