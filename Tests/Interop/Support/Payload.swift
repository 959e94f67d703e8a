import Foundation

/// A generator whose numbers are the same in every run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

/// Bytes to send around.
enum Payload {
    /// 64 MiB.
    static let large = bytes(64 << 20)
    /// 8 MiB.
    static let upload = bytes(8 << 20)
    /// 512 KiB.
    static let medium = bytes(512 << 10)
    /// 10,000 bytes.
    static let small = bytes(10_000)

    /// A random block whose length is prime is repeated, so that no two buffers of any round size are equal.
    private static let block: Data = {
        var generator = SeededGenerator(seed: 2)
        let words = (0..<12_500).map { _ in generator.next() }
        return words.withUnsafeBytes { Data($0) }.prefix(99_991)
    }()

    static func bytes(_ count: Int) -> Data {
        var data = Data(capacity: count + block.count)
        while data.count < count { data.append(block) }
        return data.prefix(count)
    }
}
