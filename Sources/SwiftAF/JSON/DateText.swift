import FoundationEssentials

/// The text of a date in JSON and in parameters: RFC 3339, in UTC, without fractions of a second.
enum DateText {
    /// Returns a text such as `2024-02-29T12:00:00Z`.
    static func text(of date: Date) -> String {
        date.formatted(.iso8601)
    }

    /// Parses a date of ISO 8601, also one with fractional seconds; nil for another text.
    static func date(of text: String) -> Date? {
        if let date = try? Date.ISO8601FormatStyle().parse(text) { return date }
        return try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text)
    }
}
