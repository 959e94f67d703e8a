internal import CAFCore
import FoundationEssentials

/// Owns a reference to an HTTP cache of the core. Thread-safe.
final class CoreHTTPCache: @unchecked Sendable {
    let raw: OpaquePointer
    private let capacities = Locked(())

    init(
        memoryCapacity: Int, diskCapacity: Int, directory: String?, maximumEntrySize: Int?
    ) throws(SessionError) {
        guard memoryCapacity > 0 || directory != nil else {
            throw SessionError(
                .invalidInput,
                message: "the cache can store nothing: it has no folder, and \(memoryCapacity) bytes of memory")
        }
        var raw: OpaquePointer?
        try CoreArena.call { (arena, failure) throws(SessionError) in
            var options = afc_http_cache_options()
            options.size = MemoryLayout<afc_http_cache_options>.stride
            options.memory_bytes = UInt64(clamping: memoryCapacity)
            options.disk_bytes = UInt64(clamping: diskCapacity)
            options.directory = try arena.copy(directory, "the path of the cache")
            // At least 1, because 0 stands for the core's default.
            options.max_entry_bytes = maximumEntrySize.map { max(1, UInt64(clamping: $0)) } ?? 0
            return afc_http_cache_open(&raw, &options, &failure)
        }
        guard let raw else { throw SessionError(.outOfMemory) }
        self.raw = raw
    }

    deinit {
        afc_http_cache_release(raw)
    }

    var statistics: HTTPCache.Statistics {
        let core = coreStatistics
        return HTTPCache.Statistics(
            count: Int(clamping: core.entries),
            memoryUsage: Int(clamping: core.memory_used), memoryCapacity: Int(clamping: core.memory_capacity),
            diskUsage: Int(clamping: core.disk_used), diskCapacity: Int(clamping: core.disk_capacity),
            hits: Int(clamping: core.hits), misses: Int(clamping: core.misses),
            revalidated: Int(clamping: core.revalidated), stale: Int(clamping: core.stale),
            stored: Int(clamping: core.stored), refused: Int(clamping: core.refused))
    }

    private var coreStatistics: afc_http_cache_statistics {
        var core = afc_http_cache_statistics()
        afc_http_cache_get_statistics(raw, &core)
        return core
    }

    /// Changes the capacities that aren't nil.
    func setCapacities(memory: Int?, disk: Int?) {
        // The core sets both values in one call. The lock prevents that two callers, each with one value, undo each
        // other's change.
        capacities.withLock { _ in
            let core = coreStatistics
            afc_http_cache_set_capacity(
                raw, memory.map { UInt64(clamping: $0) } ?? core.memory_capacity,
                disk.map { UInt64(clamping: $0) } ?? core.disk_capacity)
        }
    }

    func remove(url: String, partition: String?) throws(SessionError) {
        try CoreArena.call { (arena, failure) throws(SessionError) in
            afc_http_cache_remove_url(
                raw, try arena.copy(partition, "the partition"), try arena.copy(url, "the URL"), &failure)
        }
    }

    func remove(host: String) {
        guard !host.containsNUL else { return }
        host.withCString { afc_http_cache_remove_host(raw, $0) }
    }

    func remove(since date: Date) {
        afc_http_cache_remove_since(raw, Int64(unixTime: date))
    }

    func removeAll() {
        afc_http_cache_remove_all(raw)
    }

    func flush() {
        afc_http_cache_flush(raw)
    }
}

extension HTTPCache {
    /// Returns the SHA-256 of secrets (FIPS 180-4), as 64 hexadecimal digits in lower case, for use in the name of a
    /// partition.
    package static func fingerprint(of bytes: [UInt8]) throws(SessionError) -> String {
        let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(AFC_HTTP_CACHE_FINGERPRINT_SIZE)) {
            room in
            let status = bytes.withUnsafeBytes { afc_http_cache_fingerprint(room.baseAddress, afc_slice($0)) }
            return status == .AFC_OK ? room.baseAddress.map { String(cString: $0) } : nil
        }
        guard let text else { throw SessionError(.outOfMemory) }
        return text
    }
}

extension afc_http_cache_policy {
    /// Maps a policy to the core's; nil and unknown policies follow the rules of HTTP.
    init(_ policy: HTTPRequest.CachePolicy?) {
        self =
            switch policy {
            case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: AFC_HTTP_CACHE_RELOAD
            case .returnCacheDataElseLoad: AFC_HTTP_CACHE_ELSE_LOAD
            case .returnCacheDataDontLoad: AFC_HTTP_CACHE_ONLY
            case .reloadRevalidatingCacheData: AFC_HTTP_CACHE_REVALIDATE
            case .bypassCache: AFC_HTTP_CACHE_BYPASS
            default: AFC_HTTP_CACHE_PROTOCOL
            }
    }
}

extension CacheStatus {
    init(_ use: afc_http_cache_use) {
        self =
            switch use {
            case .AFC_CACHE_USE_HIT: .hit
            case .AFC_CACHE_USE_STALE: .stale
            case .AFC_CACHE_USE_VALIDATED: .revalidated
            case .AFC_CACHE_USE_MISSING: .missing
            default: .server
            }
    }
}
