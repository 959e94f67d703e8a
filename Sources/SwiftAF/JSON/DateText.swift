import FoundationEssentials

/// The text of a date in JSON and in parameters: RFC 3339, in UTC, without fractions of a second.
enum DateText {
    /// The range from the beginning of the year 0000 to the end of 9999, in seconds since 1970. No other year has four
    /// digits. Foundation's `ISO8601FormatStyle` uses the Julian calendar before 1582. Its property lists don't: for
    /// them, the year 0000 begins two days later.
    private static let writable = -62_167_392_000.0..<253_402_300_800

    /// Returns a text such as `2024-02-29T12:00:00Z`. Nil for a date outside of the years 0000 to 9999, infinite or
    /// NaN, for which Foundation would write another date.
    static func text(of date: Date) -> String? {
        writable.contains(date.timeIntervalSince1970) ? date.formatted(.iso8601) : nil
    }

    /// Returns the error of a date that has no text.
    static func error(_ date: Date, at path: [any CodingKey]) -> EncodingError {
        .invalidValue(
            // The number instead of the date, because Foundation traps when it describes a date that isn't finite or is
            // far away.
            date.timeIntervalSince1970,
            EncodingError.Context(
                codingPath: path,
                debugDescription: "the date isn't in the years 0000 to 9999, which ISO 8601 can write"))
    }

    /// Parses a date of ISO 8601, also one with fractional seconds; nil for another text, and for a date that doesn't
    /// exist.
    static func date(of text: String) -> Date? {
        guard exists(text) else { return nil }
        return date(of: text, in: Date.ISO8601FormatStyle())
            ?? date(of: text, in: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    private static func date(of text: String, in style: Date.ISO8601FormatStyle) -> Date? {
        let whole = text.startIndex..<text.endIndex
        // Not `parse`, which would ignore text after the date.
        guard let (end, date) = try? style.consuming(text, startingAt: whole.lowerBound, in: whole) else { return nil }
        return end == whole.upperBound ? date : nil
    }

    /// Returns whether the month has this day, and the day this time. Checked because Foundation reads 30 February as 1
    /// March. A leap second is allowed (RFC 3339 5.7).
    private static func exists(_ text: String) -> Bool {
        var rest = text.utf8[...]
        func next(_ digits: Int) -> Int? {
            rest = rest.drop { !ASCII.isDigit($0) }
            defer { rest = rest.dropFirst(digits) }
            return rest.prefix(digits).allSatisfy(ASCII.isDigit) ? Int(Substring(rest.prefix(digits))) : nil
        }
        guard let year = next(4), let month = next(2), let day = next(2), (1...12).contains(month),
            (1...days(of: month, in: year)).contains(day), let hour = next(2), let minute = next(2),
            let second = next(2)
        else { return false }
        return hour <= 23 && minute <= 59 && second <= 60
    }

    private static func days(of month: Int, in year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
