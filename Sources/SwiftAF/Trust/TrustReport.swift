public import FoundationEssentials

/// The evaluation of a certificate chain by a policy: the decision, its reason, and the chain.
public struct TrustReport: Hashable, Sendable {
    /// Whether the server is trusted.
    public var isAccepted: Bool
    /// The reason of a refusal; also set if a chain was accepted in spite of a fault.
    public var reason: SessionError.Reason?
    /// The index in ``chain`` of the faulty certificate; 0 is the server's.
    public var depth: Int
    /// A message in one line; empty without a fault.
    public var message: String
    /// The result of pinning.
    public var pinning: PinOutcome
    /// Whether ``chain`` is the verified path; otherwise it is the unverified list that the server sent.
    public var isVerified: Bool
    /// The host name as it was compared: in lower case, without a trailing dot. Empty if it wasn't checked.
    public var host: String
    /// The certificates; the server's first.
    public var chain: [TrustCertificate]

    /// Creates a report, for tests of a ``TrustHandler`` or of code that shows reports.
    public init(
        isAccepted: Bool, reason: SessionError.Reason? = nil, depth: Int = 0, message: String = "",
        pinning: PinOutcome = .none, isVerified: Bool = true, host: String = "", chain: [TrustCertificate] = []
    ) {
        self.isAccepted = isAccepted
        self.reason = reason
        self.depth = depth
        self.message = message
        self.pinning = pinning
        self.isVerified = isVerified
        self.host = host
        self.chain = chain
    }

    /// The result of pinning for a chain.
    public enum PinOutcome: String, Hashable, Sendable {
        /// Nothing is pinned for the host, or pinning wasn't reached.
        case none
        /// The chain matches the pins.
        case matched
        /// The chain doesn't match and was refused.
        case missed
        /// The chain doesn't match and was accepted, because the pins have expired.
        case expired
        /// The chain doesn't match and was accepted, because of report-only mode.
        case reported
    }
}

/// A certificate of a chain. Unprintable characters in its texts are escaped.
public struct TrustCertificate: Hashable, Sendable {
    /// The certificate as DER.
    public var der: Data
    /// A distinguished name (RFC 4514).
    public var subject: String
    /// A distinguished name (RFC 4514).
    public var issuer: String
    /// The serial number, in hexadecimal.
    public var serial: String
    /// The kind and size of the public key, such as "RSA 2048".
    public var key: String
    /// The signature algorithm.
    public var signature: String
    /// The start of the validity.
    public var notBefore: Date
    /// The end of the validity.
    public var notAfter: Date
    /// Subject alternative names: DNS names and addresses; others with their type and a colon.
    public var names: [String]
    /// The pin of the public key: `sha256//BASE64`.
    public var pin: String
    /// The SHA-256 digest of the certificate, in hexadecimal.
    public var fingerprint: String

    /// Creates the description of a certificate, for tests. The texts need not be those of `der`.
    public init(
        der: Data = Data(), subject: String, issuer: String, serial: String = "", key: String = "",
        signature: String = "", notBefore: Date = .distantPast, notAfter: Date = .distantFuture, names: [String] = [],
        pin: String = "", fingerprint: String = ""
    ) {
        self.der = der
        self.subject = subject
        self.issuer = issuer
        self.serial = serial
        self.key = key
        self.signature = signature
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.names = names
        self.pin = pin
        self.fingerprint = fingerprint
    }
}

/// A handler that may change a policy's decisions. Handlers are equal if they are the same object.
public final class TrustHandler: Sendable, Hashable {
    /// The decision of a handler.
    public enum Decision: Hashable, Sendable {
        /// Keep the policy's decision.
        case keep
        /// Accept the server.
        case accept
        /// Refuse the server, with the reason `handler`.
        case refuse
    }

    /// The decision about a report. Called by the session; a test can call it, too.
    public let decide: @Sendable (TrustReport) -> Decision

    /// Creates a handler that may change decisions.
    ///
    /// - Parameter decide: Called during the handshake, on the session's network thread, before the request is sent.
    ///   Must not block. Called again if the stapled OCSP response is refused afterwards.
    public init(_ decide: @escaping @Sendable (TrustReport) -> Decision) {
        self.decide = decide
    }

    public static func == (a: TrustHandler, b: TrustHandler) -> Bool { a === b }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

/// Holds a report in an object, so that an optional report is one word: most responses have none.
final class SharedTrustReport: Sendable {
    let report: TrustReport

    init(_ report: TrustReport) {
        self.report = report
    }
}
