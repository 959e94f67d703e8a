import Dispatch
import Glibc
import SwiftAF

/// Ctrl-C, and what else asks a program to end: the first one asks to stop, the second one ends the process at once.
final class Interrupts: Sendable {
    private struct State {
        /// The signal that came first.
        var first: Int32?
        var stop: (@Sendable () -> Void)?
    }

    private let state = Locked(State())
    /// Dispatch lets any thread use them; the type only does not say so.
    private nonisolated(unsafe) let sources: [any DispatchSourceSignal]

    /// Watches from when this returns, as long as the object exists: none is lost between the signal's default action,
    /// which ends the process, and the source. Blocks until then. A signal that the process was started to ignore, as
    /// by nohup, stays ignored.
    init() {
        sources = [SIGINT, SIGTERM, SIGHUP].filter { !Self.isIgnored($0) }.map { signal in
            DispatchSource.makeSignalSource(signal: signal, queue: .global(qos: .userInitiated))
        }
        let isWatching = DispatchSemaphore(value: 0)
        for source in sources {
            let signal = Int32(source.handle)
            source.setRegistrationHandler { isWatching.signal() }
            source.setEventHandler { [weak self] in self?.interrupt(signal) }
            source.activate()
        }
        for _ in sources { isWatching.wait() }
    }

    deinit {
        for source in sources { source.cancel() }
    }

    private static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(signal, nil, &action) == 0 else { return false }
        // SIG_IGN is a number in the shape of a function.
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    /// - Parameter stop: Called at the first one, at once if it has come already.
    func stopping(_ stop: @escaping @Sendable () -> Void) {
        let hasCome = state.withLock { state in
            state.stop = stop
            return state.first != nil
        }
        if hasCome { stop() }
    }

    /// The exit status of a run that ended with `code`: that of a cancelled one says which signal it was.
    func status(for code: ExitCode) -> Int32 {
        guard code == .cancelled, let signal = state.withLock({ $0.first }) else { return code.rawValue }
        return Self.status(of: signal)
    }

    /// As shells count.
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
        if var eraser = Screen.eraser {
            eraser.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }
        _exit(status(of: signal))
    }
}
