public import FoundationEssentials

/// Decides which servers are trusted. The policy of a session never changes, because a connection accepted by one
/// policy must never carry a request made under another. Setting ``HTTPSessionManager/securityPolicy`` makes a new
/// session.
///
/// ```swift
/// let policy = SecurityPolicy(
///     pinningMode: .certificate, pinnedCertificates: try SecurityPolicy.certificates(inFolder: "certificates"))
/// ```
///
/// A chain is first verified against the anchors. Then a pin must match the verified chain. docs/trust.md describes all
/// rules.
public struct SecurityPolicy: Hashable, Sendable, Codable {
    /// The trust anchors.
    public var anchors: TrustAnchors

    /// Whether the system's anchors are used in addition to ``anchors``. Default: false.
    public var keepsSystemAnchors = false

    /// Intermediate certificates (DER or PEM), for servers that don't send theirs. They aren't trusted themselves.
    /// Default: none.
    public var intermediates: [Data] = []

    /// Certificate revocation lists (DER or PEM). If there are any, one must cover the server's certificate. Empty data
    /// is refused with ``SessionError/Code/invalidInput``. Default: none.
    public var revocationLists: [Data] = []

    /// Whether ``revocationLists`` must also cover the intermediates. Default: false.
    public var checksRevocationOfAuthorities = false

    /// Whether stapled OCSP responses are used. Default: ``OCSPStapling/ignored``.
    public var ocsp = OCSPStapling.ignored

    /// OpenSSL's security level, 1 to 5. Nil uses 2: 112 bits (RSA 2048, SHA-256). Default: nil.
    public var securityLevel: Int?

    /// The date for which certificates are verified; nil uses the current one. Default: nil.
    public var verificationDate: Date?

    /// The pins of hosts without a rule. Requests over http to a host with pins fail, unless the pins have expired or
    /// are only reported. Default: none.
    public var pinning = Pinning()

    /// Whether to accept chains that fail verification: expired, unknown issuer, self-signed. The host name is still
    /// checked, and only a pin of the server's own key, or a chain to a pinned certificate, matches.
    public var allowsInvalidCertificates: Bool

    /// Whether the certificate must be for the request's host. If not, responses under a name that the certificate
    /// doesn't have aren't stored in an HTTP cache, nor is their Strict-Transport-Security.
    public var validatesDomainName: Bool

    /// Rules for single hosts. The most specific one applies. Default: none.
    public var rules: [HostRule] = []

    /// Called with the report of each full TLS handshake (not of resumed ones), and may change the decision. Not
    /// encoded. Default: nil.
    public var handler: TrustHandler?

    private enum CodingKeys: CodingKey {
        case anchors, keepsSystemAnchors, intermediates, revocationLists, checksRevocationOfAuthorities, ocsp
        case securityLevel, verificationDate, pinning, allowsInvalidCertificates, validatesDomainName, rules
    }

    /// Creates a policy without pins.
    public init(
        anchors: TrustAnchors = .system,
        allowsInvalidCertificates: Bool = false,
        validatesDomainName: Bool = true
    ) {
        self.anchors = anchors
        self.allowsInvalidCertificates = allowsInvalidCertificates
        self.validatesDomainName = validatesDomainName
    }

    /// Creates a policy that pins certificates. Without certificates, a mode other than none refuses every server.
    ///
    /// - Parameters:
    ///   - pinningMode: How a chain must match the certificates.
    ///   - pinnedCertificates: Certificates, each DER or PEM.
    public init(pinningMode: PinningMode, pinnedCertificates: Set<Data> = Set()) {
        self.init()
        pinning.mode = pinningMode
        pinning.certificates = pinnedCertificates
    }

    /// The system's anchors, with all checks.
    public static let `default` = SecurityPolicy()

    /// The comparison of the certificates in ``pinnedCertificates``.
    public var pinningMode: PinningMode {
        get { pinning.mode }
        set { pinning.mode = newValue }
    }

    /// The pinned certificates, each DER or PEM.
    public var pinnedCertificates: Set<Data> {
        get { pinning.certificates }
        set { pinning.certificates = newValue }
    }
}

/// The comparison of pinned certificates.
public enum PinningMode: String, Hashable, Sendable, Codable {
    /// No pinning. A policy with pins in this mode is invalid.
    case none
    /// Compares public keys.
    case publicKey
    /// Compares whole certificates. They are also the anchors of a second verification.
    case certificate
}

