internal import CAFCore
package import FoundationEssentials

/// HTTP dates (RFC 9110, section 5.6.7), parsed by the core: the current format and the two obsolete ones.
package enum HTTPDate {
    /// - Parameters:
    ///   - text: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`.
    ///   - now: The reference for a two-digit year: the latest matching year that is at most 50 years later.
    /// - Returns: The date; nil for any other text.
    package static func parse(_ text: String, now: Date = .now) -> Date? {
        var seconds: Int64 = 0
        let now = Int64(exactly: now.timeIntervalSince1970.rounded(.down)) ?? 0
        guard text.withCoreSlice({ afc_date_parse($0, now, &seconds) }) else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(seconds))
    }
}
