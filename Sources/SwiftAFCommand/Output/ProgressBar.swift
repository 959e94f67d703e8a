import SwiftAF

/// One line about a running transfer. Pure: numbers and a width in, text out.
///
/// ```
///  45% [============>               ] 115.2/256.0 MiB   98.3 MiB/s  0:01 left
/// ```
struct ProgressBar: Sendable {
    /// How far the transfer is.
    var progress: TransferProgress
    /// Since its start.
    var elapsed: Duration

    /// The line, at most `width` characters.
    func line(width: Int) -> String {
        let (moved, done, total) = leg
        guard let total, total > 0 else {
            return fit(["\(spinner) \(Format.bytes(done))", rate(moved), Format.clock(elapsed)], width)
        }
        let fraction = min(1, Double(done) / Double(total))
        let percent = "\(Int(fraction * 100))%".rightAligned(to: 4)
        let parts = ["\(Format.bytes(done))/\(Format.bytes(total))", rate(moved), remaining(total - done, moved)]
        let tail = parts.joined(separator: "  ")
        // The percentage, three blanks and two brackets stand beside the bar.
        let room = width - percent.count - tail.count - 4
        guard room >= 10 else { return fit([percent] + parts, width) }
        return "\(percent) [\(bar(fraction, room))] \(tail)"
    }

    /// Turns, where nobody knows how much is left.
    private var spinner: Character {
        let turns: [Character] = ["|", "/", "-", "\\"]
        return turns[Int(max(0, elapsed.seconds) * 10) % turns.count]
    }

    /// The direction that is moving: the request's body until it is sent, then the response's.
    /// What was there before counts as done, but did not move.
    private var leg: (moved: Int64, done: Int64, total: Int64?) {
        let isUploading = progress.received == 0 && progress.sent > 0 && progress.sent != progress.sentTotal
        return isUploading
            ? (progress.sent, progress.sent, progress.sentTotal)
            : (progress.received, withOffset(progress.received), progress.receivedTotal.map(withOffset))
    }

    /// What a server announces may be beyond all numbers.
    private func withOffset(_ count: Int64) -> Int64 {
        let (sum, isTooLarge) = count.addingReportingOverflow(progress.offset)
        return isTooLarge ? .max : sum
    }

    private func rate(_ moved: Int64) -> String {
        "\(Format.bytes(Int64(bytesPerSecond(moved))))/s".rightAligned(to: 12)
    }

    private func bytesPerSecond(_ moved: Int64) -> Double {
        let seconds = elapsed.seconds
        return seconds > 0 ? Double(moved) / seconds : 0
    }

    private func remaining(_ rest: Int64, _ moved: Int64) -> String {
        let rate = bytesPerSecond(moved)
        guard rate > 0 else { return "-:-- left" }
        let seconds = Double(max(0, rest)) / rate
        guard seconds < 360_000 else { return "-:-- left" }
        return "\(Format.clock(.seconds(Int64(seconds.rounded(.up))))) left"
    }

    private func bar(_ fraction: Double, _ width: Int) -> String {
        let filled = Int(Double(width) * fraction)
        guard filled < width else { return String(repeating: "=", count: width) }
        return String(repeating: "=", count: filled) + ">" + String(repeating: " ", count: width - filled - 1)
    }

    /// As many parts as there is room for, the first ones first.
    private func fit(_ parts: [String], _ width: Int) -> String {
        var text = ""
        for part in parts {
            let longer = text.isEmpty ? part : "\(text)  \(part)"
            guard longer.count <= width else { break }
            text = longer
        }
        return text
    }
}
