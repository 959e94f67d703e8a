internal import CAFCore
package import FoundationEssentials

/// Dates of HTTP (RFC 9110, section 5.6.7), as the core reads them: the form that is sent today, and two obsolete ones.
package enum HTTPDate {
    /// - Parameters:
    ///   - text: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`.
    ///   - now: A two-digit year is the latest one that makes the date at most 50 years later.
    /// - Returns: Nil for any other text.
    package static func parse(_ text: String, now: Date = .now) -> Date? {
        var seconds: Int64 = 0
        let now = Int64(exactly: now.timeIntervalSince1970.rounded(.down)) ?? 0
        guard text.withCoreSlice({ af_date_parse($0, now, &seconds) }) else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(seconds))
    }
}
