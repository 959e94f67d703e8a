import Synchronization

/// Credentials in memory, by protection space.
public final class MemoryCredentialStorage: CredentialStorage {
    private let credentials = Locked<[ProtectionSpace: Credential]>([:])
    /// Lets requests skip the lock while no credential was ever stored.
    private let hasStored = Atomic(false)

    /// Makes an empty storage.
    public init() {}

    /// All protection spaces with a credential.
    public var spaces: [ProtectionSpace] { credentials.withLock { Array($0.keys) } }

    public func credential(for space: ProtectionSpace) -> Credential? {
        credentials.withLock { $0[space] }
    }

    public func store(_ credential: Credential, for space: ProtectionSpace) {
        credentials.withLock { $0[space] = credential }
        hasStored.store(true, ordering: .releasing)
    }

    public func removeCredential(for space: ProtectionSpace) {
        credentials.withLock { $0[space] = nil }
    }

    /// Whether no credential was ever stored.
    var isUnused: Bool { !hasStored.load(ordering: .acquiring) }
}
