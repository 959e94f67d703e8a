public import FoundationEssentials

extension JSONValue {
    /// The handling of repeated keys in an object.
    ///
    /// RFC 8259 (section 4) allows repeated keys but calls the behaviour of software that receives them unpredictable;
    /// I-JSON (RFC 7493 2.3) forbids them. Programs that parse a document differently can be exploited, so
    /// there is one rule for all JSON in SwiftAF. The default is the one of ECMAScript's `JSON.parse` and of most other
    /// parsers: the last value is used.
    public enum RepeatedKeys: String, Sendable, Hashable, Codable {
        /// The last value is used, at the position of the first. The others are dropped.
        case lastCounts
        /// All members are kept, to be written as they were read. Looking up the key returns the last value.
        case kept
        /// Repeated keys are an error, ``JSONParseError/Reason/repeatedKey``, as in I-JSON.
        case refused
    }

    /// Parses JSON text strictly by RFC 8259: UTF-8, no comments, no trailing commas, no NaN. A leading UTF-8 byte
    /// order mark is accepted.
    ///
    /// - Parameters:
    ///   - data: The text.
    ///   - repeatedKeys: The handling of repeated keys in an object.
    ///   - maximumSize: The maximum size in bytes; a larger text isn't parsed. A negative size is 0. Nil for no limit.
    public init(
        parsing data: Data, repeatedKeys: RepeatedKeys = .lastCounts, maximumSize: Int? = nil
    ) throws(JSONParseError) {
        let result = data.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: UInt8.self) { Self.parse($0, repeatedKeys, maximumSize) }
        }
        self = try result.get()
    }

    /// Parses JSON text in UTF-8.
    public init(
        parsing bytes: [UInt8], repeatedKeys: RepeatedKeys = .lastCounts, maximumSize: Int? = nil
    ) throws(JSONParseError) {
        let result = bytes.withUnsafeBufferPointer { Self.parse($0, repeatedKeys, maximumSize) }
        self = try result.get()
    }

    /// Parses JSON text.
    public init(
        parsing text: String, repeatedKeys: RepeatedKeys = .lastCounts, maximumSize: Int? = nil
    ) throws(JSONParseError) {
        var text = text
        let result = text.withUTF8 { Self.parse($0, repeatedKeys, maximumSize) }
        self = try result.get()
    }

    private static func parse(
        _ text: UnsafeBufferPointer<UInt8>, _ repeatedKeys: RepeatedKeys, _ maximumSize: Int?
    ) -> Result<JSONValue, JSONParseError> {
        do throws(JSONParseError) {
            let tape = try JSONParser.parse(text, refusesRepeats: repeatedKeys == .refused, maximumSize: maximumSize)
            return .success(tape.value(at: 0, keepsRepeats: repeatedKeys == .kept))
        } catch {
            return .failure(error)
        }
    }
}

/// A single-pass parser that makes a ``JSONTape``. The only parser of JSON in this module: trees and decoded types are
/// made from its tapes.
struct JSONParser: ~Copyable {
    /// The reason and the offset of an error. Line and column are computed only when it is reported.
    struct Failure: Error {
        let reason: JSONParseError.Reason
        let offset: Int
    }

    private let base: UnsafePointer<UInt8>
    private let end: Int
    private let refusesRepeats: Bool
    private var at = 0
    private var depth = 0
    private var tokens: TokenStack

    /// Parses a text. The tape refers to it.
    static func parse(
        _ text: UnsafeBufferPointer<UInt8>, refusesRepeats: Bool, maximumSize: Int?
    ) throws(JSONParseError) -> JSONTape {
        // Clamped, because a coder that was decoded may have any number.
        if let limit = maximumSize.map({ max(0, $0) }), text.count > limit {
            throw JSONParseError(.tooLarge, at: limit, in: text)
        }
        guard let base = text.baseAddress else { throw JSONParseError(.empty, at: 0, in: text) }
        var parser = JSONParser(base: base, count: text.count, refusesRepeats: refusesRepeats)
        do throws(Failure) {
            try parser.parseDocument()
        } catch {
            throw JSONParseError(error.reason, at: error.offset, in: text)
        }
        return parser.tokens.tape(of: base, size: text.count)
    }

    private init(base: UnsafePointer<UInt8>, count: Int, refusesRepeats: Bool) {
        self.base = base
        end = count
        self.refusesRepeats = refusesRepeats
        // An estimate that suffices for most texts. The stack grows for the others.
        tokens = TokenStack(capacity: count / 6 + 8)
    }

    private mutating func parseDocument() throws(Failure) {
        if end >= 3, base[0] == 0xEF, base[1] == 0xBB, base[2] == 0xBF { at = 3 }
        skipBlanks()
        guard at < end else { throw fail(.empty) }
        try parseValue(from: base[at])
        skipBlanks()
        guard at == end else { throw fail(.trailingBytes) }
        tokens.push(.null)
    }

    private func fail(_ reason: JSONParseError.Reason) -> Failure {
        Failure(reason: reason, offset: at)
    }

    @inline(__always)
    private mutating func skipBlanks() {
        while at < end {
            let byte = base[at]
            guard byte <= 0x20, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            at += 1
        }
    }

