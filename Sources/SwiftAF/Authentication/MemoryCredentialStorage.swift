import Synchronization

/// Credentials in memory, by protection space.
public final class MemoryCredentialStorage: CredentialStorage {
    private let credentials = Locked<[ProtectionSpace: Credential]>([:])
    /// So that a request takes no lock for credentials that were never stored.
    private let hasStored = Atomic(false)

    public init() {}

    /// Every space there is a credential for.
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

    /// Whether there never was one.
    var isUnused: Bool { !hasStored.load(ordering: .acquiring) }
}
