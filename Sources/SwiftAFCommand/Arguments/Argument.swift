/// Parses the values of options.
enum Argument {
    /// Parses seconds with an optional fraction, rounded up to whole milliseconds. Zero means no limit.
    static func seconds(_ text: String, of option: String) throws(UsageError) -> Duration {
        // 49 days is the maximum: the core stores milliseconds in 32 bits.
        guard isDecimal(text), let seconds = Double(text), seconds <= 4_294_967 else {
            throw UsageError("invalid value for \(option): expected seconds, such as 2.5")
        }
        return .milliseconds(Int64((seconds * 1000).rounded(.up)))
    }

    /// Parses an integer in a range.
    static func count(_ text: String, of option: String, in range: ClosedRange<Int>) throws(UsageError) -> Int {
        guard text.utf8.allSatisfy(isDigit), let number = Int(text), range.contains(number) else {
            let most = range.upperBound == Int.max ? " or more" : " to \(range.upperBound)"
            throw UsageError("invalid value for \(option): expected a whole number, \(range.lowerBound)\(most)")
        }
        return number
    }

    /// Checks the path of a file.
    static func path(_ path: RawText, of option: String) throws(UsageError) -> RawText {
        guard !path.bytes.isEmpty else { throw UsageError("\(option) needs the path of a file") }
        return path
    }

    /// Whether the text consists of digits with at most one decimal point: no sign, exponent, hexadecimal, or words
    /// such as `inf`.
    private static func isDecimal(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count <= 2 && parts.joined().contains(where: isDigit) && parts.joined().allSatisfy(isDigit)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte &- 0x30 < 10
    }
}
