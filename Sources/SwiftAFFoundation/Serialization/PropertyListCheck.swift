import Foundation

/// Finds values that Foundation writes without an error, although they make a property list that isn't valid.
struct PropertyListCheck {
    struct Fault: Error {
        let reason: String
    }

    let format: PropertyListSerialization.PropertyListFormat

    /// The years 0000 to 9999, in seconds since 2001. No other years have four digits (ISO 8601). In property lists,
    /// Foundation writes dates before 1582 by the proleptic Gregorian calendar. Those of `DateText` are Julian, so its
    /// year 0000 begins two days earlier.
    private static let years: Range<TimeInterval> = -63_145_526_400..<252_423_993_600

    /// Checks an object of the property list classes, and all that it contains.
    func check(_ value: Any) throws(Fault) {
        switch value {
        case let text as String: try check(text)
        case let date as Date: try check(date)
        case let elements as [Any]:
            for element in elements { try check(element) }
        case let members as [String: Any]:
            for (key, value) in members {
                try check(key)
                try check(value)
            }
        default: break
        }
    }

    /// Refuses nulls in a list that `PropertyListEncoder` has made. It writes a null as a text that only
    /// `PropertyListDecoder` reads as nil.
    static func refuseNulls(in value: Any) throws(Fault) {
        switch value {
        case let text as String where text == "$null": throw Fault(reason: "a value is null")
        case let elements as [Any]: for element in elements { try refuseNulls(in: element) }
        case let members as [String: Any]: for value in members.values { try refuseNulls(in: value) }
        default: break
        }
    }

    private func check(_ text: String) throws(Fault) {
        guard format == .xml, let character = text.unicodeScalars.first(where: XMLText.isForbidden) else { return }
        let code = String(character.value, radix: 16, uppercase: true)
        let name = String(repeating: "0", count: max(0, 4 - code.count)) + code
        throw Fault(reason: "XML forbids the character U+\(name) in a text")
    }

    private func check(_ date: Date) throws(Fault) {
        let seconds = date.timeIntervalSinceReferenceDate
        guard seconds.isFinite else { throw Fault(reason: "a date is not a finite number of seconds") }
        guard format != .xml || Self.years.contains(seconds) else {
            throw Fault(reason: "a date is not in the years 0000 to 9999")
        }
    }
}
