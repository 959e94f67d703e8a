import Dispatch

/// A wait that a cancelled task does not finish.
final class Pause: Sendable {
    private enum State {
        case idle
        case waiting(UnsafeContinuation<Void, Never>)
        case over
    }

    private let state = Guarded(State.idle)

    private init() {}

    /// Returns after `duration`, or as soon as the task is cancelled.
    static func wait(_ duration: Duration) async {
        let pause = Pause()
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                guard pause.begin(continuation) else { return continuation.resume() }
                DispatchQueue.global().asyncAfter(deadline: .after(duration)) {
                    pause.end()
                }
            }
        } onCancel: {
            pause.end()
        }
    }

    private func begin(_ continuation: UnsafeContinuation<Void, Never>) -> Bool {
        state.withLock { state in
            if case .over = state { return false }
            state = .waiting(continuation)
            return true
        }
    }

    private func end() {
        let waiting = state.withLock { state -> UnsafeContinuation<Void, Never>? in
            defer { state = .over }
            if case .waiting(let continuation) = state { return continuation }
            return nil
        }
        waiting?.resume()
    }
}

extension DispatchTime {
    /// A moment from now, at most some decades.
    static func after(_ duration: Duration) -> DispatchTime {
        let (seconds, attoseconds) = duration.components
        guard seconds < 1_000_000_000 else { return .now() + .nanoseconds(1_000_000_000_000_000_000) }
        guard seconds >= 0, attoseconds >= 0 else { return .now() }
        return .now() + .nanoseconds(Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000))
    }
}
