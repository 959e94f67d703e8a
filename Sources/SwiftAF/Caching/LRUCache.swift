/// A cache in memory: what was least recently used leaves first, by what it costs.
///
/// ```swift
/// let thumbnails = LRUCache<String, Thumbnail>(capacity: 20 << 20)
/// thumbnails.insert(thumbnail, for: url, cost: thumbnail.byteCount)
/// let again = thumbnails.value(for: url)
/// ```
///
/// Once the costs of all entries together pass ``capacity``, the oldest leave until ``preferredCostAfterPurge`` at most
/// is left; so a purge is rare and takes many. Reading makes an entry the newest. All calls cost the same however much
/// the cache holds, may come from any thread at any time, and wait for others only for moments: the locks are the
/// core's, one for each part of the cache.
///
/// Keys are told apart by their bytes, and hashed so that nobody who chooses keys can make them collide. If there is no
/// memory for a cache or an entry, it is not kept; that is no error.
public final class LRUCache<Key: LRUCacheKey, Value: Sendable>: Sendable {
    /// The cost beyond which entries leave.
    public let capacity: Int
    /// What may be left after that.
    public let preferredCostAfterPurge: Int

    /// Nil if there was no memory for it.
    private let core: CoreCache?

    private final class Box: Sendable {
        let value: Value

        init(_ value: Value) {
            self.value = value
        }
    }

    /// Makes a cache; at first with AFNetworking's two marks.
    ///
    /// - Parameters:
    ///   - capacity: Entries leave when their costs together are more than this.
    ///   - preferredCostAfterPurge: Until so much is left; at most the capacity.
    ///   - maximumEntryCost: What costs more is not kept. Nil for the capacity.
    ///   - countLimit: So many entries at most. Nil for any number.
    ///   - timeToLive: How long an entry is given out after it was put in. Nil for ever.
    ///   - keepsExactOrder: The order of use is exact for each thread in any case. True makes it exact between threads
    ///     too, and has all wait for one lock; for caches that are asked some thousand times a second, not millions.
    ///   - onEviction: Told about each entry that left on its own, on the thread that caused it, with no lock held.
    public init(
        capacity: Int = 100 << 20,
        preferredCostAfterPurge: Int = 60 << 20,
        maximumEntryCost: Int? = nil,
        countLimit: Int? = nil,
        timeToLive: Duration? = nil,
        keepsExactOrder: Bool = false,
        onEviction: (@Sendable (Value, LRUCacheEviction) -> Void)? = nil
    ) {
        self.capacity = max(0, capacity)
        self.preferredCostAfterPurge = min(max(0, preferredCostAfterPurge), self.capacity)
        var evicted: CoreCache.OnEviction?
        if let onEviction {
            evicted = { object, reason in onEviction(unsafeDowncast(object, to: Box.self).value, reason) }
        }
        core = CoreCache(
            capacity: self.capacity, purgeTo: self.preferredCostAfterPurge, maximumEntryCost: maximumEntryCost,
            countLimit: countLimit, timeToLive: timeToLive, keepsExactOrder: keepsExactOrder, onEviction: evicted)
    }

    /// The value of a key, which becomes the most recently used.
    public func value(for key: Key) -> Value? {
        key.withCacheKey { value(core?.object(for: $0)) }
    }

    /// Keeps a value under a key, instead of the one that is there.
    ///
    /// - Parameter cost: What it takes, in bytes or whatever the capacity counts.
    /// - Returns: Whether it was kept. If not, nothing is kept under the key: it costs more than an entry may, the key
    ///   is longer than 65,535 bytes, or there is no memory.
    @discardableResult
    public func insert(_ value: Value, for key: Key, cost: Int = 1) -> Bool {
        guard let core else { return false }
        return key.withCacheKey { core.insert(Box(value), for: $0, cost: cost) }
    }

    /// Removes the value of a key and gives it back, if there is one.
    @discardableResult
    public func removeValue(for key: Key) -> Value? {
        key.withCacheKey { value(core?.removeObject(for: $0)) }
    }

    /// Removes everything; how many entries there were.
    @discardableResult
    public func removeAll() -> Int {
        core?.removeAll() ?? 0
    }

    /// Lets the oldest entries leave until their costs together are at most this; how many have left.
    @discardableResult
    public func trim(toCost cost: Int) -> Int {
        core?.trim(toCost: cost) ?? 0
    }

    /// The costs of all entries together.
    public var cost: Int { core?.cost ?? 0 }

    /// Counters since the cache was made.
    public var statistics: LRUCacheStatistics {
        core?.statistics
            ?? LRUCacheStatistics(hits: 0, misses: 0, insertions: 0, evictions: 0, count: 0, cost: 0)
    }

    /// From now on lets entries leave whenever the kernel says that memory is short, as AFNetworking does on a memory
    /// warning: the oldest first, until `cost` is left. A thread sleeps until that happens.
    ///
    /// - Throws: ``SessionError/Code/unsupported`` if this kernel tells no memory pressure (PSI),
    ///   ``SessionError/Code/file`` if it doesn't tell us, ``SessionError/Code/unknown`` if it is watched already.
    public func watchMemoryPressure(keeping cost: Int = 0) throws(SessionError) {
        guard let core else { throw SessionError(.outOfMemory) }
        try core.watchMemoryPressure(keeping: cost)
    }

    private func value(_ object: AnyObject?) -> Value? {
        object.map { unsafeDowncast($0, to: Box.self).value }
    }
}

/// Why an entry left a cache on its own.
public enum LRUCacheEviction: Sendable, Hashable {
    /// The costs of all entries together passed the capacity.
    case cost
    /// There were more entries than the limit.
    case count
    /// Its time to live was over when it was asked for.
    case expired
    /// The system was short of memory.
    case memoryPressure
}

/// What a cache has done since it was made; `count` and `cost` are of now.
public struct LRUCacheStatistics: Sendable, Hashable {
    /// Keys that were asked for and had a value.
    public var hits: Int
    /// Keys that were asked for and had none.
    public var misses: Int
    /// Values that were put in, in place of others too.
    public var insertions: Int
    /// Entries that left on their own.
    public var evictions: Int
    /// Entries.
    public var count: Int
    /// Of all entries together, in the unit of their costs.
    public var cost: Int
}
