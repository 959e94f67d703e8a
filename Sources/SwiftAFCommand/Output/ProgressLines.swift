import SwiftAF

/// An event of a transfer that changes its progress bar.
enum ProgressEvent: Sendable {
    /// Bytes were sent or received.
    case moved(TransferProgress)
    /// An attempt failed, or another one begins: what was moved before no longer counts.
    case restarted
}

/// The lines of several transfers, as a value type: events go in, text for a terminal comes out.
struct ProgressLines {
    private struct Row {
        var name: String
        var progress = TransferProgress()
        var start: Instant
    }

    private var rows: [Int: Row] = [:]
    /// The columns of the longest name so far, so that the bars stay aligned.
    private var longestName = 0
    /// The lines of ended transfers, to be written once above the bars.
    private var ended: [String] = []
    /// The number of lines on the screen that will be overwritten.
    private(set) var drawn = 0

    mutating func begin(_ index: Int, _ name: String, at start: Instant) {
        rows[index] = Row(name: name, start: start)
        longestName = max(longestName, name.columns)
    }

    mutating func note(_ event: ProgressEvent, of index: Int, at now: Instant) {
        guard let name = rows[index]?.name else { return }
        switch event {
        case .moved(let progress): rows[index]?.progress = progress
        case .restarted: rows[index] = Row(name: name, start: now)
        }
    }

    mutating func end(_ index: Int, _ result: String) {
        guard let row = rows.removeValue(forKey: index) else { return }
        ended.append("\(row.name.padded(to: longestName))  \(result)")
    }

    /// Returns the text that overwrites the previous lines.
    mutating func draw(width: Int, now: Instant) -> String {
        let bars = rows.sorted { $0.key < $1.key }.map { _, row in
            let bar = ProgressBar(progress: row.progress, elapsed: now - row.start)
            guard longestName > 0 else { return bar.line(width: width) }
            let name = row.name.padded(to: longestName)
            return String("\(name)  \(bar.line(width: max(0, width - longestName - 2)))".prefix(columns: width))
        }
        return replace(by: bars, width)
    }

    /// Returns the text that erases the bars and keeps the lines of ended transfers. Empty if nothing was drawn.
    mutating func clear(width: Int) -> String {
        guard drawn > 0 else { return "" }
        // Afterwards, something else may be written to this line, which mustn't be erased.
        defer { drawn = 0 }
        return replace(by: [], width)
    }

    /// Draws the bars anew next time, without erasing those on the screen.
    mutating func forgetDrawn() {
        drawn = 0
    }

    private mutating func replace(by bars: [String], _ width: Int) -> String {
        guard drawn > 0 || !bars.isEmpty || !ended.isEmpty else { return "" }
        var text = "\r"
        if drawn > 1 { text += "\u{1B}[\(drawn - 1)A" }
        for line in ended { text += "\(line.prefix(columns: width))\u{1B}[K\n" }
        text += bars.map { "\($0)\u{1B}[K" }.joined(separator: "\n")
        // Erase what is left if there were more lines before.
        if bars.isEmpty { text += "\u{1B}[K" }
        if drawn > ended.count + max(1, bars.count) { text += "\u{1B}[J" }
        ended = []
        drawn = max(1, bars.count)
        return text
    }
}
