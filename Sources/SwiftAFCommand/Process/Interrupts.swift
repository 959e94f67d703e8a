import Glibc
import SwiftAF

/// Handles SIGINT (Ctrl-C), SIGTERM and SIGHUP: the first one requests a stop, a second Ctrl-C ends the process at
/// once. Notices SIGCONT, which a shell's `fg` sends.
package final class Interrupts: Sendable {
    /// Calls a function with a context on another thread. Returns false if that isn't possible.
    package typealias ThreadCall = (@convention(c) (UnsafeMutableRawPointer?) -> Void, UnsafeMutableRawPointer?) -> Bool

    private struct State {
        /// The first signal received, and when.
        var first: (signal: Int32, time: Instant)?
        var stop: (@Sendable () -> Void)?
    }

    /// Whether a request is being built. Nothing was sent or written yet, and encoding a large body doesn't notice that
    /// the run is cancelled.
    static let isPreparing = Locked(false)
    /// How long a run may build its request after the first signal.
    private static let preparationLimit = Duration.seconds(3)

    private let state = Locked(State())
    /// The signals that are waited for.
    private let handled: sigset_t

    /// Blocks the signals in this thread and in those that it starts, so call it before there are any. None is lost: a
    /// blocked one waits for ``handle(on:)``. A signal that was ignored when the process started, for example by nohup,
    /// stays ignored.
    init() {
        var handled = sigset_t()
        sigemptyset(&handled)
        for signal in [SIGINT, SIGTERM, SIGHUP] where !Self.isIgnored(signal) { sigaddset(&handled, signal) }
        sigaddset(&handled, SIGCONT)
        pthread_sigmask(SIG_BLOCK, &handled, nil)
        self.handled = handled
    }

    /// Handles signals until the process exits, on another thread, which must block all of them.
    ///
    /// - Parameter call: Calls a function on that thread. If it returns false, signals end the process at once.
    func handle(on call: ThreadCall) {
        let interrupts = Unmanaged.passRetained(self)
        let isCalled = call(
            { context in
                if let context { Unmanaged<Interrupts>.fromOpaque(context).takeRetainedValue().wait() }
            }, interrupts.toOpaque())
        guard !isCalled else { return }
        interrupts.release()
        var handled = handled
        pthread_sigmask(SIG_UNBLOCK, &handled, nil)
    }

    private func wait() -> Never {
        var handled = handled
        while true {
            var signal: Int32 = 0
            guard sigwait(&handled, &signal) == 0 else { continue }
            if signal == SIGCONT {
                Screen.continued()
                continue
            }
            let isFirst = state.withLock { $0.first == nil }
            interrupt(signal)
            if isFirst { endPreparing(signal) }
        }
    }

    /// Ends the process if it is still building its request some time after the first signal. Signals that come
    /// meanwhile are handled, and don't extend that time.
    private func endPreparing(_ signal: Int32) {
        var handled = handled
        let deadline = Instant.now + Self.preparationLimit
        while case let remaining = deadline - .now, remaining > .zero {
            let (seconds, attoseconds) = remaining.components
            var limit = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
            let next = sigtimedwait(&handled, nil, &limit)
            // It also returns early, with EINTR, when the process continues after Ctrl-Z.
            if next == SIGCONT { Screen.continued() } else if next > 0 { interrupt(next) }
        }
        if Self.isPreparing.withLock({ $0 }) { Self.end(signal) }
    }

    static func isIgnored(_ signal: Int32) -> Bool {
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
        guard code == .cancelled, let signal = state.withLock({ $0.first?.signal }) else { return code.rawValue }
        return Self.status(of: signal)
    }

    /// 128 plus the signal's number, as in shells.
    private static func status(of signal: Int32) -> Int32 { 128 + signal }

    private func interrupt(_ signal: Int32) {
        let now = Instant.now
        let (first, stop) = state.withLock { state in
            defer { state.first = state.first ?? (signal, now) }
            return (state.first, state.stop)
        }
        guard let first else {
            stop?()
            return
        }
        if Self.ends(signal, after: now - first.time) { Self.end(signal) }
    }

    /// Whether a signal that isn't the first one ends the process at once.
    ///
    /// A closing terminal and `timeout` send two signals within milliseconds, which mustn't keep the run from cleaning
    /// up. A person who presses Ctrl-C again takes longer.
    ///
    /// - Parameter elapsed: The time since the first signal.
    static func ends(_ signal: Int32, after elapsed: Duration) -> Bool {
        elapsed >= (signal == SIGINT ? minimumKeyInterval : cleanupLimit)
    }

    /// The time that a person takes at least between two presses of a key.
    private static let minimumKeyInterval = Duration.milliseconds(300)
    /// How long a run may take to clean up before any signal ends it. Waits for locks and outputs are shorter.
    private static let cleanupLimit = Duration.seconds(10)

    private static func end(_ signal: Int32) -> Never {
        Screen.restoreEcho()
        if var eraser = Screen.eraser {
            eraser.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }
        _exit(status(of: signal))
    }
}
