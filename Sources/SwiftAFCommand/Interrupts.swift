import Dispatch
import Glibc
import Synchronization

/// Ctrl-C: the first one asks to stop, the second one ends the process at once.
final class Interrupts: Sendable {
    private let count = Atomic(0)
    /// Dispatch lets any thread use it; the type only does not say so.
    private nonisolated(unsafe) let source: any DispatchSourceSignal

    /// Watches from now on, as long as this object exists.
    init(stop: @escaping @Sendable () -> Void) {
        // The source sees the signal only if the default action does not end the process first.
        signal(SIGINT, SIG_IGN)
        source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global(qos: .userInitiated))
        source.setEventHandler { [weak self] in self?.interrupt(stop) }
        source.activate()
    }

    deinit {
        source.cancel()
    }

    private func interrupt(_ stop: @Sendable () -> Void) {
        guard count.add(1, ordering: .relaxed).oldValue == 0 else { _exit(ExitCode.cancelled.rawValue) }
        stop()
    }
}
