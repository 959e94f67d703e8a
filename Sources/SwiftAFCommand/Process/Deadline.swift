import SwiftAF

/// The end of `--timeout` for what happens before anything is sent: the wait for files, pipes and the terminal.
enum Deadline {
    /// The end of the time; nil without a limit.
    @TaskLocal static var current: Instant?

    /// Throws if the run was cancelled, or its time is over.
    static func check() throws(Failure) {
        guard !Task.isCancelled else { throw Failure(SessionError(.cancelled)) }
        guard let current, current <= .now else { return }
        throw Failure(
            SessionError(.timeout, reason: .total, message: "total timeout: the input wasn't complete in time"))
    }

    /// The interval, in milliseconds, at which a wait checks whether the run was stopped.
    static let pollInterval: Int32 = 100

    /// How long to wait before the next ``check()``, in milliseconds.
    static var nextPoll: Int32 {
        guard let current else { return pollInterval }
        return Int32(max(0, min(Double(pollInterval), (current - .now).fractionalMilliseconds.rounded(.up))))
    }
}
