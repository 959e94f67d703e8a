import Synchronization

/// Stores credentials in memory, by protection space. Holds at most 1,000, because a server chooses its realms and
/// could otherwise fill the memory; a further one replaces the oldest. Thread-safe.
public final class MemoryCredentialStorage: CredentialStorage {
    private struct State {
        var credentials: [ProtectionSpace: Credential] = [:]
        /// The protection spaces, from the oldest credential to the newest.
        var order: [ProtectionSpace] = []
    }

    private static let maximumCount = 1000

    private let state = Locked(State())
    /// Whether a credential was ever stored. While false, requests needn't take the lock.
    private let hasStored = Atomic(false)

    /// Creates an empty storage.
    public init() {}

    /// All protection spaces with a credential.
    public var spaces: [ProtectionSpace] { state.withLock { Array($0.credentials.keys) } }

    public func credential(for space: ProtectionSpace) -> Credential? {
        state.withLock { $0.credentials[space] }
    }

    public func store(_ credential: Credential, for space: ProtectionSpace) {
        state.withLock { state in
            if state.credentials.updateValue(credential, forKey: space) == nil { state.order.append(space) }
            if state.order.count > Self.maximumCount { state.credentials[state.order.removeFirst()] = nil }
        }
        hasStored.store(true, ordering: .releasing)
    }

    public func removeCredential(for space: ProtectionSpace) {
        state.withLock { state in
            guard state.credentials.removeValue(forKey: space) != nil else { return }
            state.order.removeAll { $0 == space }
        }
    }

    /// Whether no credential was ever stored.
    var isUnused: Bool { !hasStored.load(ordering: .acquiring) }
}
