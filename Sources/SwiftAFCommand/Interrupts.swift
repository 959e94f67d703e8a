import Glibc
import SwiftAF

/// Handles SIGINT (Ctrl-C), SIGTERM and SIGHUP: the first one requests a stop, the second one ends the process at once.
final class Interrupts: Sendable {
    private struct State {
        /// The first signal received.
        var first: Int32?
        var stop: (@Sendable () -> Void)?
    }

    private let state = Locked(State())
    /// The signals that are waited for.
    private let handled: sigset_t

    /// Blocks the signals in this thread and in those that it starts, so call it before there are any. None is lost: a
    /// blocked one waits for ``startThread(after:)``. A signal that was ignored when the process started, for example by nohup, stays
    /// ignored.
    init() {
        var handled = sigset_t()
        sigemptyset(&handled)
        for signal in [SIGINT, SIGTERM, SIGHUP] where !Self.isIgnored(signal) { sigaddset(&handled, signal) }
        pthread_sigmask(SIG_BLOCK, &handled, nil)
        self.handled = handled
    }

    /// Starts the thread that handles signals until the process exits.
    ///
    /// - Parameter work: Done by the thread first. Signals that come meanwhile wait.
    func startThread(after work: @escaping @Sendable () -> Void) {
        let start = Unmanaged.passRetained(Start(interrupts: self, work: work))
        var thread = pthread_t()
        let error = pthread_create(&thread, nil, Self.run, start.toOpaque())
        guard error != 0 else { return }
        start.release()
        // Without the thread, signals end the process at once.
        var handled = handled
        pthread_sigmask(SIG_UNBLOCK, &handled, nil)
    }

    private static let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
        guard let context else { return nil }
        let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
        start.work()
        start.interrupts.wait()
    }

    /// What the thread gets.
    private final class Start: Sendable {
        let interrupts: Interrupts
        let work: @Sendable () -> Void

        init(interrupts: Interrupts, work: @escaping @Sendable () -> Void) {
            self.interrupts = interrupts
            self.work = work
        }
    }

    private func wait() -> Never {
        var handled = handled
        while true {
            var signal: Int32 = 0
            if sigwait(&handled, &signal) == 0 { interrupt(signal) }
        }
    }

    private static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(signal, nil, &action) == 0 else { return false }
        // SIG_IGN is the number 1, cast to a function pointer.
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    /// - Parameter stop: Called on the first signal; at once if it was already received.
    func stopping(_ stop: @escaping @Sendable () -> Void) {
        let hasCome = state.withLock { state in
            state.stop = stop
            return state.first != nil
        }
        if hasCome { stop() }
    }

    /// Returns the exit status of a run that ended with `code`. For a cancelled run, it names the signal.
    func status(for code: ExitCode) -> Int32 {
        guard code == .cancelled, let signal = state.withLock({ $0.first }) else { return code.rawValue }
        return Self.status(of: signal)
    }

    /// 128 plus the signal's number, as in shells.
    private static func status(of signal: Int32) -> Int32 { 128 + signal }

    private func interrupt(_ signal: Int32) {
        let (isFirst, stop) = state.withLock { state in
            defer { state.first = state.first ?? signal }
            return (state.first == nil, state.stop)
        }
        guard isFirst else { Self.end(signal) }
        stop?()
    }

    private static func end(_ signal: Int32) -> Never {
        Screen.restoreEcho()
        if var eraser = Screen.eraser {
            eraser.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }
        _exit(status(of: signal))
    }
}
