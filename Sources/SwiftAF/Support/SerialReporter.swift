/// Runs reports one at a time, so that an older value can't follow a newer one, and without a lock, because what a
/// report resumes may call the program's executor.
struct SerialReporter: ~Copyable, Sendable {
    enum State {
        case idle
        /// A thread reports.
        case reporting
        /// It has to report once more, because another thread had something to report meanwhile.
        case reportingAgain
    }

    private let state = Locked(State.idle)

    /// Calls `report`, which reports the newest value, at least once after this call began: on this thread, or on one
    /// that reports already.
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
