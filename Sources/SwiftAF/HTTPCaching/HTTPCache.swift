public import FoundationEssentials

/// A private HTTP cache (RFC 9111), in memory and on disk, for one or more sessions.
///
/// ```swift
/// var configuration = SessionConfiguration()
/// configuration.cache = try HTTPCache(diskCapacity: 150 << 20, directory: "/home/me/.cache/my-app")
/// ```
///
/// Responses are stored and used again as their header fields say. ``HTTPRequest/Hints/cachePolicy`` changes that for a
/// request, and ``Response/cacheStatus`` says where a response came from. A response that can't be stored or read is
/// one that isn't there: no request fails because of the cache, except when a stored body of more than 256 KiB turns
/// out to be damaged after a part of it was passed on.
///
/// Several processes may use the same folder at the same time. Files are checked while they are read, so a process may
/// be killed at any moment. Folders have mode 0700 and files 0600; nothing is encrypted. Thread-safe; no property waits
/// for the disk.
public final class HTTPCache: Sendable {
    let core: CoreHTTPCache

    /// Opens a cache. Waits up to 5 seconds for other processes that use the folder.
    ///
    /// - Parameters:
    ///   - memoryCapacity: The maximum number of bytes in memory: heads, bodies and their bookkeeping.
    ///   - diskCapacity: The maximum number of bytes of files. Without a directory it has no effect.
    ///   - directory: The path of a folder that only this cache uses, in this process and others. The folder is
    ///     created; its parent must exist. Nil keeps responses in memory only.
    ///   - maximumEntrySize: The maximum size of a body in bytes; larger ones aren't stored. Nil means 5 % of the
    ///     memory capacity, or, with a directory, of the larger of both capacities.
    /// - Throws: ``SessionError/Code/file`` if the folder can't be made or used, belongs to another user, or stays
    ///   locked by another process; ``SessionError/Code/invalidInput`` without a directory if the memory capacity is 0.
    public init(
        memoryCapacity: Int = 20 << 20, diskCapacity: Int = 150 << 20, directory: String? = nil,
        maximumEntrySize: Int? = nil
    ) throws(SessionError) {
        core = try CoreHTTPCache(
            memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, directory: directory,
            maximumEntrySize: maximumEntrySize)
    }

    /// Opens a cache in the folder of a file URL.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` if it isn't a file URL; otherwise as with a path.
    public convenience init(
        memoryCapacity: Int = 20 << 20, diskCapacity: Int = 150 << 20, directory: URL, maximumEntrySize: Int? = nil
    ) throws(SessionError) {
        try self.init(
            memoryCapacity: memoryCapacity, diskCapacity: diskCapacity,
            directory: directory.filePath(of: "cache"), maximumEntrySize: maximumEntrySize)
    }

    /// The maximum number of bytes in memory. If more is used, the least recently used responses are evicted.
    public var memoryCapacity: Int {
        get { statistics.memoryCapacity }
        set { core.setCapacities(memory: newValue, disk: nil) }
    }

    /// The maximum number of bytes of files; 0 without a directory. If more is used, the least recently used responses
    /// are evicted soon afterwards.
    public var diskCapacity: Int {
        get { statistics.diskCapacity }
        set { core.setCapacities(memory: nil, disk: newValue) }
    }

    /// The number of bytes in memory.
    public var currentMemoryUsage: Int { statistics.memoryUsage }

    /// The number of bytes of files, those of other processes included.
    public var currentDiskUsage: Int { statistics.diskUsage }

    /// The contents of the cache, and its counters since it was opened.
    public var statistics: Statistics { core.statistics }

    /// Removes all responses to requests for a URL.
    ///
    /// - Parameters:
    ///   - url: The URL. An internationalised host must be given as A-labels (`xn--…`).
    ///   - partition: The ``SessionConfiguration/cachePartition`` of the requests.
    /// - Throws: ``SessionError/Code/invalidInput`` for an invalid URL, or a partition with a line feed.
    public func removeResponses(for url: some URLConvertible, partition: String? = nil) throws(SessionError) {
        try core.remove(url: url.urlText, partition: partition)
    }

    /// Removes the responses of a host, of all its ports and in all partitions.
    ///
    /// - Parameter host: A name in ASCII, or an address without brackets.
    public func removeResponses(ofHost host: String) {
        core.remove(host: host)
    }

    /// Removes the responses that were stored at this time or later.
    public func removeResponses(since date: Date) {
        core.remove(since: date)
    }

    /// Removes every response.
    public func removeAllResponses() {
        core.removeAll()
    }
}

extension HTTPCache {
    /// The contents of a cache, and its counters since it was opened.
    public struct Statistics: Hashable, Sendable {
        /// The number of stored responses.
        public var count: Int
        /// The number of bytes in memory.
        public var memoryUsage: Int
        /// The maximum number of bytes in memory.
        public var memoryCapacity: Int
        /// The number of bytes of files.
        public var diskUsage: Int
        /// The maximum number of bytes of files; 0 without a directory.
        public var diskCapacity: Int
        /// The number of requests that were answered by the cache and not sent.
        public var hits: Int
        /// The number of requests that the cache couldn't answer.
        public var misses: Int
        /// The number of requests that were answered by the cache after the server had confirmed the stored response.
        public var revalidated: Int
        /// The number of hits with a response that was no longer fresh.
        public var stale: Int
        /// The number of responses stored.
        public var stored: Int
        /// The number of responses that weren't stored.
        public var refused: Int

        /// Creates statistics, for tests and previews.
        public init(
            count: Int = 0, memoryUsage: Int = 0, memoryCapacity: Int = 0, diskUsage: Int = 0, diskCapacity: Int = 0,
            hits: Int = 0, misses: Int = 0, revalidated: Int = 0, stale: Int = 0, stored: Int = 0, refused: Int = 0
        ) {
            self.count = count
            self.memoryUsage = memoryUsage
            self.memoryCapacity = memoryCapacity
            self.diskUsage = diskUsage
            self.diskCapacity = diskCapacity
            self.hits = hits
            self.misses = misses
            self.revalidated = revalidated
            self.stale = stale
            self.stored = stored
            self.refused = refused
        }
    }
}

extension HTTPCache: Hashable {
    public static func == (left: HTTPCache, right: HTTPCache) -> Bool { left === right }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
