internal import CAFCore

/// Owns a cache of the core, whose values are objects. Thread-safe.
final class CoreCache: @unchecked Sendable {
    typealias OnEviction = @Sendable (AnyObject, LRUCacheEviction) -> Void

    private let raw: OpaquePointer
    /// Retains the eviction closure, because the core has an unretained pointer to it.
    private let relay: EvictionRelay

    /// Nil if out of memory.
    init?(
        capacity: Int, purgeTo: Int, maximumEntryCost: Int?, countLimit: Int?, timeToLive: Duration?,
        keepsExactOrder: Bool, onEviction: OnEviction?
    ) {
        relay = EvictionRelay(tell: onEviction)
        var options = af_cache_options.initial
        options.capacity = UInt64(capacity)
        options.purge_to = UInt64(purgeTo)
        options.max_cost = UInt64(max(0, maximumEntryCost ?? 0))
        options.max_count = UInt64(max(0, countLimit ?? 0))
        options.ttl_ms = timeToLive.map { max(1, Int64($0.coreMilliseconds)) } ?? 0
        options.shards = keepsExactOrder ? 1 : 0
        options.context = Unmanaged.passUnretained(relay).toOpaque()
        if onEviction != nil { options.on_evict = EvictionRelay.onEvict }
        var raw: OpaquePointer?
        guard af_cache_new(&raw, &options) == .AF_OK, let raw else { return nil }
        self.raw = raw
    }

    deinit {
        af_cache_free(raw)
    }

    func object(for key: UnsafeRawBufferPointer) -> AnyObject? {
        Self.object(af_cache_copy(raw, af_slice(key)))
    }

    func removeObject(for key: UnsafeRawBufferPointer) -> AnyObject? {
        Self.object(af_cache_take(raw, af_slice(key)))
    }

    /// Takes over the reference that the core returns.
    private static func object(_ value: UnsafeMutableRawPointer?) -> AnyObject? {
        value.map { Unmanaged<AnyObject>.fromOpaque($0).takeRetainedValue() }
    }

    /// Inserts an object. Returns whether it was kept.
    func insert(_ object: AnyObject, for key: UnsafeRawBufferPointer, cost: Int) -> Bool {
        let value = Unmanaged.passRetained(object).toOpaque()
        return af_cache_put(raw, af_slice(key), value, UInt64(max(0, cost))) == .AF_OK
    }

    func removeAll() -> Int {
        Int(af_cache_remove_all(raw))
    }

    func trim(toCost cost: Int) -> Int {
        Int(af_cache_trim(raw, UInt64(max(0, cost)), .AF_CACHE_COST))
    }

    var cost: Int { Int(af_cache_get_cost(raw)) }

    var statistics: LRUCacheStatistics {
        var counters = af_cache_statistics()
        af_cache_get_statistics(raw, &counters)
        return LRUCacheStatistics(
            hits: Int(counters.hits), misses: Int(counters.misses), insertions: Int(counters.puts),
            evictions: Int(counters.evictions), count: Int(counters.count), cost: Int(counters.cost))
    }

    func watchMemoryPressure(keeping cost: Int) throws(SessionError) {
        var options = af_pressure_options(
            size: MemoryLayout<af_pressure_options>.size, stall_us: 150_000, window_us: 2_000_000, path: nil,
            keep: UInt64(max(0, cost)))
        let status = af_cache_watch_pressure(raw, &options, nil)
        guard status == .AF_OK else {
            throw SessionError(SessionError.Code(status), message: "the memory pressure can't be watched")
        }
    }
}

/// Forwards evictions from the core to a closure.
private final class EvictionRelay: Sendable {
    let tell: CoreCache.OnEviction?

    init(tell: CoreCache.OnEviction?) {
        self.tell = tell
    }

    static let onEvict:
        @convention(c) (UnsafeMutableRawPointer?, af_slice, UnsafeMutableRawPointer?, af_cache_reason) ->
            Void = { context, _, value, reason in
                guard let context, let value else { return }
                let relay = Unmanaged<EvictionRelay>.fromOpaque(context).takeUnretainedValue()
                relay.tell?(Unmanaged<AnyObject>.fromOpaque(value).takeUnretainedValue(), LRUCacheEviction(reason))
            }
}

extension LRUCacheEviction {
    fileprivate init(_ reason: af_cache_reason) {
        self =
            switch reason {
            case .AF_CACHE_COUNT: .count
            case .AF_CACHE_EXPIRED: .expired
            case .AF_CACHE_PRESSURE: .memoryPressure
            default: .cost
            }
    }
}

extension af_cache_options {
    /// The macro AF_CACHE_INIT, with callbacks that retain and release the objects.
    fileprivate static var initial: af_cache_options {
        var options = af_cache_options()
        options.size = MemoryLayout<af_cache_options>.size
        options.retain = { _, value in
            if let value { _ = Unmanaged<AnyObject>.fromOpaque(value).retain() }
        }
        options.release = { _, value in
            if let value { Unmanaged<AnyObject>.fromOpaque(value).release() }
        }
        return options
    }
}
