import FoundationEssentials
import SwiftAF

/// Parses the values of options.
enum Argument {
    /// Parses a method, which is a token (RFC 9110 9.1).
    static func method(_ text: String, of option: String) throws(UsageError) -> HTTPMethod {
        guard !text.isEmpty else { throw UsageError("\(option) needs a method") }
        guard CoreField.isToken(text) else { throw .invalid(text, of: option, expected: "a method, such as PUT") }
        return HTTPMethod(text)
    }

    /// Parses seconds with an optional fraction, or a time with a unit: `500ms`, `2s`, `1m`, `1h`. Rounded up to whole
    /// milliseconds. Zero means no limit.
    static func seconds(_ text: String, of option: String) throws(UsageError) -> Duration {
        let units: [(name: String, seconds: Double)] = [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600)]
        let unit = units.first { text.lowercased().hasSuffix($0.name) }
        let digits = String(text.dropLast(unit?.name.count ?? 0))
        // 49 days is the maximum: the core stores milliseconds in 32 bits.
        guard isDecimal(digits), let number = Double(digits) else {
            throw .invalid(text, of: option, expected: "seconds, such as 2.5, or a time such as 500ms or 2m")
        }
        guard number * (unit?.seconds ?? 1) <= 4_294_967 else {
            throw .invalid(text, of: option, expected: "at most 4294967 seconds, which are 49 days")
        }
        return .milliseconds(Int64((number * 1000 * (unit?.seconds ?? 1)).rounded(.up)))
    }

    /// Parses a number of bytes, optionally with a unit of 1024: `64k`, `1.5M`, `2G`, also as `KiB` or `KB`.
    static func size(_ text: String, of option: String, in range: ClosedRange<Int>) throws(UsageError) -> Int {
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = text.dropFirst(number.count).lowercased()
        let powers = ["": 0, "b": 0, "k": 1, "kb": 1, "kib": 1, "m": 2, "mb": 2, "mib": 2, "g": 3, "gb": 3, "gib": 3]
        if powers[unit] == 0, let bytes = Int(number), range.contains(bytes) { return bytes }
        // A fraction is accepted only with a unit.
        let power = powers[unit].flatMap { $0 > 0 ? $0 : nil }
        let size =
            isDecimal(String(number))
            ? power.flatMap { power in Double(number).map { $0 * Double(1 << (10 * power)) } } : nil
        guard let size, let bytes = Int(exactly: size.rounded()), range.contains(bytes) else {
            let most = range.upperBound == Int.max ? "" : ", at most \(range.upperBound)"
            throw .invalid(
                text, of: option,
                expected: """
                    bytes, \(range.lowerBound) or more\(most), optionally with a unit of 1024: k, M or G, such as 1.5M
                    """)
        }
        return bytes
    }

    /// Parses a list of acceptable status codes: `304`, `4xx` and `500-599`, separated by commas.
    static func statuses(_ text: String, of option: String) throws(UsageError) -> Set<Int> {
        var statuses: Set<Int> = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { number($0) }
            if part.count == 3, part.hasSuffix("xx"), let hundred = Int(part.prefix(1)), (1...5).contains(hundred) {
                statuses.formUnion(hundred * 100...hundred * 100 + 99)
            } else if let first = ends.first ?? nil, let last = ends.last ?? nil, ends.count <= 2, first <= last,
                (100...999).contains(first), (100...999).contains(last)
            {
                statuses.formUnion(first...last)
            } else {
                throw .invalid(text, of: option, expected: "a list such as 304,4xx,500-599")
            }
        }
        return statuses
    }

    /// Parses an integer without a sign, which `Int` accepts; nil if there is something other than digits.
    static func number(_ text: some StringProtocol) -> Int? {
        text.utf8.allSatisfy(ASCII.isDigit) ? Int(text) : nil
    }

    /// Parses an integer in a range.
    static func count(_ text: String, of option: String, in range: ClosedRange<Int>) throws(UsageError) -> Int {
        guard let number = number(text), range.contains(number) else {
            let most = range.upperBound == Int.max ? " or more" : " to \(range.upperBound)"
            throw .invalid(
                text, of: option, expected: "a whole number without a unit, \(range.lowerBound)\(most)")
        }
        return number
    }

    /// Checks the pin of a public key. The library accepts the same, but its errors don't show the value.
    static func pin(_ text: String, of option: String) throws(UsageError) -> String {
        let scheme = "sha256//"
        let digest = text.hasPrefix(scheme) ? Data(base64Encoded: String(text.dropFirst(scheme.count))) : nil
        // Encoded again: the decoder also accepts bits that no digest has.
        guard let digest, digest.count == 32, scheme + digest.base64EncodedString() == text else {
            throw .invalid(text, of: option, expected: "sha256// and the Base64 of 32 bytes")
        }
        return text
    }

    /// Checks a name that is a token (RFC 9110 5.6.2).
    static func token(_ text: String, of option: String, example: String) throws(UsageError) -> String {
        guard CoreField.isToken(text) else { throw .invalid(text, of: option, expected: "a token, such as \(example)") }
        return text
    }

    /// Checks the path of a file.
    static func path(_ path: RawText, of option: String) throws(UsageError) -> RawText {
        guard !path.bytes.isEmpty else { throw UsageError("\(option) needs the path of a file") }
        return path
    }

    /// Checks the path of a file that can't be standard input or output.
    static func fileOnly(_ path: RawText, of option: String) throws(UsageError) -> RawText {
        guard path != "-" else { throw UsageError("\(option) takes a file only; ./- is one with the name -") }
        return try Self.path(path, of: option)
    }

    /// Returns the path of an option to which the end of the run writes. Throws if the option was given before, because
    /// one path would silently replace the other.
    static func only(
        _ value: RawText, besides given: RawText?, of option: String, advice: String = ""
    ) throws(UsageError) -> RawText {
        guard given == nil || given == value else { throw UsageError("\(option) is given twice\(advice)") }
        return value
    }

    /// Returns whether the text consists of digits with at most one decimal point, without a sign, an exponent,
    /// hexadecimal digits, or words such as `inf`.
    private static func isDecimal(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let digits = parts.joined()
        return parts.count <= 2 && !digits.isEmpty && digits.allSatisfy(ASCII.isDigit)
    }
}