    /// Skips white space and returns the byte at the cursor, without consuming it; fails at the end of the text.
    @inline(__always)
    private mutating func nextByte() throws(Failure) -> UInt8 {
        skipBlanks()
        guard at < end else { throw fail(.unexpectedEnd) }
        return base[at]
    }

    /// - Parameter first: The byte at the cursor.
    private mutating func parseValue(from first: UInt8) throws(Failure) {
        switch first {
        case UInt8(ascii: "\""):
            at += 1
            tokens.push(try parseString())
        case UInt8(ascii: "{"): try parseObject()
        case UInt8(ascii: "["): try parseArray()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): tokens.push(try parseNumber())
        case UInt8(ascii: "t"): try parseLiteral("true", .bool(true))
        case UInt8(ascii: "f"): try parseLiteral("false", .bool(false))
        case UInt8(ascii: "n"): try parseLiteral("null", .null)
        default: throw fail(.unexpectedByte)
        }
    }

    private mutating func parseLiteral(_ word: StaticString, _ value: JSONToken) throws(Failure) {
        let length = word.utf8CodeUnitCount
        for index in 0..<length {
            guard at + index < end else {
                at = end
                throw fail(.unexpectedEnd)
            }
            guard base[at + index] == word.utf8Start[index] else { throw fail(.invalidLiteral) }
        }
        at += length
        tokens.push(value)
    }

    private mutating func enter() throws(Failure) {
        guard depth < JSONValue.maximumDepth else { throw fail(.tooDeep) }
        depth += 1
        at += 1
    }

    private mutating func leave() {
        depth -= 1
        at += 1
    }

    private mutating func parseArray() throws(Failure) {
        try enter()
        let opening = tokens.count
        tokens.push(.null)
        var count = 0
        var byte = try nextByte()
        if byte != UInt8(ascii: "]") {
            while true {
                try parseValue(from: byte)
                count += 1
                byte = try nextByte()
                if byte == UInt8(ascii: "]") { break }
                guard byte == UInt8(ascii: ",") else { throw fail(.expectedCommaOrBracket) }
                at += 1
                byte = try nextByte()
                if byte == UInt8(ascii: "]") { throw fail(.trailingComma) }
            }
        }
        leave()
        tokens.replace(at: opening, with: .container(.array, count: count, end: tokens.count))
    }

    private mutating func parseObject() throws(Failure) {
        try enter()
        let opening = tokens.count
        tokens.push(.null)
        var count = 0
        var byte = try nextByte()
        if byte != UInt8(ascii: "}") {
            while true {
                try parseMember(from: byte)
                count += 1
                byte = try nextByte()
                if byte == UInt8(ascii: "}") { break }
                guard byte == UInt8(ascii: ",") else { throw fail(.expectedCommaOrBrace) }
                at += 1
                byte = try nextByte()
                if byte == UInt8(ascii: "}") { throw fail(.trailingComma) }
            }
        }
        tokens.replace(at: opening, with: .container(.object, count: count, end: tokens.count))
        if refusesRepeats, JSONMembers(of: opening, in: tokens.base, text: base).haveRepeats {
            throw fail(.repeatedKey)
        }
        leave()
    }

    /// - Parameter first: The byte at the cursor.
    private mutating func parseMember(from first: UInt8) throws(Failure) {
        guard first == UInt8(ascii: "\"") else { throw fail(.expectedKey) }
        at += 1
        tokens.push(try parseString())
        guard try nextByte() == UInt8(ascii: ":") else { throw fail(.expectedColon) }
        at += 1
        try parseValue(from: try nextByte())
    }
}

// MARK: - Strings

extension JSONParser {
    /// Parses a string. The cursor is after its opening quote.
    private mutating func parseString() throws(Failure) -> JSONToken {
        let start = at
        var isASCII = skipPlainBytes()
        var isEscaped = false
        while true {
            guard at < end else { throw fail(.unexpectedEnd) }
            switch base[at] {
            case UInt8(ascii: "\""):
                // The text is checked before escapes are replaced: escapes are ASCII, so they can't complete a
                // truncated UTF-8 sequence.
                if !isASCII { try checkUTF8(from: start) }
                at += 1
                return .text(.string, from: start, count: at - 1 - start, isEscaped: isEscaped)
            case UInt8(ascii: "\\"):
                isEscaped = true
                at += try JSONEscape(base, at: at, end: end).size
                isASCII = skipPlainBytes() && isASCII
            default:
                throw fail(.controlCharacter)
            }
        }
    }

