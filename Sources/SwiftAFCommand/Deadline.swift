import SwiftAF

/// The end of `--timeout` for what happens before anything is sent: the wait for files, pipes and the terminal.
enum Deadline {
    /// Nil without a limit.
    @TaskLocal static var current: Instant?

    /// Throws if the run was cancelled, or its time is over.
    static func check() throws(Failure) {
        guard !Task.isCancelled else { throw Failure(SessionError(.cancelled)) }
        guard let current, current <= .now else { return }
        throw Failure(
            SessionError(.timeout, reason: .total, message: "total timeout: the input wasn't complete in time"))
    }

    /// Returns how long to wait before the next ``check()``, in milliseconds.
    ///
    /// - Parameter longest: The longest such wait.
    static func wait(_ longest: Int32) -> Int32 {
        guard let current else { return longest }
        return Int32(max(0, min(Double(longest), (current - .now).milliseconds.rounded(.up))))
    }
}
