package import FoundationEssentials

/// The charsets that text bodies can be decoded from.
package enum Charset: Sendable {
    case utf8, ascii, latin1, windows1252
    case utf16, utf16LittleEndian, utf16BigEndian, utf32, utf32LittleEndian, utf32BigEndian
    /// A charset that the C library converts.
    case legacy(LegacyCharset)

    /// Creates a charset from a label of Content-Type; nil if it isn't supported. The labels are those of the WHATWG
    /// encoding standard (section 4.2), case-insensitive. White space and single quotes around them, which some servers
    /// send, are ignored. UTF-32, which that standard leaves out, is known by the names that IANA registers.
    package init?(label: String) {
        // Fast path for nearly all responses, without allocating a string.
        if label == "utf-8" {
            self = .utf8
            return
        }
        var bytes = Substring(label).utf8.drop(while: Self.isAround)
        while let last = bytes.last, Self.isAround(last) { bytes = bytes.dropLast() }
        let name = ASCII.lowercased(String(Substring(bytes)))
        switch name {
        case "utf-8", "utf8", "unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "x-unicode20utf8": self = .utf8
        case "us-ascii", "ascii", "ansi_x3.4-1968": self = .ascii
        case "iso-8859-1", "iso8859-1", "iso88591", "iso_8859-1", "iso_8859-1:1987", "iso-ir-100", "csisolatin1",
            "latin1", "l1", "cp819", "ibm819":
            self = .latin1
        case "windows-1252", "cp1252", "x-cp1252": self = .windows1252
        case "utf-16", "utf16": self = .utf16
        case "utf-16le", "ucs-2", "iso-10646-ucs-2", "csunicode", "unicode", "unicodefeff": self = .utf16LittleEndian
        case "utf-16be", "unicodefffe": self = .utf16BigEndian
        case "utf-32", "utf32": self = .utf32
        case "utf-32le": self = .utf32LittleEndian
        case "utf-32be": self = .utf32BigEndian
        default:
            guard let legacy = LegacyCharset(label: name) else { return nil }
            self = .legacy(legacy)
        }
    }

    /// Returns whether a text has code units of more than one byte, so that zero bytes in it don't mean that it is
    /// binary.
    ///
    /// - Parameters:
    ///   - start: The start of the text. Four bytes suffice.
    ///   - label: The declared charset; nil without one.
    package static func isWide(_ start: Data, label: String?) -> Bool {
        let charset = label.map { Charset(label: $0) } ?? .utf8
        switch charset {
        case .utf8?: return ByteOrderMark(of: start)?.isWide ?? false
        case .utf16?, .utf16LittleEndian?, .utf16BigEndian?, .utf32?, .utf32LittleEndian?, .utf32BigEndian?:
            return ByteOrderMark(of: start)?.isWide ?? true
        case .ascii?, .latin1?, .windows1252?, .legacy?, nil: return false
        }
    }

    /// Whether code units have more than one byte, so that the byte of a CR or LF may be part of another character.
    var isWide: Bool {
        switch self {
        case .utf16, .utf16LittleEndian, .utf16BigEndian, .utf32, .utf32LittleEndian, .utf32BigEndian: true
        case .utf8, .ascii, .latin1, .windows1252, .legacy: false
        }
    }

    private static func isAround(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "'") || byte == 0x20 || (0x09...0x0D).contains(byte)
    }

    /// Decodes a body without a declared charset: by its byte order mark; else as UTF-8 if valid; else as ISO-8859-1,
    /// HTTP's historic default, in which every byte is valid.
    static func guess(_ body: Data) -> String {
        let charset = ByteOrderMark(of: body)?.charset ?? .utf8
        return charset.decode(body) ?? decodeBytes(body) { UInt32($0) }
    }

    /// Decodes the bytes; nil if they aren't valid in this charset. A byte order mark isn't part of the text. If the
    /// label is a Unicode encoding, the mark overrides it.
    package func decode(_ body: Data) -> String? {
        switch self {
        case .ascii: return body.allSatisfy { $0 < 0x80 } ? String(decoding: body, as: UTF8.self) : nil
        case .latin1: return Self.decodeBytes(body) { UInt32($0) }
        case .windows1252: return Self.decodeBytes(body, Self.windows1252Scalar)
        case .legacy(let charset): return charset.decode(body)
        case .utf8, .utf16, .utf16LittleEndian, .utf16BigEndian, .utf32, .utf32LittleEndian, .utf32BigEndian: break
        }
        let mark = ByteOrderMark(of: body)
        let text = body.dropFirst(mark?.length ?? 0)
        switch mark?.charset ?? self {
        case .utf16LittleEndian: return Self.decodeUTF16(text) { UInt16($0) | UInt16($1) << 8 }
        // Without a byte order mark, "UTF-16" is big-endian (RFC 2781 4.3).
        case .utf16, .utf16BigEndian: return Self.decodeUTF16(text) { UInt16($0) << 8 | UInt16($1) }
        case .utf32LittleEndian: return Self.decodeUTF32(text) { UInt32(littleEndian: $0) }
        // Without a byte order mark, "UTF-32" is big-endian, too (The Unicode Standard, section 3.10, D101).
        case .utf32, .utf32BigEndian: return Self.decodeUTF32(text) { UInt32(bigEndian: $0) }
        default: return String(validating: text, as: UTF8.self)
        }
    }

    /// A byte order mark and the Unicode encoding that it stands for.
    private struct ByteOrderMark {
        let charset: Charset
        let length: Int
        var isWide: Bool { if case .utf8 = charset { false } else { true } }

        init?(of body: Data) {
            func byte(_ index: Int) -> UInt8? { index < body.count ? body[body.startIndex + index] : nil }
            switch (byte(0), byte(1), byte(2), byte(3)) {
            // Compared before UTF-16, whose mark is the beginning of this one: no text in UTF-16 begins with a zero
            // character.
            case (0xFF, 0xFE, 0, 0): (charset, length) = (.utf32LittleEndian, 4)
            case (0, 0, 0xFE, 0xFF): (charset, length) = (.utf32BigEndian, 4)
            case (0xEF, 0xBB, 0xBF, _): (charset, length) = (.utf8, 3)
            case (0xFF, 0xFE, _, _): (charset, length) = (.utf16LittleEndian, 2)
            case (0xFE, 0xFF, _, _): (charset, length) = (.utf16BigEndian, 2)
            default: return nil
            }
        }
    }

    private static func decodeUTF16(_ bytes: Data, _ unit: (UInt8, UInt8) -> UInt16) -> String? {
        guard bytes.count.isMultiple(of: 2) else { return nil }
        let start = bytes.startIndex
        let units = (0..<bytes.count / 2).map { unit(bytes[start + 2 * $0], bytes[start + 2 * $0 + 1]) }
        return String(validating: units, as: UTF16.self)
    }

    private static func decodeUTF32(_ bytes: Data, _ unit: (UInt32) -> UInt32) -> String? {
        guard bytes.count.isMultiple(of: 4) else { return nil }
        let units = bytes.withUnsafeBytes { bytes in
            (0..<bytes.count / 4).map { unit(bytes.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self)) }
        }
        return String(validating: units, as: UTF32.self)
    }

    /// Decodes a charset with one byte per character, all in the Basic Multilingual Plane.
    private static func decodeBytes(_ bytes: Data, _ scalar: (UInt8) -> UInt32) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 3) { utf8 in
            var end = 0
            for byte in bytes {
                for unit in UTF8.encode(Unicode.Scalar(scalar(byte)) ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter
                {
                    utf8[end] = unit
                    end += 1
                }
            }
            return end
        }
    }

    /// Windows-1252 differs from ISO-8859-1 in 0x80 to 0x9F only. Bytes that it leaves undefined map to control
    /// characters, as in the WHATWG encoding standard.
    private static func windows1252Scalar(_ byte: UInt8) -> UInt32 {
        (0x80..<0xA0).contains(byte) ? windows1252Extras[Int(byte) - 0x80] : UInt32(byte)
    }

    private static let windows1252Extras: [UInt32] = [
        0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008D,
        0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A,
        0x0153, 0x009D, 0x017E, 0x0178,
    ]
}
