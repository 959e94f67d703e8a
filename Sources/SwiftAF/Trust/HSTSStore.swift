public import FoundationEssentials

/// A store of HSTS hosts (HTTP Strict Transport Security, RFC 6797), for one or more sessions.
///
/// With one in ``SessionConfiguration/hsts``, http URLs of such hosts, of redirects as well, become https before
/// anything is sent, and what servers say about it over https, with a chain without fault, is remembered. Its lock is
/// its own: everything may be called from any thread, and waits for others only for moments.
public final class HSTSStore: Sendable {
    let core: CoreHSTS

    /// Makes a store.
    ///
    /// - Parameters:
    ///   - path: A file to begin with, if it is there, and to write when the store goes; see ``save(to:)``. Nil for none.
    ///   - maximumCount: Hosts; beyond it those go that would end first, of a file's also those that came late.
    /// - Throws: ``SessionError/Code/file`` for a file that can't be read. Lines of it that make no sense are left out.
    public init(path: String? = nil, maximumCount: Int = 10_000) throws(SessionError) {
        core = try CoreHSTS(path, maximumCount: maximumCount)
    }

    /// Remembers a host, in place of what was known of it.
    ///
    /// - Parameter expirationDate: Nil for ever; one that has passed forgets the host.
    /// - Throws: ``SessionError/Code/invalidInput`` for what is no name in ASCII.
    public func insert(
        _ host: String, until expirationDate: Date? = nil, includingSubdomains: Bool = false
    ) throws(SessionError) {
        try core.insert(host, until: expirationDate, includingSubdomains: includingSubdomains)
    }

    /// Whether this host, a name in ASCII, is reached over https only.
    public func contains(_ host: String) -> Bool {
        core.contains(host)
    }

    /// Forgets a host.
    public func remove(_ host: String) {
        core.remove(host)
    }

    /// Forgets all hosts.
    public func removeAll() {
        core.removeAll()
    }

    /// Writes what is known, as curl writes it, as a new file with the mode 0600 that takes the old one's place once it
    /// is on the disk. Blocks for the disk.
    ///
    /// - Parameter path: Nil for the store's own file.
    /// - Throws: ``SessionError/Code/file``; ``SessionError/Code/invalidInput`` if there is no path.
    public func save(to path: String? = nil) throws(SessionError) {
        try core.save(to: path)
    }
}

extension HSTSStore: Hashable {
    public static func == (left: HSTSStore, right: HSTSStore) -> Bool { left === right }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
