public import FoundationEssentials

extension JSONValue {
    /// The handling of repeated keys in an object.
    ///
    /// RFC 8259 (section 4) allows repeated keys but calls the behaviour of software that receives them unpredictable;
    /// I-JSON (RFC 7493, section 2.3) forbids them. Programs that parse a document differently can be exploited, so
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
    ///   - maximumSize: The maximum size in bytes; a larger text isn't parsed. Nil for no limit.
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
        if let maximumSize, text.count > maximumSize {
            return .failure(JSONParseError(.tooLarge, at: maximumSize, in: text))
        }
        guard let base = text.baseAddress else { return .failure(JSONParseError(.empty, at: 0, in: text)) }
        var parser = JSONParser(base: base, count: text.count, repeatedKeys: repeatedKeys)
        do throws(JSONParser.Failure) {
            return .success(try parser.parseDocument())
        } catch {
            return .failure(JSONParseError(error.reason, at: error.offset, in: text))
        }
    }
}

/// A single-pass parser that copies only strings.
///
/// The elements of open arrays and objects are collected on two shared stacks, so that each container is allocated
/// once, at its final size.
struct JSONParser: ~Copyable {
    /// The reason and the offset of an error. Line and column are computed only when it is reported.
    struct Failure: Error {
        let reason: JSONParseError.Reason
        let offset: Int
    }

    private let base: UnsafePointer<UInt8>
    private let end: Int
    private let repeatedKeys: JSONValue.RepeatedKeys
    private var at = 0
    private var depth = 0
    private var elements = ParseStack<JSONValue>()
    private var entries = ParseStack<JSONObject.Entry>()

    init(base: UnsafePointer<UInt8>, count: Int, repeatedKeys: JSONValue.RepeatedKeys) {
        self.base = base
        end = count
        self.repeatedKeys = repeatedKeys
    }

    mutating func parseDocument() throws(Failure) -> JSONValue {
        if end >= 3, base[0] == 0xEF, base[1] == 0xBB, base[2] == 0xBF { at = 3 }
        skipBlanks()
        guard at < end else { throw fail(.empty) }
        let value = try parseValue()
        skipBlanks()
        guard at == end else { throw fail(.trailingBytes) }
        return value
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

    /// Skips white space and returns the byte at the cursor; fails at the end of the text.
    @inline(__always)
    private mutating func nextByte() throws(Failure) -> UInt8 {
        skipBlanks()
        guard at < end else { throw fail(.unexpectedEnd) }
        return base[at]
    }

    private mutating func parseValue() throws(Failure) -> JSONValue {
        switch base[at] {
        case UInt8(ascii: "\""):
            at += 1
            return .string(try parseString())
        case UInt8(ascii: "{"): return try parseObject()
        case UInt8(ascii: "["): return try parseArray()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try parseNumber())
        case UInt8(ascii: "t"): return try parseLiteral("true", .bool(true))
        case UInt8(ascii: "f"): return try parseLiteral("false", .bool(false))
        case UInt8(ascii: "n"): return try parseLiteral("null", .null)
        default: throw fail(.unexpectedByte)
        }
    }

