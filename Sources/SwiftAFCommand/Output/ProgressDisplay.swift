import Dispatch
import FoundationEssentials
import Glibc
import SwiftAF

/// Draws progress bars on standard error for transfers that take long: one line per active transfer.
final class ProgressDisplay: Sendable {
    /// The minimum duration of a transfer before its bar is shown.
    private static let patience = Duration.milliseconds(500)
    private static let interval = DispatchTimeInterval.milliseconds(100)

    private let sink: any ByteSink
    private let deadline: Instant?
    private let lines = Locked(ProgressLines())
    /// The serial queue for all drawing.
    private let queue = DispatchQueue(label: "swiftaf.progress")
    /// Reports when there is something to show.
    private let activity = NetworkActivityIndicatorManager()
    private let timer = Locked<DrawingTimer?>(nil)

    /// - Parameter deadline: The end of `--timeout`, which limits the wait for the terminal; nil without a limit.
    init(sink: any ByteSink, until deadline: Instant? = nil) {
        self.sink = sink
        self.deadline = deadline
        activity.activationDelay = Self.patience
        activity.callbackQueue = queue
    }

    /// Begins a transfer.
    ///
    /// - Parameter name: The name of the transfer; empty for a single one.
    func begin(_ index: Int = 0, _ name: String = "") {
        lines.withLock { $0.begin(index, name, at: .now) }
    }

    /// Records an event of a transfer. Never blocks.
    func note(_ event: ProgressEvent, of index: Int = 0) {
        lines.withLock { $0.note(event, of: index, at: .now) }
    }

    /// Ends one of several transfers. Its result stays on the screen.
    func end(_ index: Int, _ verdict: String) {
        lines.withLock { $0.end(index, verdict) }
    }

    /// Writes lines in place of the bars, which are drawn again below.
    @Sendable func write(_ text: [String]) {
        queue.async {
            self.erase()
            self.send(text.map { $0 + "\n" }.joined())
        }
    }

    /// Runs transfers, draws bars meanwhile, and erases them at the end.
    func accompany<Value: Sendable>(_ transfer: () async -> Value) async -> Value {
        activity.visibilityHandler = { [weak self] isVisible in self?.setDrawing(isVisible) }
        activity.isEnabled = true
        let value = await transfer()
        activity.isEnabled = false
        await clear()
        return value
    }

    /// Ends the bars before the transfer ends, because something else is printed to the same terminal.
    func finish() async {
        activity.isEnabled = false
        await clear()
    }

    /// Called on the queue.
    private func setDrawing(_ isDrawing: Bool) {
        let next = isDrawing ? DrawingTimer(queue, Self.interval) { [weak self] in self?.draw() } : nil
        timer.withLock { $0 = next }
        if !isDrawing { erase() }
    }

    /// The width for the bars. Three columns stay free: a terminal echoes Ctrl-C as two characters after the last bar,
    /// and a line break there would leave part of the bar on the screen. A terminal may be narrower than that.
    private var width: Int { max(0, sink.columns - 3) }

    /// Prepares for drawing: what was drawn before the program was stopped (Ctrl-Z) isn't at the cursor any more.
    ///
    /// - Returns: Whether to draw.
    private func beginDrawing() -> Bool {
        let isInForeground = sink.isInForeground
        if Screen.takeContinuation() || !isInForeground {
            lines.withLock { $0.forgetDrawn() }
            Screen.drawnLines.withLock { $0 = 0 }
        }
        return isInForeground
    }

    private func erase() {
        guard beginDrawing() else { return }
        send(lines.withLock { $0.clear(width: width) })
        Screen.drawnLines.withLock { $0 = 0 }
    }

    private func draw() {
        guard beginDrawing() else { return }
        let (text, drawn) = lines.withLock { ($0.draw(width: width, now: .now), $0.drawn) }
        Screen.drawnLines.withLock { $0 = drawn }
        send(text)
    }

    /// Erases the bars after pending drawing, on the same queue.
    private func clear() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.setDrawing(false)
                continuation.resume()
            }
        }
    }

    private func send(_ text: String) {
        if !text.isEmpty { try? sink.write(Data(text.utf8), until: deadline) }
    }
}

/// Restores the screen when the process ends at once.
enum Screen {
    /// The number of lines with bars on standard error.
    static let drawnLines = Locked(0)
    /// Whether the process was continued after Ctrl-Z since bars were drawn: the shell has written since, too.
    private static let wasContinued = Locked(false)

    /// Called when the process continues after a stop.
    static func continued() {
        wasContinued.withLock { $0 = true }
    }

    /// Returns whether the process was continued since the last call.
    static func takeContinuation() -> Bool {
        // The thread that waits for signals may not have run yet; the signal then stays pending.
        var pending = sigset_t()
        let isPending = sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1
        return wasContinued.withLock { flag in
            defer { flag = false }
            return flag || isPending
        }
    }

    /// The settings of the terminal while a secret is typed; nil if they weren't changed.
    static let settings = Locked<termios?>(nil)

    /// Turns the terminal's echo on again, if it is off.
    static func restoreEcho() {
        guard var former = settings.withLock({ $0 }) else { return }
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else { return }
        tcsetattr(terminal, TCSANOW, &former)
        close(terminal)
    }

    /// The text that erases the bars; nil if there are none.
    static var eraser: String? {
        let count = drawnLines.withLock { $0 }
        guard count > 0 else { return nil }
        return (count > 1 ? "\r\u{1B}[\(count - 1)A" : "\r") + "\u{1B}[J"
    }
}

/// Calls a closure repeatedly, as long as the object exists.
private final class DrawingTimer: Sendable {
    /// Can be used on any thread; Dispatch only doesn't declare the protocol `Sendable`.
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

/// What a progress bar shows of a transfer.
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

    mutating func end(_ index: Int, _ verdict: String) {
        guard let row = rows.removeValue(forKey: index) else { return }
        ended.append("\(row.name.padded(to: longestName))  \(verdict)")
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
        // Something else may be written to this line then, which mustn't be erased.
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
