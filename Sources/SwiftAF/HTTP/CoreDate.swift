internal import CAFCore
package import FoundationEssentials

/// HTTP dates (RFC 9110 5.6.7), parsed and written by the core.
package enum HTTPDate {
    /// Parses the current format and the two obsolete ones.
    ///
    /// - Parameters:
    ///   - text: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`.
    ///   - now: The reference for a two-digit year: the latest matching year that is at most 50 years later.
    /// - Returns: The date; nil for any other text.
    package static func parse(_ text: String, now: Date = .now) -> Date? {
        var seconds: Int64 = 0
        guard text.withCoreSlice({ afc_date_parse($0, Int64(unixTime: now), &seconds) }) else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(seconds))
    }

    /// Writes a time in the current format: `Sun, 06 Nov 1994 08:49:37 GMT`.
    ///
    /// - Parameter seconds: The seconds since 1970.
    /// - Returns: The text; nil for years before 1900 and after 9999.
    package static func text(of seconds: Int) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(AFC_DATE_SIZE)) { room in
            guard let start = room.baseAddress, afc_date_write(start, Int64(seconds)) else { return nil }
            return String(cString: start)
        }
    }
}

extension Int64 {
    /// Converts a date to whole seconds since 1970, clamped to the range from 0 to 9 × 10^15.
    init(unixTime date: Date) {
        let seconds = date.timeIntervalSince1970
        self = seconds >= 9e15 ? 9_000_000_000_000_000 : seconds > 0 ? Int64(seconds) : 0
    }
}
