/// The members of an object in a ``JSONTape``. Finds them by comparing names with the bytes of the text, without making
/// strings (measured by the row `json_64` of `Benchmarks/run`). Only for objects that are ``isSearchable``.
struct JSONMembers {
    /// The maximum number of members for which a linear search is used.
    private static let linearLimit = 32

    private let tokens: UnsafePointer<JSONToken>
    private let text: UnsafePointer<UInt8>
    /// The position of the first key.
    private let first: Int
    /// The position after the last value.
    private let end: Int
    let count: Int

    /// - Parameters:
    ///   - object: The position of the object's token. All tokens of the object must exist.
    ///   - text: The text that was parsed.
    init(of object: Int, in tokens: UnsafePointer<JSONToken>, text: UnsafePointer<UInt8>) {
        self.tokens = tokens
        self.text = text
        first = object + 1
        end = tokens[object].end(at: object)
        count = tokens[object].count
    }

    /// Whether members may be found by a search. Among many members, which a hostile server could send, it would be too
    /// slow; with repeated keys it would be wrong, because it finds the first one.
    var isSearchable: Bool { count <= Self.linearLimit && !haveRepeats }

    /// Returns the position of a member's value; nil if there is none. Fastest for the member at `next`: types decode
    /// their members in one order, which is usually the order in the text. `next` is then moved to the following
    /// member.
    ///
    /// - Parameter next: The position of the expected member: 0 at first, then the value that the previous call has
    ///   set.
    @inline(__always)
    func find(_ name: UnsafeBufferPointer<UInt8>, next: inout Int) -> Int? {
        guard count > 0 else { return nil }
        let expected = next >= first && next < end ? next : first
        let key = tokens[expected]
        guard !key.flag, ByteComparison.areEqual(bytes(of: key), name) else {
            return search(name, from: expected, next: &next)
        }
        next = tokens[expected + 1].end(at: expected + 1)
        return expected + 1
    }

    /// Searches all members, from the one at `expected` on. Not inlined, so that the usual case stays short.
    @inline(never)
    private func search(_ name: UnsafeBufferPointer<UInt8>, from expected: Int, next: inout Int) -> Int? {
        var position = expected
        for _ in 0..<count {
            let following = tokens[position + 1].end(at: position + 1)
            if isKey(at: position, name) {
                next = following
                return position + 1
            }
            position = following < end ? following : first
        }
        return nil
    }

    /// Whether a key is repeated.
    var haveRepeats: Bool {
        if count > Self.linearLimit { return JSONDirectory(named, keepsRepeats: true).hasRepeats }
        var seen: UInt64 = 0
        var position = first
        for _ in 0..<count {
            // Keys with different fingerprints are different; most keys are decided by this.
            let print = fingerprint(of: tokens[position])
            if seen & print != 0, isRepeated(before: position) { return true }
            seen |= print
            position = tokens[position + 1].end(at: position + 1)
        }
        return false
    }

    /// The keys in order, each with the position of its value.
    var named: [(name: String, position: Int)] {
        var named: [(name: String, position: Int)] = []
        named.reserveCapacity(count)
        var position = first
        for _ in 0..<count {
            named.append((string(at: position), position + 1))
            position = tokens[position + 1].end(at: position + 1)
        }
        return named
    }

    private func bytes(of key: JSONToken) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: text + key.start, count: key.size)
    }

    private func string(at position: Int) -> String {
        let key = tokens[position]
        if key.flag { return JSONEscape.unescaped(bytes(of: key)) }
        return String(decoding: bytes(of: key), as: UTF8.self)
    }

    /// Compares bytes (RFC 8259 8.3).
    @inline(__always)
    private func isKey(at position: Int, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        let key = tokens[position]
        if key.flag { return JSONEscape.areSame(bytes(of: key), name) }
        return ByteComparison.areEqual(bytes(of: key), name)
    }

    /// Returns whether an earlier member has the key at `position`. Not inlined, because it is rarely called.
    @inline(never)
    private func isRepeated(before position: Int) -> Bool {
        let key = tokens[position]
        var name = key.flag ? string(at: position) : ""
        return name.withUTF8 { unescaped in
            let name = key.flag ? unescaped : bytes(of: key)
            var earlier = first
            while earlier < position {
                if isKey(at: earlier, name) { return true }
                earlier = tokens[earlier + 1].end(at: earlier + 1)
            }
            return false
        }
    }

    /// Returns one of 64 bits, chosen by the size of a key and its last byte. All 64 bits if the key contains escapes.
    @inline(__always)
    private func fingerprint(of key: JSONToken) -> UInt64 {
        if key.flag { return .max }
        if key.size == 0 { return 1 }
        return 1 << UInt64(truncatingIfNeeded: (key.size &* 11 &+ Int(text[key.start &+ key.size &- 1])) & 63)
    }
}
