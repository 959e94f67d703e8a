package import FoundationEssentials

/// A date as HTTP writes it (RFC 9110, section 5.6.7): the one form that is sent today and the two that are obsolete
/// and must be understood.
package enum HTTPDate {
    /// - Parameters:
    ///   - text: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`.
    ///   - now: What the two digits of a year are near: never more than fifty years ahead.
    /// - Returns: Nil if the text is none of them, or names no moment.
    package static func parse(_ text: String, now: Date = .now) -> Date? {
        let parts = text.split(whereSeparator: { $0 == " " || $0 == "\t" }).map(String.init)
        switch parts.count {
        case 6 where parts[5] == "GMT" && parts[0].hasSuffix(","):
            return date(day: parts[1], month: parts[2], year: number(parts[3], digits: 4), time: parts[4])
        case 4 where parts[3] == "GMT" && parts[0].hasSuffix(","):
            let date = parts[1].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
            guard date.count == 3, let short = number(date[2], digits: 2) else { return nil }
            return Self.date(day: date[0], month: date[1], year: year(short, near: now), time: parts[2])
        case 5 where !parts[0].hasSuffix(","):
            return date(day: parts[2], month: parts[1], year: number(parts[4], digits: 4), time: parts[3])
        default:
            return nil
        }
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func date(day: String, month: String, year: Int?, time: String) -> Date? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard let year, let month = months.firstIndex(of: month), clock.count == 3,
            let day = number(day, digits: 1...2), let hour = number(clock[0], digits: 2),
            let minute = number(clock[1], digits: 2), let second = number(clock[2], digits: 2),
            day >= 1, day <= days(in: month + 1, of: year), hour < 24, minute < 60, second <= 60
        else { return nil }
        // Days of the civil calendar, counted from March so that the leap day is the last of its year.
        let shifted = month >= 2 ? year : year - 1
        let (era, yearOfEra) = (shifted / 400, shifted % 400)
        let dayOfYear = (153 * ((month + 10) % 12) + 2) / 5 + day - 1
        let daysOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + daysOfEra - 719_468
        return Date(timeIntervalSince1970: TimeInterval(days * 86_400 + hour * 3600 + minute * 60 + second))
    }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func year(_ short: Int, near now: Date) -> Int {
        let current = 1970 + Int(now.timeIntervalSince1970 / 31_556_952)
        let year = current - current % 100 + short
        return year > current + 50 ? year - 100 : year
    }

    private static func number(_ text: String, digits: Int) -> Int? {
        number(text, digits: digits...digits)
    }

    private static func number(_ text: String, digits: ClosedRange<Int>) -> Int? {
        guard digits.contains(text.utf8.count), text.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
        return Int(text)
    }
}
