/// A protection space (RFC 9110 11.5): a realm of a server or proxy, with the scheme of its challenge.
public struct ProtectionSpace: Hashable, Sendable {
    /// Whether the challenge is from a proxy.
    public var isProxy: Bool
    /// "http" or "https".
    public var scheme: String
    /// A name or an address; an IPv6 address without brackets.
    public var host: String
    /// The port; the scheme's default if the URL has none.
    public var port: Int
    /// The realm; empty without one.
    public var realm: String
    /// The strongest supported scheme.
    public var authenticationScheme: AuthenticationScheme

    /// Creates a protection space from its parts.
    public init(
        isProxy: Bool = false, scheme: String, host: String, port: Int, realm: String,
        authenticationScheme: AuthenticationScheme
    ) {
        self.isProxy = isProxy
        self.scheme = scheme
        self.host = host
        self.port = port
        self.realm = realm
        self.authenticationScheme = authenticationScheme
    }
}

/// An authentication challenge: a 401 of a server or a 407 of a proxy.
public struct AuthenticationChallenge: Sendable {
    /// The protection space.
    public let protectionSpace: ProtectionSpace
    /// All offered schemes that are supported.
    public let offeredSchemes: AuthenticationSchemes
    /// The number of credentials that were refused in this transfer.
    public let previousFailureCount: Int
    /// The credential that ``ChallengeDecision/performDefaultHandling`` uses; nil without one.
    public internal(set) var proposedCredential: Credential?
    /// The head of the 401 or 407.
    public let response: HTTPResponse

    /// Creates a challenge, for tests of an ``AuthenticationChallengeHandler``.
    public init(
        protectionSpace: ProtectionSpace, offeredSchemes: AuthenticationSchemes, previousFailureCount: Int = 0,
        proposedCredential: Credential? = nil, response: HTTPResponse
    ) {
        self.protectionSpace = protectionSpace
        self.offeredSchemes = offeredSchemes
        self.previousFailureCount = previousFailureCount
        self.proposedCredential = proposedCredential
        self.response = response
    }
}

/// The decision about an ``AuthenticationChallenge``.
public enum ChallengeDecision: Sendable {
    /// Answer with this credential, if a challenge supports it; otherwise the 401 or 407 is the response.
    case useCredential(Credential)
    /// Use the proposed credential; without one, the 401 or 407 is the response.
    case performDefaultHandling
    /// Fail with ``SessionError/Code/cancelled``.
    case cancel
    /// Fail with this error if it is a ``SessionError``, else with ``SessionError/Code/authentication`` and this error
    /// as ``SessionError/underlying``.
    case fail(any Error)
}

/// Answers authentication challenges. Only the transfer of the challenge waits for the handler, and its total time
/// limit keeps running. The handler's task is cancelled when the transfer ends. Throwing means
/// ``ChallengeDecision/fail(_:)``.
public typealias AuthenticationChallengeHandler =
    @Sendable (AuthenticationChallenge) async throws -> ChallengeDecision

/// Stores credentials between tasks, for example in a keyring. ``MemoryCredentialStorage`` keeps them in memory.
public protocol CredentialStorage: Sendable {
    /// Returns the credential for a protection space; nil if there is none.
    func credential(for space: ProtectionSpace) async -> Credential?
    /// Stores a credential with ``Credential/Persistence/forSession``; replaces the one of that space.
    func store(_ credential: Credential, for space: ProtectionSpace) async
    /// Removes the credential of a space.
    func removeCredential(for space: ProtectionSpace) async
}
