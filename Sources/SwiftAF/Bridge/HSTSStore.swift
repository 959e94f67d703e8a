internal import CAFCore
public import FoundationEssentials

/// Hosts that asked to be reached over https only (HTTP Strict Transport Security, RFC 6797), for one session or several.
///
/// With one in ``SessionConfiguration/hsts``, http URLs of such hosts, of redirects as well, become https before anything is
/// sent, and what servers say about it over https, with a chain without fault, is remembered. Its lock is its own:
/// everything may be called from any thread, and waits for others only for moments.
public final class HSTSStore: Sendable {
    /// The core lets any thread use it.
    nonisolated(unsafe) let raw: OpaquePointer

    /// Makes a store.
    ///
    /// - Parameters:
    ///   - path: A file to begin with, if it is there, and to write when the store goes; see ``save(to:)``. Nil for none.
    ///   - maximumCount: Hosts; beyond it those go that would end first, of a file's also those that came late.
    /// - Throws: ``SessionError/Code/file`` for a file that can't be read. Lines of it that make no sense are left out.
    public init(path: String? = nil, maximumCount: Int = 10_000) throws(SessionError) {
        let arena = CoreArena()
        var options = af_hsts_options()
        options.size = MemoryLayout<af_hsts_options>.stride
        options.path = try arena.copy(path, "the path of the store")
        options.most = UInt32(clamping: max(1, maximumCount))
        var failure = af_failure()
        var raw: OpaquePointer?
        let status = af_hsts_new(&raw, &options, &failure)
        withExtendedLifetime(arena) {}
        guard status == .AF_OK, let raw else { throw SessionError(failure) }
        self.raw = raw
    }

    deinit {
        af_hsts_release(raw)
    }

    /// Remembers a host, in place of what was known of it.
    ///
    /// - Parameter expirationDate: Nil for ever; one that has passed forgets the host.
    /// - Throws: ``SessionError/Code/invalidInput`` for what is no name in ASCII.
    public func insert(
        _ host: String, until expirationDate: Date? = nil, includingSubdomains: Bool = false
    ) throws(SessionError) {
        let arena = CoreArena()
        let name = try arena.copy(host, "the host")
        let seconds = expirationDate.map { $0.timeIntervalSince1970.rounded(.down) }
        let end = seconds.map { Int64(exactly: $0) ?? ($0 > 0 ? .max : 0) } ?? .max
        var failure = af_failure()
        let status = af_hsts_add(raw, name, end, includingSubdomains, &failure)
        withExtendedLifetime(arena) {}
        guard status == .AF_OK else { throw SessionError(failure) }
    }

    /// Whether this host, a name in ASCII, is reached over https only.
    public func contains(_ host: String) -> Bool {
        !host.utf8.contains(0) && host.withCString { af_hsts_has(raw, $0) }
    }

    /// Forgets a host.
    public func remove(_ host: String) {
        guard !host.utf8.contains(0) else { return }
        _ = host.withCString { af_hsts_delete(raw, $0) }
    }

    /// Forgets all hosts.
    public func removeAll() {
        af_hsts_delete(raw, nil)
    }

    /// Writes what is known, as curl writes it, as a new file with the mode 0600 that takes the old one's place once it is on
    /// the disk. Blocks for the disk.
    ///
    /// - Parameter path: Nil for the store's own file.
    /// - Throws: ``SessionError/Code/file``; ``SessionError/Code/invalidInput`` if there is no path.
    public func save(to path: String? = nil) throws(SessionError) {
        let arena = CoreArena()
        let place = try arena.copy(path, "the path of the store")
        var failure = af_failure()
        let status = af_hsts_save(raw, place, &failure)
        withExtendedLifetime(arena) {}
        guard status == .AF_OK else { throw SessionError(failure) }
    }
}

extension HSTSStore: Hashable {
    public static func == (left: HSTSStore, right: HSTSStore) -> Bool { left === right }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
