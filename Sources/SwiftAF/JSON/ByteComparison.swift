/// Compares bytes, eight at a time, for keys of JSON objects (measured by the row `json_64` of `Benchmarks/run`).
enum ByteComparison {
    @inline(__always)
    static func areEqual(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        var rest = left.count
        guard let left = left.baseAddress, let right = right.baseAddress else { return rest == 0 }
        // The last eight bytes are compared as one word, which may overlap the word before it.
        if rest >= 8 {
            let last = rest - 8
            var at = 0
            while at < last {
                if word(left + at) != word(right + at) { return false }
                at += 8
            }
            return word(left + last) == word(right + last)
        }
        if rest >= 4 {
            let last = rest - 4
            return halfWord(left) == halfWord(right) && halfWord(left + last) == halfWord(right + last)
        }
        while rest > 0 {
            rest -= 1
            if left[rest] != right[rest] { return false }
        }
        return true
    }

    @inline(__always)
    private static func halfWord(_ bytes: UnsafePointer<UInt8>) -> UInt32 {
        UnsafeRawPointer(bytes).loadUnaligned(as: UInt32.self)
    }

    @inline(__always)
    private static func word(_ bytes: UnsafePointer<UInt8>) -> UInt64 {
        UnsafeRawPointer(bytes).loadUnaligned(as: UInt64.self)
    }
}