extension SecurityPolicy {
    /// The pins, and how a chain must match them.
    public struct Pinning: Hashable, Sendable, Codable {
        /// The comparison of ``certificates``. Default: public keys if there are pins, else none.
        public var mode: PinningMode {
            get { chosenMode ?? (certificates.isEmpty && keys.isEmpty ? .none : .publicKey) }
            set { chosenMode = newValue }
        }
        /// Certificates, each DER or PEM. Default: none.
        // Not a literal, which would compile the code to insert elements, a large one for `Data`.
        public var certificates = Set<Data>()
        /// Public keys as `sha256//BASE64` of the SubjectPublicKeyInfo, including backup pins. Used in both modes.
        /// Default: none.
        public var keys: [String] = []
        /// The certificates of a verified chain that must be pinned. Default: any.
        public var match = Match.any
        /// Pins aren't enforced after this date: a verified chain without a matching pin is accepted and reported, and
        /// requests over http are sent.
        /// Default: nil, never.
        public var expires: Date?
        /// Report-only: a verified chain without a matching pin is accepted and reported, and requests over http are
        /// sent. Default: false.
        public var onlyReports = false

        private var chosenMode: PinningMode?

        private enum CodingKeys: String, CodingKey {
            case chosenMode = "mode"
            case certificates, keys, match, expires, onlyReports
        }

        /// Creates an empty set of pins.
        public init() {}

        /// Creates pins from certificates, keys, or both. If both are empty, no server is trusted, because a list that
        /// was read from a file may be empty by mistake.
        ///
        /// - Parameters:
        ///   - mode: Nil compares public keys.
        ///   - certificates: Certificates, each DER or PEM.
        ///   - keys: Public keys, each as `sha256//BASE64`.
        public init(mode: PinningMode? = nil, certificates: Set<Data> = Set(), keys: [String] = []) {
            chosenMode = mode ?? (certificates.isEmpty && keys.isEmpty ? .publicKey : nil)
            self.certificates = certificates
            self.keys = keys
        }
    }

    /// The certificates of a verified chain that must be pinned.
    public enum Match: String, Hashable, Sendable, Codable {
        /// One of them must be pinned.
        case any
        /// The server's own must be pinned.
        case leaf
        /// All of them must be pinned.
        case all
    }

    /// The settings for a host, used instead of the policy's.
    public struct HostRule: Hashable, Sendable, Codable {
        /// A name, `*.` and a name (the star stands for one label), or an address; internationalised names as A-labels.
        public var host: String
        /// Whether the rule also applies to all subdomains of ``host``.
        public var includesSubdomains: Bool
        /// The pins for the host.
        public var pinning: Pinning
        /// Replaces ``SecurityPolicy/allowsInvalidCertificates`` for the host. Default: false.
        public var allowsInvalidCertificates = false
        /// Replaces ``SecurityPolicy/validatesDomainName`` for the host. Default: true.
        public var validatesDomainName = true

        /// Creates a rule with all checks.
        public init(_ host: String, includesSubdomains: Bool = false, pinning: Pinning = Pinning()) {
            self.host = host
            self.includesSubdomains = includesSubdomains
            self.pinning = pinning
        }
    }

    /// The use of stapled OCSP responses (RFC 6066 8). A chain that is accepted without being verified needs none.
    public enum OCSPStapling: String, Hashable, Sendable, Codable {
        /// Stapled responses aren't requested.
        case ignored
        /// A stapled response must be good. It is required if the certificate demands it (must-staple, RFC 7633).
        case checked
        /// A good stapled response is required.
        case required
    }
}

/// The certificates that a chain must lead to.
public enum TrustAnchors: Hashable, Sendable, Codable {
    /// The system's authorities.
    case system
    /// The given certificates, as PEM, instead of the system's.
    case pem(Data)
    /// The certificates of the PEM or DER file, or of all `.cer` files of the folder, at a path, instead of the
    /// system's. Read when the session is made.
    case file(String)
}

extension SecurityPolicy {
    /// Verifies a chain as in a handshake with a host, without a network. OCSP isn't checked.
    ///
    /// - Parameters:
    ///   - chain: DER certificates; the server's first, the others in any order.
    ///   - host: The host name; nil skips the check.
    /// - Returns: The report of an accepted chain.
    /// - Throws: ``SessionError/Code/untrusted``, with the reason and ``SessionError/trust``;
    ///   ``SessionError/Code/invalidInput`` for an invalid chain or policy.
    @discardableResult
    public func evaluate(_ chain: [Data], host: String? = nil) throws(SessionError) -> TrustReport {
        try coreReport(on: chain, host: host)
    }

    /// Reads the certificates of all `.cer` files in a folder, each as PEM.
    ///
    /// - Throws: ``SessionError/Code/file`` for an unreadable folder, ``SessionError/Code/invalidInput`` for a file
    ///   without a certificate.
    public static func certificates(inFolder path: String) throws(SessionError) -> Set<Data> {
        let end = "-----END CERTIFICATE-----\n"
        return Set(try pemOfCertificates(at: path).split(separator: end).map { Data(($0 + end).utf8) })
    }

    /// Reads the certificates of all `.cer` files in the folder of a file URL.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` if it isn't a file URL; otherwise as with a path.
    public static func certificates(inFolder url: URL) throws(SessionError) -> Set<Data> {
        try certificates(inFolder: url.filePath(of: "folder of certificates"))
    }
}
