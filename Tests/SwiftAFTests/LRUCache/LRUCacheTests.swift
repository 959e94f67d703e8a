import Dispatch
import FoundationEssentials
import SwiftAF
import Synchronization
import Testing

/// What is kept and what leaves is tested in C; here, that values and keys go there and back.
struct LRUCacheTests {
    /// A value that counts those of its kind.
    private final class Counted: Sendable {
        let number: Int
        let alive: Counter

        init(_ number: Int, _ alive: Counter) {
            self.number = number
            self.alive = alive
            alive.add(1)
        }

        deinit {
            alive.add(-1)
        }
    }

    private final class Counter: Sendable {
        private let count = Atomic(0)

        var value: Int { count.load(ordering: .sequentiallyConsistent) }

        func add(_ number: Int) {
            count.add(number, ordering: .sequentiallyConsistent)
        }
    }

    @Test func storesReplacesAndRemovesValues() {
        let cache = LRUCache<String, [Int]>()
        #expect(cache.value(for: "a") == nil)
        #expect(cache.insert([1], for: "a", cost: 5))
        #expect(cache.insert([2], for: "a", cost: 7))
        #expect(cache.value(for: "a") == [2])
        #expect(cache.cost == 7)
        #expect(cache.removeValue(for: "a") == [2])
        #expect(cache.removeValue(for: "a") == nil)
        cache.insert([3], for: "b")
        #expect(cache.removeAll() == 1)
        #expect(cache.removeAll() == 0)
        #expect(cache.cost == 0)
    }

