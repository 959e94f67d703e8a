import SwiftAF

/// A line that shows the progress of a transfer. A pure function of numbers and a width.
///
/// ```
///  45% [============>               ] 115.2/256.0 MiB   98.3 MiB/s  0:01 left
/// ```
struct ProgressBar: Sendable {
    /// The progress of the transfer.
    var progress: TransferProgress
    /// The time since the transfer started.
    var elapsed: Duration

    /// Returns the line, at most `width` characters long.
    func line(width: Int) -> String {
        let (moved, done, total) = leg
        guard let total, total > 0 else {
            return fit(["\(spinner) \(Format.bytes(done))", rate(moved), Format.clock(elapsed)], width)
        }
        let fraction = min(1, Double(done) / Double(total))
        let percent = "\(Int(fraction * 100))%".rightAligned(to: 4)
        let parts = ["\(Format.bytes(done))/\(Format.bytes(total))", rate(moved), remaining(total - done, moved)]
        let tail = parts.joined(separator: "  ")
        // Besides the bar, the line contains the percentage, the tail, two spaces and two brackets.
        let room = width - percent.count - tail.count - 4
        guard room >= 10 else { return fit([percent] + parts, width) }
        return "\(percent) [\(bar(fraction, room))] \(tail)"
    }

    /// The spinner, shown while the total is unknown.
    private var spinner: Character {
        let turns: [Character] = ["|", "/", "-", "\\"]
        return turns[Int(max(0, elapsed.fractionalSeconds) * 10) % turns.count]
    }

    /// The progress of the active direction: the request body until it is sent, then the response body. Bytes that a
    /// resumed download started with count as done, but not as moved.
    private var leg: (moved: Int64, done: Int64, total: Int64?) {
        let isUploading = progress.received == 0 && progress.sent > 0 && progress.sent != progress.sentTotal
        return isUploading
            ? (progress.sent, progress.sent, progress.sentTotal)
            : (progress.received, progress.downloaded, progress.downloadTotal)
    }

    private func rate(_ moved: Int64) -> String {
        "\(Format.bytes(Int64(bytesPerSecond(moved))))/s".rightAligned(to: 12)
    }

    private func bytesPerSecond(_ moved: Int64) -> Double {
        let seconds = elapsed.fractionalSeconds
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

    /// Joins as many parts as fit, starting with the first.
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
