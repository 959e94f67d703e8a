/// What a credential is for: a realm of a server or proxy, and the scheme in which it asks.
public struct ProtectionSpace: Hashable, Sendable {
    /// Whether a proxy asks.
    public var isProxy: Bool
    /// "http" or "https".
    public var scheme: String
    /// A name or an address; that of IPv6 without its brackets.
    public var host: String
    /// The scheme's own if the URL names none.
    public var port: Int
    /// Empty if there is none.
    public var realm: String
    /// The strongest scheme that could be answered.
    public var authenticationScheme: AuthenticationSchemes

    public init(
        isProxy: Bool = false, scheme: String, host: String, port: Int, realm: String,
        authenticationScheme: AuthenticationSchemes
    ) {
        self.isProxy = isProxy
        self.scheme = scheme
        self.host = host
        self.port = port
        self.realm = realm
        self.authenticationScheme = authenticationScheme
    }
}

/// A 401 of a server, or a 407 of a proxy, that asks who we are.
public struct AuthenticationChallenge: Sendable {
    /// Who asks, and for what.
    public let protectionSpace: ProtectionSpace
    /// Every scheme that is offered and could be answered.
    public let offeredSchemes: AuthenticationSchemes
    /// How many credentials the protection space has refused to this transfer.
    public let previousFailureCount: Int
    /// What ``ChallengeDisposition/performDefaultHandling`` would use; nil if there is nothing.
    public internal(set) var proposedCredential: Credential?
    /// The head of the 401 or 407.
    public let response: HTTPResponse
}

/// What to do about an ``AuthenticationChallenge``.
public enum ChallengeDisposition: Sendable {
    /// Answer with this, if a challenge fits it; otherwise the 401 or 407 is the response.
    case useCredential(Credential)
    /// As if nobody had been asked: use what is proposed; without that the 401 or 407 is the response.
    case performDefaultHandling
    /// End with ``SessionError/Code/cancelled``.
    case cancel
    /// End with this error if it is a ``SessionError``; with one of code ``SessionError/Code/authentication`` that has
    /// it as ``SessionError/underlying`` if it is another.
    case fail(any Error)
}

/// Answers challenges. It may take its time: nothing but this transfer waits for it, and its time limit in total counts
/// on. It is cancelled when the transfer ends. What it throws is as ``ChallengeDisposition/fail(_:)``.
public typealias AuthenticationChallengeHandler =
    @Sendable (AuthenticationChallenge) async throws -> ChallengeDisposition

/// Keeps credentials between tasks: a keyring, for example. A ``MemoryCredentialStorage`` forgets them with the
/// process.
public protocol CredentialStorage: Sendable {
    /// The credential for a protection space; nil if there is none.
    func credential(for space: ProtectionSpace) async -> Credential?
    /// Keeps one of ``Credential/Persistence/forSession``, instead of what was kept for that space.
    func store(_ credential: Credential, for space: ProtectionSpace) async
    /// Forgets what is kept for a space.
    func removeCredential(for space: ProtectionSpace) async
}