    @Test func distinguishesKeysByTheirBytes() throws {
        let texts = LRUCache<String, Int>()
        for (number, text) in ["", "a", "A", "e\u{301}", "\u{e9}", String(repeating: "x", count: 300)].enumerated() {
            texts.insert(number, for: text)
        }
        #expect(texts.value(for: "") == 0)
        #expect(texts.value(for: "A") == 2)
        #expect(texts.value(for: "e\u{301}") == 3)
        #expect(texts.value(for: "\u{e9}") == 4)
        #expect(texts.value(for: String(repeating: "x", count: 300)) == 5)
        let urls = LRUCache<URL, Int>()
        urls.insert(1, for: try #require(URL(string: "http://h/a")))
        #expect(urls.value(for: try #require(URL(string: "http://h/a"))) == 1)
        let identifiers = LRUCache<UUID, Int>()
        let identifier = UUID()
        identifiers.insert(1, for: identifier)
        #expect(identifiers.value(for: identifier) == 1)
        #expect(identifiers.value(for: UUID()) == nil)
        let numbers = LRUCache<Int, Int>()
        numbers.insert(1, for: -1)
        #expect(numbers.value(for: -1) == 1)
        #expect(numbers.value(for: 1) == nil)
        let data = LRUCache<Data, Int>()
        data.insert(1, for: Data([0, 1]))
        #expect(data.value(for: Data([0, 1])) == 1)
        #expect(data.value(for: Data([0])) == nil)
    }

    @Test func evictsOldestValuesAndReportsThem() {
        let left = Locked<[Int]>([])
        let cache = LRUCache<Int, Int>(capacity: 10, preferredCostAfterPurge: 6) { value, reason in
            #expect(reason == .cost)
            left.withLock { $0.append(value) }
        }
        for number in 0..<10 { cache.insert(number, for: number) }
        #expect(cache.value(for: 0) == 0)
        cache.insert(10, for: 10)
        #expect(left.withLock { $0 } == [1, 2, 3, 4, 5])
        #expect(cache.cost == 6)
        #expect(cache.trim(toCost: 5) == 1)
        #expect(left.withLock { $0 } == [1, 2, 3, 4, 5, 6])
        #expect(cache.statistics.evictions == 6)
        #expect(cache.statistics.count == 5)
        #expect(cache.statistics.hits == 1)
    }

    @Test(arguments: [(100 << 20, 60 << 20), (1000, 600), (19, 11), (8, 4), (1, 1), (0, 0)])
    func purgeLeaves60PercentOfCapacity(capacity: Int, left: Int) {
        #expect(LRUCache<Int, Int>(capacity: capacity).preferredCostAfterPurge == left)
        #expect(LRUCache<Int, Int>(capacity: .max).preferredCostAfterPurge < .max)
    }

    @Test func clampsAndEnforcesLimits() {
        let none = LRUCache<Int, Int>(capacity: -1, preferredCostAfterPurge: 7)
        #expect(none.capacity == 0 && none.preferredCostAfterPurge == 0)
        #expect(!none.insert(1, for: 1, cost: 1))
        #expect(none.insert(1, for: 1, cost: -5))
        let few = LRUCache<Int, Int>(maximumEntryCost: 3, countLimit: 2)
        #expect(!few.insert(1, for: 1, cost: 4))
        for number in 1...3 { few.insert(number, for: number) }
        #expect(few.value(for: 1) == nil && few.value(for: 3) == 3)
        let nothing = LRUCache<Int, Int>(countLimit: 0)
        #expect(!nothing.insert(1, for: 1) && nothing.value(for: 1) == nil)
        #expect(throws: Never.self) { try nothing.watchMemoryPressure() }
        let cheap = LRUCache<Int, Int>(maximumEntryCost: 0)
        #expect(!cheap.insert(1, for: 1, cost: 2) && cheap.insert(1, for: 1, cost: 1))
        let long = LRUCache<String, Int>()
        #expect(!long.insert(1, for: String(repeating: "x", count: 65_536)))
        #expect(long.insert(1, for: String(repeating: "x", count: 65_535)))
        let brief = LRUCache<Int, Int>(timeToLive: .seconds(1000))
        brief.insert(1, for: 1)
        #expect(brief.value(for: 1) == 1)
    }

    @Test func releasesValuesWithLastReference() {
        let alive = Counter()
        var kept: Counted?
        do {
            let cache = LRUCache<Int, Counted>(capacity: 100, preferredCostAfterPurge: 10)
            for number in 0..<1000 { cache.insert(Counted(number, alive), for: number % 300) }
            #expect(alive.value == cache.statistics.count)
            kept = cache.value(for: 999 % 300)
        }
        #expect(kept?.number == 999)
        #expect(alive.value == 1)
        kept = nil
        #expect(alive.value == 0)
    }

    private final class Holder: Sendable {
        let cache = Locked<LRUCache<Int, Counted>?>(nil)
    }

    @Test func cacheSurvivesReleaseInEvictionClosure() {
        let alive = Counter()
        let holder = Holder()
        let reported = Counter()
        do {
            let captured = Counted(0, alive)
            let cache = LRUCache<Int, Counted>(capacity: 2, preferredCostAfterPurge: 0) { [captured] _, _ in
                holder.cache.withLock { $0 = nil }
                reported.add(captured.number + 1)
            }
            holder.cache.withLock { $0 = cache }
        }
        for number in 1...3 {
            holder.cache.withLock { $0 }?.insert(Counted(number, alive), for: number)
        }
        #expect(reported.value == 3)
        #expect(holder.cache.withLock { $0 == nil })
        #expect(alive.value == 0)
    }

    @Test(arguments: [false, true])
    func staysConsistentUnderConcurrentAccess(exact: Bool) {
        let alive = Counter()
        do {
            let cache = LRUCache<Int, Counted>(
                capacity: 200, preferredCostAfterPurge: 100, keepsExactOrder: exact, onEviction: { _, _ in })
            DispatchQueue.concurrentPerform(iterations: 8) { worker in
                var generator = SystemRandomNumberGenerator()
                for step in 0..<5000 {
                    let key = Int.random(in: 0..<400, using: &generator)
                    if let found = cache.value(for: key) {
                        #expect(found.number == key)
                    } else {
                        cache.insert(Counted(key, alive), for: key)
                    }
                    if step % 97 == 0 { cache.removeValue(for: key) }
                    if step % 2000 == 1999 { cache.removeAll() }
                }
            }
            #expect(cache.cost <= 200)
            #expect(alive.value == cache.cost)
        }
        #expect(alive.value == 0)
    }

    @Test func watchesMemoryPressureOrThrowsReason() {
        let cache = LRUCache<Int, Int>()
        do {
            try cache.watchMemoryPressure()
            #expect(throws: SessionError.self) { try cache.watchMemoryPressure() }
        } catch {
            #expect([.unsupported, .file, .invalidInput].contains(error.code))
        }
    }
}
