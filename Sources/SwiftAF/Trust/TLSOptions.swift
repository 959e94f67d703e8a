public import FoundationEssentials

/// How a session speaks TLS, and as whom.
public struct TLSOptions: Hashable, Sendable {
    /// The lowest version spoken.
    public var minimumVersion = Version.v1_2
    /// The highest version spoken; nil for what OpenSSL has.
    public var maximumVersion: Version?
    /// An OpenSSL cipher list for TLS 1.2; nil for the system's.
    public var ciphers: String?
    /// The suites for TLS 1.3; nil for OpenSSL's.
    public var cipherSuites: String?
    /// Shown to servers that ask for one.
    public var clientCertificates: [ClientCertificate] = []
    /// Asked, before ``clientCertificates`` are looked at, when a server wants a certificate.
    public var clientCertificateHandler: ClientCertificateHandler?
    /// Lets the environment's SSLKEYLOGFILE have the keys of every connection. Whoever reads that file reads the
    /// connections.
    public var logsKeys = false

    public init() {}

    /// A version of TLS. Older ones are not spoken (RFC 8996).
    public enum Version: Hashable, Sendable {
        case v1_2, v1_3
    }
}

/// A certificate and its key that are shown to servers that ask for one. Neither key nor password are in its
/// description.
public struct ClientCertificate: Hashable, Sendable {
    enum Source: Hashable, Sendable {
        case data(certificate: Data, key: Data?)
        case files(certificate: String, key: String?)
    }

    /// The only host that sees it: a name, `*.` and a name, or an address. Nil for every one without a certificate of
    /// its own.
    public var host: String?
    /// Whether the names below ``host`` see it too, at any depth.
    public var includesSubdomains = false

    let source: Source
    let password: String?

    /// A certificate in memory.
    ///
    /// - Parameters:
    ///   - certificate: PEM, with its authorities behind it; or PKCS #12, with the key.
    ///   - key: PEM or DER; nil if it is in `certificate`.
    ///   - password: Of the key or the PKCS #12 file.
    public init(_ certificate: Data, key: Data? = nil, password: String? = nil, host: String? = nil) {
        source = .data(certificate: certificate, key: key)
        self.password = password
        self.host = host
    }

    /// A certificate in files like the data above, which are read when the session is made.
    public init(path: String, keyPath: String? = nil, password: String? = nil, host: String? = nil) {
        source = .files(certificate: path, key: keyPath)
        self.password = password
        self.host = host
    }
}

/// A server wants to know who we are.
public struct ClientCertificateRequest: Hashable, Sendable {
    /// The host that was connected to, in lower case.
    public var host: String
    /// The names of the authorities whose certificates it accepts, as RFC 4514 writes them; empty if it doesn't say.
    public var authorities: [String]

    public init(host: String, authorities: [String] = []) {
        self.host = host
        self.authorities = authorities
    }
}

/// Chooses a client certificate when a server asks for one. Two are equal if they are the same object.
public final class ClientCertificateHandler: Sendable, Hashable {
    /// What a handler says.
    public enum Decision: Hashable, Sendable {
        /// As if there was no handler: the one of ``TLSOptions/clientCertificates`` for the host.
        case performDefaultHandling
        /// This one, whatever its host. One that can't be read ends the connection with
        /// ``SessionError/Code/invalidInput``.
        case show(ClientCertificate)
        /// None; the server decides what follows.
        case decline
        /// No connection: the requests that wait for it are cancelled.
        case cancel
    }

    let decide: @Sendable (ClientCertificateRequest) -> Decision

    /// - Parameter decide: Called inside the handshake, on the session's thread, before anything of the request is
    ///   sent. It must not block. What it says is good for the connection and for those that resume its TLS session.
    public init(_ decide: @escaping @Sendable (ClientCertificateRequest) -> Decision) {
        self.decide = decide
    }

    public static func == (a: ClientCertificateHandler, b: ClientCertificateHandler) -> Bool { a === b }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

extension ClientCertificate: CustomStringConvertible, CustomReflectable {
    public var description: String { "ClientCertificate(host: \(host ?? "any"))" }

    public var customMirror: Mirror { Mirror(self, children: ["host": host as Any]) }
}