    /// Skips to the next quote, backslash or control character, or to the end. Returns whether all skipped bytes are
    /// ASCII.
    @inline(__always)
    private mutating func skipPlainBytes() -> Bool {
        var seen: UInt64 = 0
        var place = at
        // Compares eight bytes at a time: the high bit of each byte of the terms is set if that byte matches. The
        // subtraction's borrow can cause a false match, but only in a byte above a true one, so the lowest match is
        // always true.
        while end &- place >= 8 {
            let word = UInt64(littleEndian: UnsafeRawPointer(base + place).loadUnaligned(as: UInt64.self))
            let quotes = word ^ 0x2222_2222_2222_2222
            let escapes = word ^ 0x5C5C_5C5C_5C5C_5C5C
            let hits =
                (((quotes &- 0x0101_0101_0101_0101) & ~quotes)
                    | ((escapes &- 0x0101_0101_0101_0101) & ~escapes)
                    | ((word &- 0x2020_2020_2020_2020) & ~word)) & 0x8080_8080_8080_8080
            if hits != 0 {
                // The bits below the lowest match are those of the bytes before it, and seven bits of its own byte.
                at = place &+ hits.trailingZeroBitCount / 8
                return (seen | word & ((hits & (0 &- hits)) &- 1)) & 0x8080_8080_8080_8080 == 0
            }
            seen |= word
            place &+= 8
        }
        at = place
        return skipLastPlainBytes() && seen & 0x8080_8080_8080_8080 == 0
    }

    /// Does the same for the last bytes of a text, fewer than eight.
    @inline(never)
    private mutating func skipLastPlainBytes() -> Bool {
        var seen: UInt8 = 0
        while at < end {
            let byte = base[at]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
            seen |= byte
            at += 1
        }
        return seen < 0x80
    }

    /// Checks the bytes from `start` to the cursor by Unicode's table of well-formed sequences (3-7).
    private func checkUTF8(from start: Int) throws(Failure) {
        var offset = start
        while offset < at {
            let first = base[offset]
            if first < 0x80 {
                offset += 1
                continue
            }
            let (size, second): (Int, ClosedRange<UInt8>)
            switch first {
            case 0xC2...0xDF: (size, second) = (2, 0x80...0xBF)
            case 0xE0: (size, second) = (3, 0xA0...0xBF)
            case 0xED: (size, second) = (3, 0x80...0x9F)
            case 0xE1...0xEF: (size, second) = (3, 0x80...0xBF)
            case 0xF0: (size, second) = (4, 0x90...0xBF)
            case 0xF1...0xF3: (size, second) = (4, 0x80...0xBF)
            case 0xF4: (size, second) = (4, 0x80...0x8F)
            default: throw Failure(reason: .invalidUTF8, offset: offset)
            }
            guard offset + size <= at, second.contains(base[offset + 1]), size < 3 || base[offset + 2] & 0xC0 == 0x80,
                size < 4 || base[offset + 3] & 0xC0 == 0x80
            else { throw Failure(reason: .invalidUTF8, offset: offset) }
            offset += size
        }
    }
}

// MARK: - Numbers

extension JSONParser {
    private mutating func parseNumber() throws(Failure) -> JSONToken {
        let start = at
        if base[at] == UInt8(ascii: "-") { at += 1 }
        let first = at
        var mantissa: UInt64 = 0
        guard at < end else { throw fail(.unexpectedEnd) }
        if base[at] == UInt8(ascii: "0"), at + 1 < end, ASCII.isDigit(base[at + 1]) { throw fail(.leadingZero) }
        try parseDigits(into: &mantissa)
        var scale = 0
        if at < end, base[at] == UInt8(ascii: ".") {
            at += 1
            let point = at
            try parseDigits(into: &mantissa)
            scale = at - point
        }
        // Nineteen digits always fit into 64 bits; more digits are checked one by one.
        let fits = at - first <= 19 || Self.fit(UnsafeBufferPointer(start: base + first, count: at - first))
        let hasExponent = at < end && base[at] | 0x20 == UInt8(ascii: "e")
        if hasExponent { try parseExponent() }
        if fits, !hasExponent, let scale = UInt8(exactly: scale) {
            return .digits(JSONNumber.Digits(mantissa: mantissa, scale: scale, isNegative: first > start))
        }
        return .text(.number, from: start, count: at - start)
    }

    /// Parses one or more digits and appends them to `mantissa`. The result is valid only if all of its digits
    /// ``fit(_:)``.
    @inline(__always)
    private mutating func parseDigits(into mantissa: inout UInt64) throws(Failure) {
        let start = at
        while at < end, ASCII.isDigit(base[at]) {
            mantissa = mantissa &* 10 &+ UInt64(base[at] &- UInt8(ascii: "0"))
            at += 1
        }
        guard at > start else { throw fail(at == end ? .unexpectedEnd : .invalidNumber) }
    }

    /// Returns whether the digits, with or without a decimal point, fit into a 64-bit integer.
    private static func fit(_ digits: UnsafeBufferPointer<UInt8>) -> Bool {
        var mantissa: UInt64 = 0
        for byte in digits where byte != UInt8(ascii: ".") {
            let (tenfold, overflow) = mantissa.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tenfold.addingReportingOverflow(UInt64(byte &- UInt8(ascii: "0")))
            if overflow || carry { return false }
            mantissa = sum
        }
        return true
    }

    /// Skips `e`, a sign and digits.
    private mutating func parseExponent() throws(Failure) {
        at += 1
        if at < end, base[at] == UInt8(ascii: "-") || base[at] == UInt8(ascii: "+") { at += 1 }
        var ignored: UInt64 = 0
        try parseDigits(into: &ignored)
    }
}
