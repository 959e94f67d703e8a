public import FoundationEssentials

/// TLS options of a session, with its client certificates.
public struct TLSOptions: Hashable, Sendable {
    /// The minimum version. Default: TLS 1.2.
    public var minimumVersion = Version.v1_2
    /// The maximum version; nil uses OpenSSL's. Default: nil.
    public var maximumVersion: Version?
    /// OpenSSL's cipher list for TLS 1.2; nil uses the system's. Default: nil.
    public var ciphers: String?
    /// The cipher suites for TLS 1.3; nil uses OpenSSL's. Default: nil.
    public var cipherSuites: String?
    /// Client certificates, sent to servers that request one. Default: none.
    public var clientCertificates: [ClientCertificate] = []
    /// Called when a server requests a certificate, before ``clientCertificates`` are used. Default: nil.
    public var clientCertificateHandler: ClientCertificateHandler?
    /// Whether to write the TLS keys of every connection to the file named by the environment variable SSLKEYLOGFILE.
    /// With that file, anyone can decrypt the connections. Default: false.
    public var writesKeyLog = false

    /// Creates the default options.
    public init() {}

    /// A version of TLS. Older ones aren't supported (RFC 8996).
    public enum Version: Hashable, Sendable {
        /// TLS 1.2 (RFC 5246).
        case v1_2
        /// TLS 1.3 (RFC 8446).
        case v1_3
    }
}

/// A client certificate with its key, sent to servers that request one. Its description contains neither key nor
/// password.
public struct ClientCertificate: Hashable, Sendable {
    enum Source: Hashable, Sendable {
        case data(certificate: Data, key: Data?)
        case files(certificate: String, key: String?)
    }

    /// The host that the certificate is sent to: a name, `*.` and a name, or an address. Nil means all hosts without a
    /// certificate of their own.
    public var host: String?
    /// Whether the certificate is also sent to all subdomains of ``host``. Default: false.
    public var includesSubdomains = false

    let source: Source
    let password: String?

    /// Creates a certificate from memory.
    ///
    /// - Parameters:
    ///   - certificate: PEM, optionally followed by intermediates; or PKCS #12 with the key.
    ///   - key: PEM or DER; nil if it is in `certificate`.
    ///   - password: The password of the key or of the PKCS #12 data.
    ///   - host: The host that it is sent to; see ``host``.
    public init(_ certificate: Data, key: Data? = nil, password: String? = nil, host: String? = nil) {
        source = .data(certificate: certificate, key: key)
        self.password = password
        self.host = host
    }

    /// Creates a certificate from files in the same formats, which are read when the session is made.
    public init(path: String, keyPath: String? = nil, password: String? = nil, host: String? = nil) {
        source = .files(certificate: path, key: keyPath)
        self.password = password
        self.host = host
    }

    /// Creates a certificate from the files of file URLs.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` if one isn't a file URL.
    public init(path: URL, keyPath: URL? = nil, password: String? = nil, host: String? = nil) throws(SessionError) {
        var keyFile: String?
        if let keyPath { keyFile = try keyPath.filePath(of: "key") }
        self.init(
            path: try path.filePath(of: "client certificate"), keyPath: keyFile, password: password, host: host)
    }
}

/// A server's request for a client certificate.
public struct ClientCertificateRequest: Hashable, Sendable {
    /// The host, in lower case.
    public var host: String
    /// The names of the accepted authorities (RFC 4514); empty if the server names none.
    public var authorities: [String]

    /// Creates a request, for tests of a handler.
    public init(host: String, authorities: [String] = []) {
        self.host = host
        self.authorities = authorities
    }
}

/// Chooses a client certificate when a server requests one. Handlers are equal if they are the same object.
public final class ClientCertificateHandler: Sendable, Hashable {
    /// The decision of a handler.
    public enum Decision: Hashable, Sendable {
        /// Use the certificate of ``TLSOptions/clientCertificates`` for the host.
        case performDefaultHandling
        /// Use this certificate, whatever its host. If it is invalid, the connection fails with
        /// ``SessionError/Code/invalidInput``.
        case show(ClientCertificate)
        /// Send no certificate; the server may accept or refuse that.
        case decline
        /// Close the connection: the requests that wait for it are cancelled.
        case cancel
    }

    /// The decision about a request for a certificate. Called by the session; a test can call it, too.
    public let decide: @Sendable (ClientCertificateRequest) -> Decision

    /// Creates a handler that chooses a certificate for each connection.
    ///
    /// - Parameter decide: Called during the handshake, on the session's network thread, before the request is sent.
    ///   Must not block. The decision applies to the connection and to those that resume its TLS session.
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
