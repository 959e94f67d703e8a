/// Credentials in memory, by protection space.
public final class MemoryCredentialStorage: CredentialStorage {
    private let credentials = Guarded<[ProtectionSpace: Credential]>([:])

    public init() {}

    /// Every space there is a credential for.
    public var spaces: [ProtectionSpace] { credentials.withLock { Array($0.keys) } }

    public func credential(for space: ProtectionSpace) -> Credential? {
        credentials.withLock { $0[space] }
    }

    public func store(_ credential: Credential, for space: ProtectionSpace) {
        credentials.withLock { $0[space] = credential }
    }

    public func removeCredential(for space: ProtectionSpace) {
        credentials.withLock { $0[space] = nil }
    }

    var isEmpty: Bool { credentials.withLock { $0.isEmpty } }
}

/// Answers the challenges of one task.
struct ChallengeResponder: Sendable {
    let handler: AuthenticationChallengeHandler?
    let storage: any CredentialStorage

    func answer(_ challenge: AuthenticationChallenge) async -> ChallengeDisposition {
        var challenge = challenge
        var stored: Credential?
        // What was refused to this task is not offered again.
        if challenge.proposedCredential == nil, challenge.previousFailureCount == 0 {
            stored = await storage.credential(for: challenge.protectionSpace)
            challenge.proposedCredential = stored
        }
        do {
            switch try await handler?(challenge) ?? .performDefaultHandling {
            case .performDefaultHandling:
                return stored.map { .useCredential($0) } ?? .performDefaultHandling
            case .useCredential(let credential):
                if credential.persistence == .forSession {
                    await storage.store(credential, for: challenge.protectionSpace)
                }
                return .useCredential(credential)
            case let other:
                return other
            }
        } catch {
            return .fail(error)
        }
    }
}
