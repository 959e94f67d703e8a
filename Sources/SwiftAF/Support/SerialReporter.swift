/// Runs reports one at a time, so that an older value can't follow a newer one. Reports run without the lock, because
/// resuming a task may call the program's executor.
struct SerialReporter: ~Copyable, Sendable {
    enum State {
        case idle
        /// A thread is running a report.
        case reporting
        /// That thread must run the report once more, because another thread has called `report` meanwhile.
        case reportingAgain
    }

    private let state = Locked(State.idle)

    /// Ensures that `report`, which reports the newest value, is called at least once after this call began: on this
    /// thread, or by a thread that is already reporting.
    borrowing func report(_ report: () -> Void) {
        let isFirst = state.withLock { state in
            defer { state = state == .idle ? .reporting : .reportingAgain }
            return state == .idle
        }
        guard isFirst else { return }
        repeat { report() } while mustReportAgain()
    }

    private borrowing func mustReportAgain() -> Bool {
        state.withLock { state in
            defer { state = state == .reportingAgain ? .reporting : .idle }
            return state == .reportingAgain
        }
    }
}
