internal import CAFCore

/// A cache of the core, whose values are objects. Thread-safe.
///
/// Owned and freed by ``LRUCache``. Not a class, because each lookup would count references, which takes a tenth of its
/// time, and more if threads contend for the count (Benchmarks/cache).
@usableFromInline
struct CoreCache: @unchecked Sendable {
    typealias OnEviction = @Sendable (AnyObject, LRUCacheEviction) -> Void

    private let raw: OpaquePointer
    /// Holds the eviction closure until ``free()``, because the core has a pointer to the relay.
    private let relay: Unmanaged<EvictionRelay>

    /// Creates a cache; nil if out of memory.
    init?(
        capacity: Int, purgeTo: Int, maximumEntryCost: Int?, countLimit: Int?, timeToLive: Duration?,
        keepsExactOrder: Bool, onEviction: OnEviction?
    ) {
        var options = afc_lru_options.initial
        options.capacity = UInt64(capacity)
        options.purge_to = UInt64(purgeTo)
        options.max_cost = maximumEntryCost.map { UInt64(max(1, $0)) } ?? 0
        options.max_count = UInt64(max(0, countLimit ?? 0))
        options.ttl_ms = timeToLive.map { max(1, $0.wholeMillisecondsRoundedUp) } ?? 0
        options.shards = keepsExactOrder ? 1 : 0
        let relay = Unmanaged.passRetained(EvictionRelay(onEviction))
        options.context = relay.toOpaque()
        if onEviction != nil { options.on_evict = EvictionRelay.onEvict }
        var raw: OpaquePointer?
        guard afc_lru_new(&raw, &options, nil) == .AFC_OK, let raw else {
            relay.release()
            return nil
        }
        self.raw = raw
        self.relay = relay
    }

    /// Frees the cache. It must not be used afterwards.
    func free() {
        afc_lru_free(raw)
        relay.release()
    }

    @usableFromInline
    func object(for key: UnsafeRawBufferPointer) -> AnyObject? {
        Self.object(afc_lru_copy(raw, afc_slice(key)))
    }

    @usableFromInline
    func removeObject(for key: UnsafeRawBufferPointer) -> AnyObject? {
        Self.object(afc_lru_take(raw, afc_slice(key)))
    }

    /// Takes ownership of the reference that the core has returned.
    private static func object(_ value: UnsafeMutableRawPointer?) -> AnyObject? {
        value.map { Unmanaged<AnyObject>.fromOpaque($0).takeRetainedValue() }
    }

    /// Inserts an object. Returns whether it was kept.
    @usableFromInline
    func insert(_ object: AnyObject, for key: UnsafeRawBufferPointer, cost: Int) -> Bool {
        let value = Unmanaged.passRetained(object).toOpaque()
        return afc_lru_put(raw, afc_slice(key), value, UInt64(max(0, cost))) == .AFC_OK
    }

    func removeAll() -> Int {
        Int(afc_lru_remove_all(raw))
    }

    func trim(toCost cost: Int) -> Int {
        Int(afc_lru_trim(raw, UInt64(max(0, cost)), .AFC_LRU_COST))
    }

    var cost: Int { Int(afc_lru_get_cost(raw)) }

    var statistics: LRUCacheStatistics {
        var counters = afc_lru_statistics()
        afc_lru_get_statistics(raw, &counters)
        return LRUCacheStatistics(
            hits: Int(counters.hits), misses: Int(counters.misses), insertions: Int(counters.puts),
            evictions: Int(counters.evictions), count: Int(counters.count), cost: Int(counters.cost))
    }

    func watchMemoryPressure(keeping cost: Int) throws(SessionError) {
        var options = afc_pressure_options(
            size: MemoryLayout<afc_pressure_options>.size, stall_us: 150_000, window_us: 2_000_000, path: nil,
            keep: UInt64(max(0, cost)))
        let status = afc_lru_watch_pressure(raw, &options, nil)
        guard status == .AFC_OK else {
            throw SessionError(SessionError.Code(status), message: "the memory pressure can't be watched")
        }
    }
}

/// Forwards evictions from the core to a closure.
private final class EvictionRelay: Sendable {
    let report: CoreCache.OnEviction?

    init(_ report: CoreCache.OnEviction?) {
        self.report = report
    }

    static let onEvict:
        @convention(c) (UnsafeMutableRawPointer?, afc_slice, UnsafeMutableRawPointer?, afc_lru_reason) ->
            Void = { context, _, value, reason in
                guard let context, let value else { return }
                let relay = Unmanaged<EvictionRelay>.fromOpaque(context).takeUnretainedValue()
                relay.report?(Unmanaged<AnyObject>.fromOpaque(value).takeUnretainedValue(), LRUCacheEviction(reason))
            }
}

extension LRUCacheEviction {
    fileprivate init(_ reason: afc_lru_reason) {
        self =
            switch reason {
            case .AFC_LRU_COUNT: .count
            case .AFC_LRU_EXPIRED: .expired
            case .AFC_LRU_PRESSURE: .memoryPressure
            default: .cost
            }
    }
}

extension afc_lru_options {
    /// The macro AFC_LRU_OPTIONS_INIT, with callbacks that retain and release the objects.
    fileprivate static var initial: afc_lru_options {
        var options = afc_lru_options()
        options.size = MemoryLayout<afc_lru_options>.size
        options.retain = { _, value in
            if let value { _ = Unmanaged<AnyObject>.fromOpaque(value).retain() }
        }
        options.release = { _, value in
            if let value { Unmanaged<AnyObject>.fromOpaque(value).release() }
        }
        return options
    }
}
