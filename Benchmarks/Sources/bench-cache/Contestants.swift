import CBenchCache
import Foundation
import SwiftAF

/// A value whose references are counted, as those in C are.
final class Picture: Sendable {
    let pixels: (Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0)
}

/// The memory of keys, which is fetched before they are looked up, as that of the keys in C is.
struct KeyMemory {
    let load: bench_load
    /// Where each key is, by its index.
    let addresses: [UnsafeRawPointer?]

    /// Calls `look` with the index of each lookup's key. Returns how often it returned true.
    @inline(__always)
    func count(_ lookups: UnsafeBufferPointer<UInt32>, _ look: (Int) -> Bool) -> UInt32 {
        guard let first = lookups.baseAddress else { return 0 }
        var hits: UInt32 = 0
        addresses.withUnsafeBufferPointer { addresses in
            withUnsafePointer(to: load) { load in
                for index in lookups.indices {
                    bench_load_fetch(load, addresses.baseAddress, first, UInt32(index))
                    if look(Int(lookups[index])) { hits += 1 }
                }
            }
        }
        return hits
    }
}

extension String {
    /// Where the object is that holds the text: its counted references precede the text.
    fileprivate var memory: UnsafeRawPointer? {
        var text = self
        return text.withUTF8 { UnsafeRawPointer($0.baseAddress).map { $0 - 32 } }
    }
}

/// A cache in Swift. The keys are made before, in the form that the cache wants.
protocol Contestant: AnyObject {
    init(_ load: bench_load)
    func run(_ lookups: UnsafeBufferPointer<UInt32>) -> UInt32
}

/// libafcore's, as Swift programs have it.
final class CoreCache: Contestant {
    private let cache: LRUCache<String, Picture>
    private let keys: [String]
    private let memory: KeyMemory
    private let cost: Int

    init(_ load: bench_load) {
        keys = load.texts
        memory = KeyMemory(load: load, addresses: keys.map(\.memory))
        cost = Int(load.cost)
        cache = LRUCache(capacity: Int(load.capacity), preferredCostAfterPurge: Int(load.purge_to))
    }

    func run(_ lookups: UnsafeBufferPointer<UInt32>) -> UInt32 {
        memory.count(lookups) { index in
            let key = keys[index]
            if cache.value(for: key) != nil { return true }
            cache.insert(Picture(), for: key, cost: cost)
            return false
        }
    }
}

/// Foundation's.
final class FoundationCache: Contestant {
    private let cache = NSCache<NSString, Picture>()
    private let keys: [NSString]
    private let memory: KeyMemory
    private let cost: Int

    init(_ load: bench_load) {
        keys = load.texts.map { NSString(string: $0) }
        let addresses = keys.map { UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) }
        memory = KeyMemory(load: load, addresses: addresses)
        cost = Int(load.cost)
        cache.totalCostLimit = Int(load.capacity)
    }

    func run(_ lookups: UnsafeBufferPointer<UInt32>) -> UInt32 {
        memory.count(lookups) { index in
            let key = keys[index]
            if cache.object(forKey: key) != nil { return true }
            cache.setObject(Picture(), forKey: key, cost: cost)
            return false
        }
    }
}

/// AFNetworking's algorithm: a dictionary of entries with the date of their last access, sorted by it at a purge. Its
/// queue with barriers is a lock here, which costs less.
final class DictionaryCache: Contestant {
    private final class Entry {
        let key: String
        let picture: Picture
        var lastAccess = Date()

        init(_ key: String, _ picture: Picture) {
            self.key = key
            self.picture = picture
        }
    }

    private let lock = NSLock()
    private var entries: [String: Entry] = [:]
    private var usage = 0
    private let keys: [String]
    private let memory: KeyMemory
    private let cost: Int
    private let capacity: Int
    private let preferred: Int

    init(_ load: bench_load) {
        keys = load.texts
        memory = KeyMemory(load: load, addresses: keys.map(\.memory))
        cost = Int(load.cost)
        capacity = Int(load.capacity)
        preferred = Int(load.purge_to)
    }

    private func picture(for key: String) -> Picture? {
        lock.withLock {
            guard let entry = entries[key] else { return nil }
            entry.lastAccess = Date()
            return entry.picture
        }
    }

    private func add(_ picture: Picture, for key: String) {
        lock.withLock {
            if entries.updateValue(Entry(key, picture), forKey: key) == nil { usage += cost }
            guard usage > capacity else { return }
            for entry in entries.values.sorted(by: { $0.lastAccess < $1.lastAccess }) {
                entries[entry.key] = nil
                usage -= cost
                if usage <= preferred { break }
            }
        }
    }

    func run(_ lookups: UnsafeBufferPointer<UInt32>) -> UInt32 {
        memory.count(lookups) { index in
            let key = keys[index]
            if picture(for: key) != nil { return true }
            add(Picture(), for: key)
            return false
        }
    }
}

extension bench_load {
    fileprivate var texts: [String] {
        UnsafeBufferPointer(start: keys, count: Int(key_count)).map { $0.map { String(cString: $0) } ?? "" }
    }
}

/// A contestant as the measuring code, which is in C, sees it.
private final class Holder {
    let contestant: any Contestant

    init(_ contestant: any Contestant) {
        self.contestant = contestant
    }
}

private func hold(_ contestant: any Contestant) -> UnsafeMutableRawPointer {
    Unmanaged.passRetained(Holder(contestant)).toOpaque()
}

private func makeCache(
    _ name: StaticString, _ make: @escaping @convention(c) (UnsafePointer<bench_load>?) -> UnsafeMutableRawPointer?
) -> bench_cache {
    bench_cache(
        name: UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self),
        make: make,
        free: { $0.map { Unmanaged<Holder>.fromOpaque($0).release() } },
        run: { cache, load, lookups in
            guard let cache, let load, let lookups else { return 0 }
            let holder = Unmanaged<Holder>.fromOpaque(cache).takeUnretainedValue()
            return holder.contestant.run(UnsafeBufferPointer(start: lookups, count: Int(load.pointee.lookup_count)))
        }
    )
}

func swiftCaches() -> [bench_cache] {
    [
        makeCache("LRUCache in Swift") { $0.map { hold(CoreCache($0.pointee)) } },
        makeCache("NSCache") { $0.map { hold(FoundationCache($0.pointee)) } },
        makeCache("AFNetworking's algorithm in Swift") { $0.map { hold(DictionaryCache($0.pointee)) } },
    ]
}
