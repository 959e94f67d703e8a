public import FoundationEssentials

/// Which servers are trusted. A session has one for its life, because a connection that one policy accepted must
/// never serve a request made under another; ``HTTPSessionManager/securityPolicy`` makes a new session of it.
///
/// ```swift
/// let policy = SecurityPolicy(
///     pinningMode: .certificate, pinnedCertificates: try SecurityPolicy.certificates(inFolder: "certificates"))
/// ```
///
/// A chain is verified against the anchors first. What is pinned then has to be in the verified chain. docs/trust.md
/// tells in full which verdict follows from what.
public struct SecurityPolicy: Hashable, Sendable, Codable {
    /// The certificates that a chain must end in.
    public var anchors: TrustAnchors

    /// Whether the system's anchors count beside those of ``anchors``.
    public var keepsSystemAnchors = false

    /// Certificates (DER or PEM) that may complete a chain, for servers that don't send theirs. They are not trusted.
    public var intermediates: [Data] = []

    /// Revocation lists (DER or PEM). If there are any, one of them must cover the server's certificate.
    public var revocationLists: [Data] = []

    /// Whether ``revocationLists`` must cover the authorities above it too.
    public var checksRevocationOfAuthorities = false

    /// What is done with an OCSP answer that a server sends along.
    public var ocsp = OCSPStapling.ignored

    /// Strength of keys and signatures, 1 to 5 as OpenSSL counts. Nil: 2, which is 112 bits (RSA 2048, SHA-256).
    public var securityLevel: Int?

    /// The moment for which certificates are verified. Nil: now.
    public var verificationDate: Date?

    /// What is pinned for hosts without a rule of their own.
    public var pinning = Pinning()

    /// Accepts chains that do not verify: expired, of an unknown issuer, self-signed. The name is still checked, and
    /// of what is pinned only the server's own key or a chain that ends in a pinned certificate counts.
    public var allowsInvalidCertificates: Bool

    /// Whether the certificate must be for the host that was asked for.
    public var validatesDomainName: Bool

    /// What goes for single hosts instead. Of several that fit, the most specific one does.
    public var rules: [HostRule] = []

    /// Has the last word on every chain. It is not encoded.
    public var handler: TrustHandler?

    private enum CodingKeys: CodingKey {
        case anchors, keepsSystemAnchors, intermediates, revocationLists, checksRevocationOfAuthorities, ocsp
        case securityLevel, verificationDate, pinning, allowsInvalidCertificates, validatesDomainName, rules
    }

    public init(
        anchors: TrustAnchors = .system,
        allowsInvalidCertificates: Bool = false,
        validatesDomainName: Bool = true
    ) {
        self.anchors = anchors
        self.allowsInvalidCertificates = allowsInvalidCertificates
        self.validatesDomainName = validatesDomainName
    }

    /// A policy that pins certificates. Without any, and a mode other than none, it accepts nothing.
    ///
    /// - Parameter pinnedCertificates: Each DER or PEM.
    public init(pinningMode: PinningMode, pinnedCertificates: Set<Data> = []) {
        self.init()
        pinning.mode = pinningMode
        pinning.certificates = pinnedCertificates
    }

    /// The system's certificates, everything checked.
    public static let `default` = SecurityPolicy()

    /// How the certificates in ``pinnedCertificates`` are compared.
    public var pinningMode: PinningMode {
        get { pinning.mode }
        set { pinning.mode = newValue }
    }

    /// Certificates that are pinned, each DER or PEM.
    public var pinnedCertificates: Set<Data> {
        get { pinning.certificates }
        set { pinning.certificates = newValue }
    }
}

/// How pinned certificates are compared.
public enum PinningMode: String, Hashable, Sendable, Codable {
    /// Not at all. A policy that pins something all the same is refused.
    case none
    /// By their public keys.
    case publicKey
    /// Whole. They are also the anchors of a second verification.
    case certificate
}

