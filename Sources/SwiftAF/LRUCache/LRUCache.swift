/// An in-memory LRU cache with a limit on the total cost of its entries.
///
/// ```swift
/// let thumbnails = LRUCache<String, Thumbnail>(capacity: 20 << 20)
/// thumbnails.insert(thumbnail, for: url, cost: thumbnail.byteCount)
/// let again = thumbnails.value(for: url)
/// ```
///
/// When the total cost exceeds ``capacity``, the least recently used entries are evicted until the total is at most
/// ``preferredCostAfterPurge``, 60 % of the capacity by default; so purges are rare and evict many entries. Reading an
/// entry makes it the most recently used. All calls take constant time and are thread-safe. They hold the core's locks,
/// one for each shard, only briefly.
///
/// Keys are compared by their bytes. Their hash is seeded, so that chosen keys can't be made to collide. If there is no
/// memory for the cache or an entry, the entry isn't kept; this isn't an error.
public final class LRUCache<Key: LRUCacheKey, Value: Sendable>: Sendable {
    /// The total cost above which entries are evicted.
    public let capacity: Int
    /// The maximum total cost after a purge.
    public let preferredCostAfterPurge: Int

    /// The core's cache; nil if out of memory, or if no entry is kept. Freed with this object, so this object must
    /// outlive each call.
    @usableFromInline let core: CoreCache?

    /// Whether the maximum number of entries is zero, so that none is kept.
    private let keepsNothing: Bool

    /// Holds a value that isn't an object.
    @usableFromInline
    final class Box: Sendable {
        @usableFromInline let value: Value

        @usableFromInline
        init(_ value: Value) {
            self.value = value
        }
    }

    /// Creates a cache. The defaults are AFNetworking's: 100 MiB, and 60 MiB after a purge.
    ///
    /// - Parameters:
    ///   - capacity: The total cost above which entries are evicted.
    ///   - preferredCostAfterPurge: The maximum total cost after a purge; clamped to the capacity. Nil is 60 % of the
    ///     capacity.
    ///   - maximumEntryCost: The maximum cost of an entry; more expensive ones aren't kept. Nil uses the capacity. At
    ///     least 1.
    ///   - countLimit: The maximum number of entries; nil for no limit, zero keeps nothing.
    ///   - timeToLive: The time after which an entry expires, from its insertion; nil for never.
    ///   - keepsExactOrder: Whether the order of use is exact across threads, too; within a thread it always is. True
    ///     uses a single lock, which is fast enough for thousands of calls per second but not for millions.
    ///   - onEviction: Called for each evicted entry, on the thread that caused it, without a lock held. Not called for
    ///     entries that are removed or replaced.
    public init(
        capacity: Int = 100 << 20,
        preferredCostAfterPurge: Int? = nil,
        maximumEntryCost: Int? = nil,
        countLimit: Int? = nil,
        timeToLive: Duration? = nil,
        keepsExactOrder: Bool = false,
        onEviction: (@Sendable (Value, LRUCacheEviction) -> Void)? = nil
    ) {
        self.capacity = max(0, capacity)
        // Divided before it is multiplied, because the capacity may be Int.max. At least 1, so that one entry stays.
        let most = self.capacity / 5 * 3 + self.capacity % 5 * 3 / 5
        self.preferredCostAfterPurge = min(max(0, preferredCostAfterPurge ?? max(1, most)), self.capacity)
        var evicted: CoreCache.OnEviction?
        if let onEviction {
            evicted = { object, reason in onEviction(Self.value(of: object), reason) }
        }
        // For the core, zero means no limit.
        keepsNothing = countLimit.map { $0 <= 0 } ?? false
        core =
            keepsNothing
            ? nil
            : CoreCache(
                capacity: self.capacity, purgeTo: self.preferredCostAfterPurge, maximumEntryCost: maximumEntryCost,
                countLimit: countLimit, timeToLive: timeToLive, keepsExactOrder: keepsExactOrder, onEviction: evicted)
    }

    deinit {
        core?.free()
    }

    /// Returns the value of a key and makes it the most recently used.
    // Inlinable, as are the functions below, so that they are specialised in the caller's module: a lookup through
    // unspecialised code takes twice as long (Benchmarks/cache).
    @inlinable
    public func value(for key: Key) -> Value? {
        let object = withCore { core in Key.withCacheKey(of: key) { core.object(for: $0) } }
        guard let object else { return nil }
        return Self.value(of: object)
    }

