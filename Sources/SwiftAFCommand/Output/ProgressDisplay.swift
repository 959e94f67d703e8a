import Dispatch
import FoundationEssentials
import SwiftAF

/// Draws progress bars on standard error, for transfers that last: one line for each that is under way.
final class ProgressDisplay: Sendable {
    /// Transfers that are over before are not worth a bar.
    private static let patience = Duration.milliseconds(500)
    private static let interval = DispatchTimeInterval.milliseconds(100)

    private let sink: any ByteSink
    private let lines = Locked(ProgressLines())
    /// Everything is drawn here, one after the other.
    private let queue = DispatchQueue(label: "swiftaf.progress")
    /// Says when there is something to show.
    private let activity = NetworkActivityIndicatorManager()
    private let timer = Locked<DrawingTimer?>(nil)

    init(sink: any ByteSink) {
        self.sink = sink
        activity.activationDelay = Self.patience
        activity.callbackQueue = queue
    }

    /// A transfer begins.
    ///
    /// - Parameter name: Empty for the only one.
    func begin(_ index: Int = 0, _ name: String = "") {
        lines.withLock { $0.begin(index, name, at: .now) }
    }

    /// Takes note of how far a transfer is. Never blocks.
    func note(_ progress: TransferProgress, of index: Int = 0) {
        lines.withLock { $0.note(progress, of: index) }
    }

    /// One of several transfers has ended; what it came to stays on the screen.
    func end(_ index: Int, _ verdict: String) {
        lines.withLock { $0.end(index, verdict) }
    }

    /// Writes lines where the bars stand, which come back below them.
    @Sendable func write(_ text: [String]) {
        queue.async {
            self.erase()
            self.send(text.map { $0 + "\n" }.joined())
        }
    }

    /// Runs transfers, draws while they last, and leaves an empty line behind.
    func accompany<Value: Sendable>(_ transfer: () async -> Value) async -> Value {
        activity.visibilityHandler = { [weak self] isVisible in self?.setDrawing(isVisible) }
        activity.isEnabled = true
        let value = await transfer()
        activity.isEnabled = false
        await clear()
        return value
    }

    /// On the queue.
    private func setDrawing(_ isDrawing: Bool) {
        let next = isDrawing ? DrawingTimer(queue, Self.interval) { [weak self] in self?.draw() } : nil
        timer.withLock { $0 = next }
        if !isDrawing { erase() }
    }

    /// A terminal shows Ctrl-C as two characters behind the last bar, and must not break the line for them: that part of
    /// the bar would stay on the screen.
    private var width: Int { sink.columns - 3 }

    private func erase() {
        send(lines.withLock { $0.clear(width: width) })
        Screen.drawnLines.withLock { $0 = 0 }
    }

    private func draw() {
        let (text, drawn) = lines.withLock { ($0.draw(width: width, now: .now), $0.drawn) }
        Screen.drawnLines.withLock { $0 = drawn }
        send(text)
    }

    /// Behind what is being drawn, on the same queue.
    private func clear() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.setDrawing(false)
                continuation.resume()
            }
        }
    }

    private func send(_ text: String) {
        if !text.isEmpty { try? sink.write(Data(text.utf8)) }
    }
}

/// What has to be taken off the screen when the process ends at once.
enum Screen {
    /// Lines of bars on standard error.
    static let drawnLines = Locked(0)

    /// What erases them; nil if there are none.
    static var eraser: String? {
        let count = drawnLines.withLock { $0 }
        guard count > 0 else { return nil }
        return (count > 1 ? "\r\u{1B}[\(count - 1)A" : "\r") + "\u{1B}[J"
    }
}

/// Calls something again and again, as long as it exists.
private final class DrawingTimer: Sendable {
    /// Dispatch lets any thread use it; the type only does not say so.
    private nonisolated(unsafe) let source: any DispatchSourceTimer

    init(_ queue: DispatchQueue, _ interval: DispatchTimeInterval, _ action: @escaping @Sendable () -> Void) {
        source = DispatchSource.makeTimerSource(queue: queue)
        source.schedule(deadline: .now(), repeating: interval)
        source.setEventHandler(handler: action)
        source.activate()
    }

    deinit {
        source.cancel()
    }
}

/// The lines of several transfers, as a value: what happens comes in, text for a terminal comes out.
struct ProgressLines {
    private struct Row {
        var name: String
        var progress = TransferProgress()
        var start: ContinuousClock.Instant
    }

    private var rows: [Int: Row] = [:]
    /// Of all names, so that the bars stay where they are.
    private var longestName = 0
    /// Said once, above those that are under way.
    private var ended: [String] = []
    /// Lines that are on the screen and will be drawn over.
    private(set) var drawn = 0

    mutating func begin(_ index: Int, _ name: String, at start: ContinuousClock.Instant) {
        rows[index] = Row(name: name, start: start)
        longestName = max(longestName, name.count)
    }

    mutating func note(_ progress: TransferProgress, of index: Int) {
        rows[index]?.progress = progress
    }

    mutating func end(_ index: Int, _ verdict: String) {
        guard let row = rows.removeValue(forKey: index) else { return }
        ended.append("\(row.name.padded(to: longestName))  \(verdict)")
    }

    /// Draws over what was drawn before.
    mutating func draw(width: Int, now: ContinuousClock.Instant) -> String {
        let bars = rows.sorted { $0.key < $1.key }.map { _, row in
            let bar = ProgressBar(progress: row.progress, elapsed: now - row.start)
            guard longestName > 0 else { return bar.line(width: width) }
            let name = row.name.padded(to: longestName)
            return String("\(name)  \(bar.line(width: max(0, width - longestName - 2)))".prefix(width))
        }
        return replace(by: bars, width)
    }

    /// Takes what is under way off the screen; what has ended stays. Nothing, if nothing was drawn.
    mutating func clear(width: Int) -> String {
        drawn > 0 ? replace(by: [], width) : ""
    }

    private mutating func replace(by bars: [String], _ width: Int) -> String {
        guard drawn > 0 || !bars.isEmpty || !ended.isEmpty else { return "" }
        var text = "\r"
        if drawn > 1 { text += "\u{1B}[\(drawn - 1)A" }
        for line in ended { text += "\(line.prefix(width))\u{1B}[K\n" }
        text += bars.map { "\($0)\u{1B}[K" }.joined(separator: "\n")
        // What is left of more lines than there are now.
        if bars.isEmpty { text += "\u{1B}[K" }
        if drawn > ended.count + max(1, bars.count) { text += "\u{1B}[J" }
        ended = []
        drawn = max(1, bars.count)
        return text
    }
}