extension SecurityPolicy {
    /// What is pinned, and how a chain has to match it.
    public struct Pinning: Hashable, Sendable, Codable {
        /// How ``certificates`` are compared.
        public var mode = PinningMode.none
        /// Each DER or PEM.
        public var certificates: Set<Data> = []
        /// Keys as `sha256//BASE64` of their SubjectPublicKeyInfo, backup pins among them. They count in both modes.
        public var keys: [String] = []
        /// Which certificates of a verified chain must be pinned.
        public var match = Match.any
        /// From when on a verified chain that misses the pins is accepted, and the report says so.
        public var expires: Date?
        /// A verified chain that misses the pins is accepted, and the report says so.
        public var onlyReports = false

        public init(mode: PinningMode = .none, certificates: Set<Data> = [], keys: [String] = []) {
            self.mode = mode
            self.certificates = certificates
            self.keys = keys
        }
    }

    /// Which certificates of a verified chain must be pinned.
    public enum Match: String, Hashable, Sendable, Codable {
        /// One, whichever.
        case any
        /// The server's own.
        case leaf
        /// Every one.
        case all
    }

    /// What goes for a host instead of the policy's own settings.
    public struct HostRule: Hashable, Sendable, Codable {
        /// A name, `*.` and a name (one label in place of the star), or an address; international names by their
        /// A-labels.
        public var host: String
        /// Whether the rule goes for names below ``host`` too, at any depth.
        public var includesSubdomains: Bool
        /// What is pinned for the host.
        public var pinning: Pinning
        /// As ``SecurityPolicy/allowsInvalidCertificates``, which doesn't count for the host.
        public var allowsInvalidCertificates = false
        /// As ``SecurityPolicy/validatesDomainName``, which doesn't count for the host.
        public var validatesDomainName = true

        /// Makes a rule that checks everything.
        public init(_ host: String, includesSubdomains: Bool = false, pinning: Pinning = Pinning()) {
            self.host = host
            self.includesSubdomains = includesSubdomains
            self.pinning = pinning
        }
    }

    /// What is done with an OCSP answer that a server sends along with its certificate.
    public enum OCSPStapling: String, Hashable, Sendable, Codable {
        /// It is not asked for.
        case ignored
        /// One that comes, or must come because the certificate says so, has to be good.
        case checked
        /// One must come and be good.
        case required
    }
}

/// Certificates that are trusted to sign others.
public enum TrustAnchors: Hashable, Sendable, Codable {
    /// Those that the system trusts.
    case system
    /// These, in PEM, one or many, instead of the system's.
    case pem(Data)
    /// Those in the PEM or DER file, or the `.cer` files of the folder, at a path, instead of the system's. Read when
    /// the session is made.
    case file(String)
}

extension SecurityPolicy {
    /// Judges a chain as a handshake with a host would, without a network. OCSP is not looked at.
    ///
    /// - Parameters:
    ///   - chain: DER; the server's certificate first, the others in any order.
    ///   - host: Nil compares no name.
    /// - Returns: The verdict's report, if it is accepted.
    /// - Throws: ``SessionError/Code/untrusted``, with the reason and ``SessionError/trust``;
    ///   ``SessionError/Code/invalidInput`` for a chain or a policy that can't be read.
    @discardableResult
    public func evaluate(_ chain: [Data], host: String? = nil) throws(SessionError) -> TrustReport {
        try coreReport(on: chain, host: host)
    }

    /// The certificates of all files in a folder whose names end in `.cer`, each in PEM.
    ///
    /// - Throws: ``SessionError/Code/file`` if it can't be read, ``SessionError/Code/invalidInput`` for a file without
    ///   a certificate.
    public static func certificates(inFolder path: String) throws(SessionError) -> Set<Data> {
        let end = "-----END CERTIFICATE-----\n"
        return Set(try pemOfCertificates(at: path).split(separator: end).map { Data(($0 + end).utf8) })
    }
}