    private mutating func parseLiteral(_ word: StaticString, _ value: JSONValue) throws(Failure) -> JSONValue {
        let length = word.utf8CodeUnitCount
        for index in 0..<length {
            guard at + index < end else {
                at = end
                throw fail(.unexpectedEnd)
            }
            guard base[at + index] == word.utf8Start[index] else { throw fail(.invalidLiteral) }
        }
        at += length
        return value
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

    private mutating func parseArray() throws(Failure) -> JSONValue {
        try enter()
        if try nextByte() == UInt8(ascii: "]") {
            leave()
            return .array([])
        }
        let start = elements.count
        while true {
            elements.push(try parseValue())
            let byte = try nextByte()
            if byte == UInt8(ascii: "]") { break }
            guard byte == UInt8(ascii: ",") else { throw fail(.expectedCommaOrBracket) }
            at += 1
            if try nextByte() == UInt8(ascii: "]") { throw fail(.trailingComma) }
        }
        leave()
        return .array(elements.popAll(from: start))
    }

    private mutating func parseObject() throws(Failure) -> JSONValue {
        try enter()
        if try nextByte() == UInt8(ascii: "}") {
            leave()
            return .object(JSONObject())
        }
        let start = entries.count
        while true {
            try parseMember()
            let byte = try nextByte()
            if byte == UInt8(ascii: "}") { break }
            guard byte == UInt8(ascii: ",") else { throw fail(.expectedCommaOrBrace) }
            at += 1
            if try nextByte() == UInt8(ascii: "}") { throw fail(.trailingComma) }
        }
        let object = JSONObject(entries: entries.popAll(from: start), keepsRepeats: repeatedKeys != .lastCounts)
        if object.hasRepeats, repeatedKeys == .refused { throw fail(.repeatedKey) }
        leave()
        return .object(object)
    }

    private mutating func parseMember() throws(Failure) {
        guard try nextByte() == UInt8(ascii: "\"") else { throw fail(.expectedKey) }
        at += 1
        let key = try parseString()
        guard try nextByte() == UInt8(ascii: ":") else { throw fail(.expectedColon) }
        at += 1
        _ = try nextByte()
        entries.push(JSONObject.Entry(key: key, value: try parseValue()))
    }
}

// MARK: - Strings

extension JSONParser {
    /// Parses a string. The cursor is after its opening quote.
    private mutating func parseString() throws(Failure) -> String {
        let start = at
        let isASCII = skipPlainBytes()
        guard at < end else { throw fail(.unexpectedEnd) }
        switch base[at] {
        case UInt8(ascii: "\""):
            let text = try makeString(from: start, isASCII: isASCII)
            at += 1
            return text
        case UInt8(ascii: "\\"):
            return try parseEscapedString(from: start)
        default:
            throw fail(.controlCharacter)
        }
    }

    /// Skips to the next quote, backslash or control character, or to the end. Returns whether all skipped bytes are
    /// ASCII.
    @inline(__always)
    private mutating func skipPlainBytes() -> Bool {
        var seen: UInt64 = 0
        // Eight bytes at a time: each term has the high bit of a byte set if that byte matches. A borrow can cause a
        // false match above a true one but never hide one; the loop below finds the exact position.
        while at + 8 <= end {
            let word = UnsafeRawPointer(base + at).loadUnaligned(as: UInt64.self)
            let quotes = word ^ 0x2222_2222_2222_2222
            let escapes = word ^ 0x5C5C_5C5C_5C5C_5C5C
            let hits =
                ((quotes &- 0x0101_0101_0101_0101) & ~quotes)
                | ((escapes &- 0x0101_0101_0101_0101) & ~escapes)
                | ((word &- 0x2020_2020_2020_2020) & ~word)
            if hits & 0x8080_8080_8080_8080 != 0 { break }
            seen |= word
            at += 8
        }
        var rest: UInt8 = 0
        while at < end {
            let byte = base[at]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
            rest |= byte
            at += 1
        }
        return (seen & 0x8080_8080_8080_8080) == 0 && rest < 0x80
    }

    @inline(__always)
    private func makeString(from start: Int, isASCII: Bool) throws(Failure) -> String {
        let bytes = UnsafeBufferPointer(start: base + start, count: at - start)
        if isASCII { return String(decoding: bytes, as: UTF8.self) }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw invalidUTF8(from: start) }
        return text
    }

    /// Continues at the first backslash of a string that started at `start`.
    private mutating func parseEscapedString(from start: Int) throws(Failure) -> String {
        var bytes = Array(UnsafeBufferPointer(start: base + start, count: at - start))
        var isASCII = bytes.allSatisfy { $0 < 0x80 }
        while true {
            guard at < end else { throw fail(.unexpectedEnd) }
            switch base[at] {
            case UInt8(ascii: "\\"):
                try parseEscape(into: &bytes)
            case UInt8(ascii: "\""):
                // Escapes produce valid UTF-8 only. They can't complete a truncated sequence of the plain bytes either,
                // because an escape never starts with a continuation byte.
                guard isASCII || String(validating: bytes, as: UTF8.self) != nil else {
                    throw invalidUTF8(from: start)
                }
                at += 1
                return String(decoding: bytes, as: UTF8.self)
            case 0..<0x20:
                throw fail(.controlCharacter)
            default:
                let plain = at
                isASCII = skipPlainBytes() && isASCII
                bytes.append(contentsOf: UnsafeBufferPointer(start: base + plain, count: at - plain))
            }
        }
    }

