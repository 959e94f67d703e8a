public import FoundationEssentials

/// Which servers a session trusts. Fixed when the session is made, because a connection that one policy accepted
/// must never serve a request made under another.
public struct SecurityPolicy: Hashable, Sendable {
    /// The certificates that a chain must end in.
    public var anchors: TrustAnchors

    /// Accepts chains that do not verify: expired, of an unknown issuer, self-signed. The name is still checked.
    public var allowsInvalidCertificates: Bool

    /// Whether the certificate must be for the host that was asked for.
    public var validatesDomainName: Bool

    public init(
        anchors: TrustAnchors = .system,
        allowsInvalidCertificates: Bool = false,
        validatesDomainName: Bool = true
    ) {
        self.anchors = anchors
        self.allowsInvalidCertificates = allowsInvalidCertificates
        self.validatesDomainName = validatesDomainName
    }

    /// The system's certificates, everything checked.
    public static let `default` = SecurityPolicy()
}

/// Certificates that are trusted to sign others.
public enum TrustAnchors: Hashable, Sendable {
    /// Those that the system trusts.
    case system
    /// These, in PEM, one or many, instead of the system's.
    case pem(Data)
    /// Those in the PEM file at a path, instead of the system's. Read when the session is made.
    case file(String)
}
