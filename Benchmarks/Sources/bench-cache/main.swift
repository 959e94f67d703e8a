import CBenchCache
import Foundation

// Caches beside each other: lookups by zipf(0.99) over keys like URLs, in a cache that holds half of them.

struct Figure: Codable {
    let cache: String
    let nanosecondsWithOneThread, nanosecondsWithTwoThreads: Double
    let hitRate: Double
}

struct Report: Codable {
    let keys, lookups, rounds: Int
    let figures: [Figure]
    let purgeOf100000Milliseconds, purgeOf100000WithOneShardMilliseconds: Double
}

func fail(_ message: String) -> Never {
    FileHandle.standardError.write(Data("bench-cache: \(message)\n".utf8))
    exit(1)
}

/// The best of some rounds, in each of which every cache has its turn: other work on the machine disturbs it least.
func measure(_ caches: [bench_cache], _ load: bench_load, rounds: Int) -> [Figure] {
    var best = caches.map { _ in [Double.infinity, .infinity] }
    var hitRates = caches.map { _ in 0.0 }
    for _ in 0..<rounds {
        for (index, cache) in caches.enumerated() {
            for threads in 1...2 {
                let outcome = withUnsafePointer(to: cache) { cache in
                    withUnsafePointer(to: load) { bench_cache_measure(cache, $0, Int32(threads)) }
                }
                best[index][threads - 1] = min(best[index][threads - 1], outcome.ns_per_lookup)
                if threads == 1 { hitRates[index] = outcome.hit_rate }
            }
        }
    }
    return caches.indices.map { index in
        Figure(
            cache: String(cString: caches[index].name), nanosecondsWithOneThread: best[index][0],
            nanosecondsWithTwoThreads: best[index][1], hitRate: hitRates[index])
    }
}

func show(_ report: Report) {
    print(
        "| \(report.lookups) lookups of \(report.keys) keys | ns, 1 thread | × ours | ns, 2 threads | × ours | hits |")
    print("|---|--:|--:|--:|--:|--:|")
    let ours = report.figures[0]
    for figure in report.figures {
        print(
            "| \(figure.cache) |",
            String(
                format: "%.0f | %.2f | %.0f | %.2f | %.1f %% |", figure.nanosecondsWithOneThread,
                figure.nanosecondsWithOneThread / ours.nanosecondsWithOneThread, figure.nanosecondsWithTwoThreads,
                figure.nanosecondsWithTwoThreads / ours.nanosecondsWithTwoThreads, figure.hitRate * 100))
    }
    print(
        String(
            format: "\nA purge of 100,000 entries: %.1f ms, with one shard %.1f ms", report.purgeOf100000Milliseconds,
            report.purgeOf100000WithOneShardMilliseconds))
}

var rounds = 5
var lookups: UInt32 = 2_000_000
var json: String?
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    switch (argument, arguments.popFirst()) {
    case ("--rounds", let value?): rounds = max(1, Int(value) ?? rounds)
    case ("--lookups", let value?): lookups = max(1, UInt32(value) ?? lookups)
    case ("--json", let value?): json = value
    default: fail("usage: bench-cache [--rounds N] [--lookups N] [--json FILE]")
    }
}
let load = bench_load_make(100_000, lookups)
let caches = [bench_core_cache, bench_core_exact_cache, bench_glib_cache] + swiftCaches()
let report = Report(
    keys: Int(load.key_count), lookups: Int(lookups), rounds: rounds,
    figures: measure(caches, load, rounds: rounds),
    purgeOf100000Milliseconds: (0..<rounds).map { _ in bench_core_purge(100_000, 0) }.min() ?? 0,
    purgeOf100000WithOneShardMilliseconds: (0..<rounds).map { _ in bench_core_purge(100_000, 1) }.min() ?? 0)
show(report)
if let json {
    do {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(report).write(to: URL(fileURLWithPath: json))
    } catch {
        fail("\(json) can't be written: \(error)")
    }
}