    private mutating func parseEscape(into bytes: inout [UInt8]) throws(Failure) {
        guard at + 1 < end else {
            at = end
            throw fail(.unexpectedEnd)
        }
        switch base[at + 1] {
        case UInt8(ascii: "\""): bytes.append(UInt8(ascii: "\""))
        case UInt8(ascii: "\\"): bytes.append(UInt8(ascii: "\\"))
        case UInt8(ascii: "/"): bytes.append(UInt8(ascii: "/"))
        case UInt8(ascii: "b"): bytes.append(0x08)
        case UInt8(ascii: "f"): bytes.append(0x0C)
        case UInt8(ascii: "n"): bytes.append(0x0A)
        case UInt8(ascii: "r"): bytes.append(0x0D)
        case UInt8(ascii: "t"): bytes.append(0x09)
        case UInt8(ascii: "u"):
            bytes.append(contentsOf: UTF8.encode(try parseUnicodeEscape()) ?? UTF8.encodedReplacementCharacter)
            return
        default: throw fail(.invalidEscape)
        }
        at += 2
    }

    /// Parses `\uXXXX`, or two of them that form a surrogate pair.
    private mutating func parseUnicodeEscape() throws(Failure) -> Unicode.Scalar {
        let first = try parseHexadecimal(after: at)
        if let scalar = Unicode.Scalar(first) {
            at += 6
            return scalar
        }
        guard first < 0xDC00, at + 7 < end, base[at + 6] == UInt8(ascii: "\\"), base[at + 7] == UInt8(ascii: "u") else {
            throw fail(.loneSurrogate)
        }
        let second = try parseHexadecimal(after: at + 6)
        let combined = 0x10000 + ((first & 0x3FF) << 10 | (second & 0x3FF))
        guard (0xDC00...0xDFFF).contains(second), let scalar = Unicode.Scalar(combined) else {
            throw fail(.loneSurrogate)
        }
        at += 12
        return scalar
    }

    /// Returns the value of the four hexadecimal digits of the `\u` at `escape`.
    private func parseHexadecimal(after escape: Int) throws(Failure) -> UInt32 {
        var number: UInt32 = 0
        for index in (escape + 2)..<(escape + 6) {
            guard index < end else { throw Failure(reason: .unexpectedEnd, offset: end) }
            guard let digit = Self.hexadecimalDigit(base[index]) else {
                throw Failure(reason: .invalidUnicodeEscape, offset: escape)
            }
            number = number << 4 | digit
        }
        return number
    }

    private static func hexadecimalDigit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A")) + 10
        default: nil
        }
    }

    /// Finds the first invalid byte of the string that started at `start`.
    private func invalidUTF8(from start: Int) -> Failure {
        var decoder = UTF8()
        var bytes = UnsafeBufferPointer(start: base + start, count: end - start).makeIterator()
        var offset = start
        while case .scalarValue(let scalar) = decoder.decode(&bytes) { offset += UTF8.width(scalar) }
        return Failure(reason: .invalidUTF8, offset: min(offset, at))
    }
}

// MARK: - Numbers

extension JSONParser {
    private mutating func parseNumber() throws(Failure) -> JSONNumber {
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
        // Nineteen digits always fit into 64 bits.
        let fits = at - first <= 19 || Self.fit(UnsafeBufferPointer(start: base + first, count: at - first))
        let hasExponent = at < end && base[at] | 0x20 == UInt8(ascii: "e")
        if hasExponent { try parseExponent() }
        if fits, !hasExponent, let scale = UInt8(exactly: scale) {
            return JSONNumber(.digits(JSONNumber.Digits(mantissa: mantissa, scale: scale, isNegative: first > start)))
        }
        let text = String(decoding: UnsafeBufferPointer(start: base + start, count: at - start), as: UTF8.self)
        return JSONNumber(.text(text))
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

    /// Whether the digits, with or without a decimal point, fit into a 64-bit integer.
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