    /// Stores a value under a key and replaces an existing one.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: The key.
    ///   - cost: The cost of the entry in the unit of the capacity, such as bytes.
    /// - Returns: Whether the value was kept. If not, the key has no value afterwards: the cost exceeds the maximum,
    ///   the key is longer than 65,535 bytes, or there is no memory.
    @inlinable
    @discardableResult
    public func insert(_ value: Value, for key: Key, cost: Int = 1) -> Bool {
        let object = Self.object(for: value)
        return withCore { core in Key.withCacheKey(of: key) { core.insert(object, for: $0, cost: cost) } } ?? false
    }

    /// Removes the value of a key and returns it, if there is one.
    @inlinable
    @discardableResult
    public func removeValue(for key: Key) -> Value? {
        let object = withCore { core in Key.withCacheKey(of: key) { core.removeObject(for: $0) } }
        guard let object else { return nil }
        return Self.value(of: object)
    }

    /// Removes all entries. Returns their number.
    @discardableResult
    public func removeAll() -> Int {
        withCore { $0.removeAll() } ?? 0
    }

    /// Evicts the least recently used entries until the total cost is at most this. Returns the number of evicted
    /// entries.
    @discardableResult
    public func trim(toCost cost: Int) -> Int {
        withCore { $0.trim(toCost: cost) } ?? 0
    }

    /// The total cost of all entries.
    public var cost: Int { withCore { $0.cost } ?? 0 }

    /// Counters since the cache was made.
    public var statistics: LRUCacheStatistics {
        withCore { $0.statistics } ?? LRUCacheStatistics()
    }

    /// Starts evicting entries when the kernel reports memory pressure (PSI), as AFNetworking does on a memory warning:
    /// the least recently used first, until the total cost is at most `cost`. A thread waits for the reports.
    ///
    /// - Throws: ``SessionError/Code/unsupported`` if the kernel doesn't report memory pressure,
    ///   ``SessionError/Code/file`` if it isn't permitted to watch it, ``SessionError/Code/unknown`` if the cache is
    ///   already watching.
    public func watchMemoryPressure(keeping cost: Int = 0) throws(SessionError) {
        if keepsNothing { return }
        guard let core else { throw SessionError(.outOfMemory) }
        defer { withExtendedLifetime(self) {} }
        try core.watchMemoryPressure(keeping: cost)
    }

    /// Calls `body` with the core's cache, which isn't freed before `body` returns. Returns nil if there is no core's
    /// cache.
    @inlinable
    func withCore<Result>(_ body: (CoreCache) -> Result?) -> Result? {
        guard let core else { return nil }
        return withExtendedLifetime(self) { body(core) }
    }

    /// Whether values are objects, which are stored without a box: reading the box would be another cache miss of the
    /// processor (Benchmarks/cache). A constant where this is specialised. False for values of a protocol type, which
    /// have more words than the reference.
    @inlinable
    static var keepsObjects: Bool {
        Value.self is AnyObject.Type && MemoryLayout<Value>.size == MemoryLayout<AnyObject>.size
    }

    @inlinable
    static func object(for value: Value) -> AnyObject {
        guard keepsObjects else { return Box(value) }
        return unsafeBitCast(value, to: AnyObject.self)
    }

    @inlinable
    static func value(of object: AnyObject) -> Value {
        guard keepsObjects else { return unsafeDowncast(object, to: Box.self).value }
        return unsafeBitCast(object, to: Value.self)
    }
}

/// The reason of an eviction.
public enum LRUCacheEviction: Sendable, Hashable {
    /// The total cost exceeded the capacity.
    case cost
    /// The number of entries exceeded the limit.
    case count
    /// The entry was requested after its time to live.
    case expired
    /// The kernel reported memory pressure.
    case memoryPressure
}

/// Counters of a cache since it was made. `count` and `cost` are the current values.
public struct LRUCacheStatistics: Sendable, Hashable {
    /// The number of lookups that found a value.
    public var hits: Int
    /// The number of lookups that found none.
    public var misses: Int
    /// The number of values inserted, including replacements.
    public var insertions: Int
    /// The number of evicted entries.
    public var evictions: Int
    /// The current number of entries.
    public var count: Int
    /// The current total cost of all entries.
    public var cost: Int

    /// Creates statistics, for tests and previews.
    public init(
        hits: Int = 0, misses: Int = 0, insertions: Int = 0, evictions: Int = 0, count: Int = 0, cost: Int = 0
    ) {
        self.hits = hits
        self.misses = misses
        self.insertions = insertions
        self.evictions = evictions
        self.count = count
        self.cost = cost
    }
}
