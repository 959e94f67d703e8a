import Foundation

/// Changes seeds in the ways that break parsers. The same start gives the same inputs on every machine, so a failure
/// is found again by running the test again.
struct Mutator {
    private var state: UInt64
    private let seeds: [[UInt8]]
    private let fragments: [[UInt8]]

    /// - Parameters:
    ///   - seeds: Inputs to begin with, each given as it is first.
    ///   - fragments: Pieces that mean something to the parser.
    init(seeds: [String], fragments: [String], start: UInt64) {
        self.init(seeds: seeds.map { Array($0.utf8) }, fragments: fragments.map { Array($0.utf8) }, start: start)
    }

    init(seeds: [[UInt8]], fragments: [[UInt8]], start: UInt64) {
        self.seeds = seeds
        self.fragments = fragments
        state = start
    }

    /// How many of so many inputs are made: a tenth under tools that make everything slow, which set `AF_TEST_ROUNDS`.
    static func amount(_ count: Int) -> Int {
        ProcessInfo.processInfo.environment["AF_TEST_ROUNDS"] == nil ? count : count / 10
    }

    /// Calls `check` with each seed and then with an ``amount(_:)`` of inputs made of them.
    mutating func run(_ count: Int, _ check: ([UInt8]) throws -> Void) rethrows {
        for seed in seeds { try check(seed) }
        for _ in 0..<Self.amount(count) { try check(next()) }
    }

    /// A number from 0 to `bound - 1`.
    mutating func number(below bound: Int) -> Int {
        // SplitMix64, which needs no more than any start.
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
    }

    private mutating func next() -> [UInt8] {
        var bytes = seeds[number(below: seeds.count)]
        for _ in 0...number(below: 5) { mutate(&bytes) }
        return bytes
    }

    private mutating func mutate(_ bytes: inout [UInt8]) {
        let place = number(below: bytes.count + 1)
        switch number(below: 6) {
        case 0: bytes.insert(UInt8(number(below: 256)), at: place)
        case 1: bytes.insert(contentsOf: fragments[number(below: fragments.count)], at: place)
        case 2: bytes.removeSubrange(place..<min(bytes.count, place + 1 + number(below: 4)))
        case 3: bytes.removeSubrange(place...)
        case 4 where place < bytes.count: bytes[place] ^= 1 << UInt8(number(below: 8))
        case 5:
            let end = min(bytes.count, place + number(below: 16))
            bytes.insert(contentsOf: bytes[place..<end], at: number(below: bytes.count + 1))
        default: break
        }
    }
}
