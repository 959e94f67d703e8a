public import FoundationEssentials

/// A store of HSTS hosts (HTTP Strict Transport Security, RFC 6797), for one or more sessions.
///
/// Set it as ``SessionConfiguration/hsts``. Then http URLs of known hosts, also in redirects, are upgraded to https
/// before anything is sent, and Strict-Transport-Security fields are stored from fully verified https connections.
/// Thread-safe. `init(path:)` and ``save(to:)-(String?)`` block until the disk has responded. So does the release of
/// the last reference, if there is a file and hosts have changed; it may happen on a session's network thread. To avoid
/// that, keep a reference and call ``save(to:)-(String?)`` on another thread.
public final class HSTSStore: Sendable {
    let core: CoreHSTS

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - path: The file to load, if it exists, and to save when the store is released, or the process ends by
    ///     returning or by `exit()`; see ``save(to:)-(String?)``. A process that is ended by a signal saves nothing.
    ///     Nil for none.
    ///   - maximumCount: The maximum number of hosts; beyond it, those that expire first are evicted. At least 1.
    /// - Throws: ``SessionError/Code/file`` for an unreadable file, and for one that doesn't exist and can't be created
    ///   in its folder. Invalid lines are skipped. Saving replaces the file without reading it: if several processes
    ///   use a file at the same time, the last one that saves overwrites the others' hosts.
    public init(path: String? = nil, maximumCount: Int = 10_000) throws(SessionError) {
        core = try CoreHSTS(path, maximumCount: maximumCount)
    }

    /// Creates a store with the file of a file URL.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` if it isn't a file URL; otherwise as with a path.
    public convenience init(path: URL, maximumCount: Int = 10_000) throws(SessionError) {
        try self.init(path: path.filePath(of: "store of HSTS hosts"), maximumCount: maximumCount)
    }

    /// Stores a host; replaces an existing entry.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - expirationDate: Nil never expires; a past date removes the host.
    ///   - includingSubdomains: Whether the entry also covers all subdomains.
    /// - Throws: ``SessionError/Code/invalidInput`` if the host isn't a name in ASCII.
    public func insert(
        _ host: String, until expirationDate: Date? = nil, includingSubdomains: Bool = false
    ) throws(SessionError) {
        try core.insert(host, until: expirationDate, includingSubdomains: includingSubdomains)
    }

    /// Returns whether this host, a name in ASCII, requires https.
    public func contains(_ host: String) -> Bool {
        core.contains(host)
    }

    /// Removes a host.
    public func remove(_ host: String) {
        core.remove(host)
    }

    /// Removes all hosts.
    public func removeAll() {
        core.removeAll()
    }

    /// Saves the store in curl's format. The new file has mode 0600 and replaces the old one after it was synced to
    /// disk. Blocks.
    ///
    /// - Parameter path: Nil uses the store's file.
    /// - Throws: ``SessionError/Code/file``; ``SessionError/Code/invalidInput`` without a path.
    public func save(to path: String? = nil) throws(SessionError) {
        try core.save(to: path)
    }

    /// Saves the store to the file of a file URL.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` if it isn't a file URL; otherwise as with a path.
    public func save(to path: URL) throws(SessionError) {
        try save(to: path.filePath(of: "store of HSTS hosts"))
    }

    /// Returns the text that ``save(to:)-(String?)`` writes.
    package func exported() throws(SessionError) -> Data {
        try core.exported()
    }
}

extension HSTSStore: Hashable {
    public static func == (left: HSTSStore, right: HSTSStore) -> Bool { left === right }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
