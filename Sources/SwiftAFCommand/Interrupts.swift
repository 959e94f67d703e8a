import Dispatch
import Glibc
import SwiftAF

/// Ctrl-C: the first one asks to stop, the second one ends the process at once.
final class Interrupts: Sendable {
    private struct State {
        var count = 0
        var stop: (@Sendable () -> Void)?
    }

    private let state = Guarded(State())
    /// Dispatch lets any thread use it; the type only does not say so.
    private nonisolated(unsafe) let source: any DispatchSourceSignal

    /// Watches from when this returns, as long as the object exists: none is lost between the signal's default action,
    /// which ends the process, and the source. Blocks until then.
    init() {
        source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global(qos: .userInitiated))
        let isWatching = DispatchSemaphore(value: 0)
        source.setRegistrationHandler { isWatching.signal() }
        source.setEventHandler { [weak self] in self?.interrupt() }
        source.activate()
        isWatching.wait()
    }

    deinit {
        source.cancel()
    }

    /// - Parameter stop: Called at the first one, at once if it has come already.
    func stopping(_ stop: @escaping @Sendable () -> Void) {
        let hasCome = state.withLock { state in
            state.stop = stop
            return state.count > 0
        }
        if hasCome { stop() }
    }

    private func interrupt() {
        let (count, stop) = state.withLock { state in
            state.count += 1
            return (state.count, state.stop)
        }
        guard count == 1 else { _exit(ExitCode.cancelled.rawValue) }
        stop?()
    }
}
