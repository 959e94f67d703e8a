public import FoundationEssentials

/// A policy's verdict on a chain of certificates, with what it was made of.
public struct TrustReport: Hashable, Sendable {
    /// Whether the server is trusted, faults that were let through aside.
    public var isAccepted: Bool
    /// Why not; also there if a chain with a fault was let through.
    public var reason: SessionError.Reason?
    /// The place in ``chain`` of the certificate at fault; 0 is the server's own.
    public var depth: Int
    /// One line for people; empty if nothing is wrong.
    public var message: String
    /// What pinning had to say.
    public var pins: PinOutcome
    /// Whether ``chain`` is the path that was verified. Otherwise it is what the server sent, and worth as much.
    public var isVerified: Bool
    /// As it was compared: in lower case, without a final dot. Empty if no name was.
    public var host: String
    /// The server's own first.
    public var chain: [TrustCertificate]

    /// What pinning had to say about a chain.
    public enum PinOutcome: String, Hashable, Sendable {
        /// Nothing is pinned for the host, or it didn't come to that.
        case none
        /// The chain has what it must of what is pinned.
        case matched
        /// Refused for it.
        case missed
        /// Missed, and let through because the pins had expired.
        case expired
        /// Missed, and let through because they only report.
        case reported
    }
}

/// One certificate of a chain. What can't be printed is escaped in its texts.
public struct TrustCertificate: Hashable, Sendable {
    /// The certificate itself.
    public var der: Data
    /// A distinguished name, RFC 4514.
    public var subject: String
    /// A distinguished name, RFC 4514.
    public var issuer: String
    /// Hexadecimal.
    public var serial: String
    /// Kind and size of the public key: "RSA 2048".
    public var key: String
    /// The algorithm that signed it.
    public var signature: String
    /// When it begins to be valid.
    public var notBefore: Date
    /// When it ends to be valid.
    public var notAfter: Date
    /// Alternative names: DNS names and addresses as they stand, others with their kind before a colon.
    public var names: [String]
    /// `sha256//` and the base64 of its public key's digest, ready to be pinned.
    public var pin: String
    /// SHA-256 of the certificate, hexadecimal.
    public var fingerprint: String
}

/// Has the last word on a policy's verdicts. Two are equal if they are the same object.
public final class TrustHandler: Sendable, Hashable {
    /// What a handler says.
    public enum Decision: Hashable, Sendable {
        /// The policy's verdict stands.
        case keep
        case accept
        case refuse
    }

    let decide: @Sendable (TrustReport) -> Decision

    /// - Parameter decide: Called inside the handshake, on the session's thread, before anything of the request is
    ///   sent. It must not block. A handshake whose stapled OCSP answer is then refused asks once more.
    public init(_ decide: @escaping @Sendable (TrustReport) -> Decision) {
        self.decide = decide
    }

    public static func == (a: TrustHandler, b: TrustHandler) -> Bool { a === b }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

/// A report where most have none: one word instead of many.
final class SharedTrustReport: Sendable {
    let report: TrustReport

    init(_ report: TrustReport) {
        self.report = report
    }
}
