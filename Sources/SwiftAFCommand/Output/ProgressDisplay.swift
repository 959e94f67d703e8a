import Dispatch
import FoundationEssentials
import SwiftAF

/// Draws progress bars on standard error for transfers that take long: one line per active transfer.
final class ProgressDisplay: Sendable {
    /// The minimum duration of a transfer before its bar is shown.
    private static let activationDelay = Duration.milliseconds(500)
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
        activity.activationDelay = Self.activationDelay
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

    /// Ends one of several transfers. The line with its result stays on the screen.
    func end(_ index: Int, _ result: String) {
        lines.withLock { $0.end(index, result) }
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

    /// Erases the bars before the transfer ends, because something else is printed to the same terminal.
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
    /// and a line break there would leave part of the bar on the screen. A terminal may be narrower than three columns.
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

/// Calls a closure repeatedly, as long as the object exists.
private final class DrawingTimer: Sendable {
    /// Can be used on any thread; Dispatch just doesn't declare the protocol `Sendable`.
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
