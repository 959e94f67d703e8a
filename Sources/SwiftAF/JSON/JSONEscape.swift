/// A character that is written as an escape in a string of JSON, such as `\n`, `\u00e9` or `\ud83d\ude00`.
struct JSONEscape {
    let scalar: Unicode.Scalar
    /// The size of the escape in bytes.
    let size: Int

    /// Reads the escape whose backslash is at `start`.
    init(_ text: UnsafePointer<UInt8>, at start: Int, end: Int) throws(JSONParser.Failure) {
        guard start + 1 < end else { throw JSONParser.Failure(reason: .unexpectedEnd, offset: end) }
        switch text[start + 1] {
        case UInt8(ascii: "\""): scalar = "\""
        case UInt8(ascii: "\\"): scalar = "\\"
        case UInt8(ascii: "/"): scalar = "/"
        case UInt8(ascii: "b"): scalar = "\u{8}"
        case UInt8(ascii: "f"): scalar = "\u{C}"
        case UInt8(ascii: "n"): scalar = "\n"
        case UInt8(ascii: "r"): scalar = "\r"
        case UInt8(ascii: "t"): scalar = "\t"
        case UInt8(ascii: "u"):
            (scalar, size) = try Self.unicode(text, at: start, end: end)
            return
        default: throw JSONParser.Failure(reason: .invalidEscape, offset: start)
        }
        size = 2
    }

    /// Reads `\uXXXX`, or two of them that form a surrogate pair.
    private static func unicode(
        _ text: UnsafePointer<UInt8>, at start: Int, end: Int
    ) throws(JSONParser.Failure) -> (Unicode.Scalar, Int) {
        let first = try hexadecimal(text, at: start, end: end)
        if let scalar = Unicode.Scalar(first) { return (scalar, 6) }
        guard first < 0xDC00, start + 7 < end, text[start + 6] == UInt8(ascii: "\\"),
            text[start + 7] == UInt8(ascii: "u")
        else { throw JSONParser.Failure(reason: .loneSurrogate, offset: start) }
        let second = try hexadecimal(text, at: start + 6, end: end)
        let combined = 0x10000 + ((first & 0x3FF) << 10 | (second & 0x3FF))
        guard (0xDC00...0xDFFF).contains(second), let scalar = Unicode.Scalar(combined) else {
            throw JSONParser.Failure(reason: .loneSurrogate, offset: start)
        }
        return (scalar, 12)
    }

    /// Returns the value of the four hexadecimal digits of the `\u` at `start`.
    private static func hexadecimal(
        _ text: UnsafePointer<UInt8>, at start: Int, end: Int
    ) throws(JSONParser.Failure) -> UInt32 {
        var number: UInt32 = 0
        for index in (start + 2)..<(start + 6) {
            guard index < end else { throw JSONParser.Failure(reason: .unexpectedEnd, offset: end) }
            guard let digit = digit(text[index]) else {
                throw JSONParser.Failure(reason: .invalidUnicodeEscape, offset: start)
            }
            number = number << 4 | digit
        }
        return number
    }

    private static func digit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A")) + 10
        default: nil
        }
    }
}

extension JSONEscape {
    /// Returns the content of a string without escapes. The parser must have checked the string.
    static func unescaped(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        guard let base = bytes.baseAddress else { return "" }
        // The result is never longer than the text: escapes of 2, 6 and 12 bytes stand for at most 1, 3 and 4 bytes.
        return String(unsafeUninitializedCapacity: bytes.count) { buffer in
            var (at, count) = (0, 0)
            while at < bytes.count {
                if bytes[at] != UInt8(ascii: "\\") {
                    buffer[count] = bytes[at]
                    at += 1
                    count += 1
                } else if let escape = try? JSONEscape(base, at: at, end: bytes.count) {
                    for byte in UTF8.encode(escape.scalar) ?? UTF8.encodedReplacementCharacter {
                        buffer[count] = byte
                        count += 1
                    }
                    at += escape.size
                } else {
                    return count
                }
            }
            return count
        }
    }

    /// Returns whether a string with escapes, which the parser has checked, is equal to `plain`. Stops at the first
    /// difference and needs no memory, because a hostile server can send escapes in every key, and each key is compared
    /// with each name of a type.
    static func areSame(_ escaped: UnsafeBufferPointer<UInt8>, _ plain: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let base = escaped.baseAddress else { return plain.isEmpty }
        var (at, count) = (0, 0)
        while at < escaped.count {
            if escaped[at] != UInt8(ascii: "\\") {
                guard count < plain.count, plain[count] == escaped[at] else { return false }
                at += 1
                count += 1
                continue
            }
            guard let escape = try? JSONEscape(base, at: at, end: escaped.count) else { return false }
            for byte in UTF8.encode(escape.scalar) ?? UTF8.encodedReplacementCharacter {
                guard count < plain.count, plain[count] == byte else { return false }
                count += 1
            }
            at += escape.size
        }
        return count == plain.count
    }
}
