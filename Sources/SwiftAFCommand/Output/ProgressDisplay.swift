import Dispatch
import FoundationEssentials
import SwiftAF
import Synchronization

/// Draws a progress bar on standard error, for transfers that last.
final class ProgressDisplay: Sendable {
    /// Transfers that are over before are not worth a bar.
    private static let patience = DispatchTimeInterval.milliseconds(500)
    private static let interval = DispatchTimeInterval.milliseconds(100)

    private let sink: any ByteSink
    private let state = Mutex(State())
    /// Everything is drawn here, one after the other.
    private let queue = DispatchQueue(label: "swiftaf.progress")

    private struct State {
        var progress = TransferProgress()
        var hasDrawn = false
    }

    init(sink: any ByteSink) {
        self.sink = sink
    }

    /// Takes note of how far the transfer is. Never blocks.
    func note(_ progress: TransferProgress) {
        state.withLock { $0.progress = progress }
    }

    /// Runs a transfer, draws while it lasts, and leaves an empty line behind.
    func accompany<Value: Sendable>(_ transfer: () async -> Value) async -> Value {
        let start = ContinuousClock.now
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + Self.patience, repeating: Self.interval)
        timer.setEventHandler { self.draw(since: start) }
        timer.activate()
        let value = await transfer()
        timer.cancel()
        await clear()
        return value
    }

    private func draw(since start: ContinuousClock.Instant) {
        let progress = state.withLock { state in
            state.hasDrawn = true
            return state.progress
        }
        let bar = ProgressBar(progress: progress, elapsed: ContinuousClock.now - start)
        write("\r\(bar.line(width: sink.columns - 1))\u{1B}[K")
    }

    /// Behind what is being drawn, on the same queue.
    private func clear() async {
        await withCheckedContinuation { continuation in
            queue.async {
                if self.state.withLock({ $0.hasDrawn }) { self.write("\r\u{1B}[K") }
                continuation.resume()
            }
        }
    }

    private func write(_ text: String) {
        try? sink.write(Data(text.utf8))
    }
}
