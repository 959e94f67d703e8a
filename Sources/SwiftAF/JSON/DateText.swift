import FoundationEssentials

/// The text of a date in JSON and in parameters: RFC 3339, in UTC, without fractions of a second.
enum DateText {
    /// Returns a text such as `2024-02-29T12:00:00Z`.
    static func text(of date: Date) -> String {
        date.formatted(.iso8601)
    }

    /// Parses a date of ISO 8601, also one with fractional seconds; nil for another text.
    static func date(of text: String) -> Date? {
        date(of: text, in: Date.ISO8601FormatStyle())
            ?? date(of: text, in: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    private static func date(of text: String, in style: Date.ISO8601FormatStyle) -> Date? {
        let whole = text.startIndex..<text.endIndex
        // `parse` would ignore what follows the date.
        guard let (end, date) = try? style.consuming(text, startingAt: whole.lowerBound, in: whole) else { return nil }
        return end == whole.upperBound ? date : nil
    }
}
