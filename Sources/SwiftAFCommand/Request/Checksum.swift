import FoundationEssentials
import Glibc
import SwiftAF

/// `--checksum sha256:HEX`: what the downloaded file must hash to.
struct Checksum: Sendable, Equatable {
    let digest: [UInt8]

    init(_ text: String) throws(UsageError) {
        let digits = text.hasPrefix("sha256:") ? text.dropFirst(7).compactMap(\.hexDigitValue) : []
        guard digits.count == 64, text.utf8.count == 71 else {
            throw UsageError("invalid value for --checksum: expected sha256: and 64 hexadecimal digits")
        }
        digest = stride(from: 0, to: 64, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    /// The path of a file until it is found to be right.
    static func unverified(_ path: RawText) -> RawText {
        RawText(path.bytes + ".unverified".utf8)
    }

    /// Checks a file and gives it its name; removes it if it isn't the expected one.
    ///
    /// - Parameter replaces: Whether an existing file is replaced.
    func accept(_ file: RawText, as path: RawText, replaces: Bool) throws(SessionError) {
        let found = try Self.digest(of: file)
        guard found == digest else {
            _ = file.withCString { unlink($0) }
            let hexadecimal = found.map { Format.hexadecimal($0).lowercased() }.joined()
            throw SessionError(
                .protocol, message: "the file has another checksum, sha256:\(hexadecimal); it wasn't kept")
        }
        // A link isn't replaced, but its target is.
        let target = path.withCString { realpath($0, nil) }
        defer { free(target) }
        let name = target.map { RawText(UnsafeRawBufferPointer(start: $0, count: strlen($0))) } ?? path
        var status = stat()
        if name.withCString({ stat($0, &status) }) == 0 {
            _ = file.withCString { chmod($0, status.st_mode & 0o7777) }
        }
        let result = file.withCString { from in
            // A link never replaces a file.
            name.withCString { to in replaces ? rename(from, to) : link(from, to) }
        }
        if !replaces, result == 0 { _ = file.withCString { unlink($0) } }
        guard result == 0 else {
            let number = errno
            _ = file.withCString { unlink($0) }
            throw SessionError(.file, message: "cannot write \(path.shown.printable): \(systemMessage(number))")
        }
    }

    private static func digest(of file: RawText) throws(SessionError) -> [UInt8] {
        let descriptor = file.withCString { open($0, O_RDONLY | O_CLOEXEC) }
        defer { if descriptor >= 0 { close(descriptor) } }
        var hash = SHA256()
        var piece = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            guard !Task.isCancelled else { throw SessionError(.cancelled) }
            let count = descriptor < 0 ? -1 : read(descriptor, &piece, piece.count)
            guard count >= 0 else {
                throw SessionError(.file, message: "cannot read \(file.shown.printable): \(systemMessage(errno))")
            }
            guard count > 0 else { return hash.digest() }
            piece.withUnsafeBytes { hash.add(UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
        }
    }
}

/// The hash function SHA-256 (FIPS 180-4).
struct SHA256 {
    private var state: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]
    private var rest: [UInt8] = []
    private var size: UInt64 = 0

    /// The fractions of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = {
        var constants: [UInt32] = []
        var number: UInt32 = 2
        while constants.count < 64 {
            if (2..<number).allSatisfy({ $0 * $0 > number || number % $0 != 0 }) { constants.append(root(of: number)) }
            number += 1
        }
        return constants
    }()

    /// The first 32 bits behind the point of a cube root: the largest root of number·2⁹⁶, without its upper bits.
    private static func root(of number: UInt32) -> UInt32 {
        // The root is below 8; three more bits for what is in front of the point.
        var root: UInt64 = 0
        for bit in (0..<35).reversed() {
            let next = root | 1 << UInt64(bit)
            let square = next.multipliedFullWidth(by: next)
            // next³ ≤ number·2⁹⁶, in 128 bits: next is below 2³⁵, so its cube is below 2¹⁰⁵.
            let low = square.low.multipliedFullWidth(by: next)
            let high = low.high &+ square.high &* next
            if high < UInt64(number) << 32 || (high == UInt64(number) << 32 && low.low == 0) { root = next }
        }
        return UInt32(truncatingIfNeeded: root)
    }

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        size += UInt64(bytes.count)
        var bytes = bytes[...]
        if !rest.isEmpty {
            let missing = min(64 - rest.count, bytes.count)
            rest += bytes.prefix(missing)
            bytes = bytes.dropFirst(missing)
            guard rest.count == 64 else { return }
            let block = rest
            block.withUnsafeBytes { mix($0) }
            rest = []
        }
        while bytes.count >= 64 {
            mix(UnsafeRawBufferPointer(rebasing: bytes.prefix(64)))
            bytes = bytes.dropFirst(64)
        }
        rest = Array(bytes)
    }

    mutating func digest() -> [UInt8] {
        let bits = size &* 8
        var end: [UInt8] = [0x80] + [UInt8](repeating: 0, count: (119 - rest.count) % 64)
        end += (0..<8).map { UInt8(truncatingIfNeeded: bits >> UInt64(56 - 8 * $0)) }
        end.withUnsafeBytes { add($0) }
        return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> UInt32(24 - 8 * $0)) } }
    }

    private mutating func mix(_ block: UnsafeRawBufferPointer) {
        func turn(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { words in
            for index in 0..<16 {
                words[index] = UInt32(bigEndian: block.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self))
            }
            for index in 16..<64 {
                let (first, second) = (words[index - 15], words[index - 2])
                let low = turn(first, 7) ^ turn(first, 18) ^ first >> 3
                let high = turn(second, 17) ^ turn(second, 19) ^ second >> 10
                words[index] = words[index - 16] &+ low &+ words[index - 7] &+ high
            }
            var (a, b, c, d) = (state[0], state[1], state[2], state[3])
            var (e, f, g, h) = (state[4], state[5], state[6], state[7])
            for index in 0..<64 {
                let choice = (e & f) ^ (~e & g)
                let one =
                    h &+ (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) &+ choice &+ Self.constants[index] &+ words[index]
                let two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) &+ ((a & b) ^ (a & c) ^ (b & c))
                (h, g, f, e) = (g, f, e, d &+ one)
                (d, c, b, a) = (c, b, a, one &+ two)
            }
            for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= word }
        }
    }
}
