import SwiftAF

/// Formats text for people.
extension String {
    /// Appends spaces up to a width of `width` columns.
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - columns))
    }

    /// Prepends spaces up to a width of `width` columns.
    func rightAligned(to width: Int) -> String {
        String(repeating: " ", count: max(0, width - columns)) + self
    }

    /// The text with unsafe characters escaped as `\u{1B}`, so that a server can't send control sequences to the
    /// terminal, nor change the order of what it shows.
    var printable: String { printable(keepsLines: false) }

    /// The same for text of several lines: line breaks and tabs stay.
    var printableLines: String { printable(keepsLines: true) }

    private func printable(keepsLines: Bool) -> String {
        var text = String.UnicodeScalarView()
        var rest = unicodeScalars[...]
        while let scalar = rest.popFirst() {
            // A carriage return alone goes back in the line, so that what follows replaces it.
            let isKept = scalar == "\n" || scalar == "\t" || (scalar == "\r" && rest.first == "\n")
            if ASCII.isUnsafe(scalar), !(keepsLines && isKept) {
                text.append(contentsOf: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}".unicodeScalars)
            } else {
                text.append(scalar)
            }
        }
        return String(text)
    }

    /// The text for a terminal: lines that are too long continue on the next one, indented to where their last column
    /// begins.
    func wrapped(columns: Int) -> String {
        split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.count <= columns ? String(line) : String(line).wrappedLine(columns)
        }.joined(separator: "\n")
    }

    private func wrappedLine(_ columns: Int) -> String {
        // The text behind the last gap is the help. Without a gap, the line is a list.
        let margin = prefix { $0 == " " }.count
        let gap = dropFirst(margin).ranges(of: "  ").last?.upperBound
        let start = hasPrefix("  -") ? Usage.column + 3 : gap.map { distance(from: startIndex, to: $0) } ?? margin
        let indentation = start < Usage.column ? start + 2 : start
        guard indentation + 20 <= columns else { return self }
        var lines = [String(prefix(start))]
        for word in dropFirst(start).split(separator: " ") {
            let line = lines[lines.count - 1]
            let isFirst = line.count <= (lines.count == 1 ? start : indentation)
            if !isFirst, line.count + 1 + word.count > columns {
                lines.append(String(repeating: " ", count: indentation) + word)
            } else {
                lines[lines.count - 1] += (isFirst ? "" : " ") + word
            }
        }
        return lines.joined(separator: "\n")
    }
}

/// Formats numbers for people.
enum Format {
    /// Returns the number with a fixed number of decimal places.
    static func decimal(_ value: Double, digits: Int) -> String {
        guard value.isFinite else { return "?" }
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        let scaled = (abs(value) * scale).rounded()
        guard let whole = Int64(exactly: scaled) else { return value.description }
        let text = String(whole)
        let sign = value < 0 && whole != 0 ? "-" : ""
        guard digits > 0 else { return sign + text }
        let padded = String(repeating: "0", count: max(0, digits + 1 - text.count)) + text
        return "\(sign)\(padded.dropLast(digits)).\(padded.suffix(digits))"
    }

    /// `512 B`, `1.5 KiB`, `64.0 MiB`.
    static func bytes(_ count: Int64) -> String {
        guard count >= 1024 else { return "\(count) B" }
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        var value = Double(count) / 1024
        var unit = 0
        // Use the next unit for a value that would be rounded to 1024.0.
        while value >= 1023.95, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        return "\(decimal(value, digits: 1)) \(units[unit])"
    }

    /// `0:07`, `12:30`, `1:02:03`.
    static func clock(_ duration: Duration) -> String {
        let seconds = max(0, duration.components.seconds)
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60)
        let tail = twoDigits(seconds % 60)
        return hours > 0 ? "\(hours):\(twoDigits(minutes)):\(tail)" : "\(minutes):\(tail)"
    }

    /// `12.3 ms`.
    static func milliseconds(_ duration: Duration) -> String {
        "\(decimal(duration.fractionalMilliseconds, digits: 1)) ms"
    }

    /// `1.5 s`.
    static func seconds(_ duration: Duration) -> String {
        "\(decimal(duration.fractionalSeconds, digits: 1)) s"
    }

    /// `1.25 s`, `2 s`.
    static func shortSeconds(_ duration: Duration) -> String {
        let digits = decimal(duration.fractionalSeconds, digits: 3).reversed().drop { $0 == "0" }
        return String((digits.first == "." ? digits.dropFirst() : digits).reversed()) + " s"
    }

    /// `1.5 s`, `2 min 5 s`, `3 h 20 min`, `12 d 4 h`: the two largest units.
    static func wait(_ duration: Duration) -> String {
        // Compared as it would be shown: 59.97 s are a minute, not "60.0 s".
        guard duration.fractionalSeconds >= 59.95 else { return self.seconds(duration) }
        let seconds = max(60, duration.components.seconds)
        let units: [(name: String, size: Int64)] = [("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)]
        let first = units.firstIndex { seconds >= $0.size } ?? 0
        var rest = seconds
        var words: [String] = []
        for unit in units[first...].prefix(2) {
            if rest >= unit.size { words.append("\(rest / unit.size) \(unit.name)") }
            rest %= unit.size
        }
        return words.joined(separator: " ")
    }

    /// `1.5 s`, `2 min 5 s`, rounded up: a wait that is longer than another never looks like the same.
    static func waitRoundedUp(_ duration: Duration) -> String { wait(duration, .up) }

    /// The same, rounded down.
    static func waitRoundedDown(_ duration: Duration) -> String { wait(duration, .down) }

    private static func wait(_ duration: Duration, _ rule: FloatingPointRoundingRule) -> String {
        let seconds = duration.fractionalSeconds
        let hundredths = (seconds * 100).rounded(rule)
        guard hundredths < 6000 else { return wait(.seconds(seconds.rounded(rule))) }
        return shortSeconds(.milliseconds(hundredths * 10))
    }

    private static func twoDigits(_ number: Int64) -> String {
        number < 10 ? "0\(number)" : String(number)
    }
}
