/// The state of a task handle, as a value: each event returns the action to perform outside of the lock.
struct SessionTaskState {
    enum Action: Equatable {
        case nothing
        /// Begin the transfer.
        case begin
        /// Complete a task that was never started with ``SessionError/Code/cancelled``.
        case completeCancelled
        case suspendTransfer
        case resumeTransfer
        case cancelTransfer
    }

    private(set) var state = SessionTask.State.suspended
    private var hasBegun = false

    mutating func resume() -> Action {
        guard state == .suspended else { return .nothing }
        state = .running
        guard hasBegun else {
            hasBegun = true
            return .begin
        }
        return .resumeTransfer
    }

    mutating func suspend() -> Action {
        guard state == .running else { return .nothing }
        state = .suspended
        return .suspendTransfer
    }

    mutating func cancel() -> Action {
        switch state {
        case .suspended where !hasBegun:
            hasBegun = true
            state = .cancelling
            return .completeCancelled
        case .suspended, .running:
            state = .cancelling
            return .cancelTransfer
        case .cancelling, .completed:
            return .nothing
        }
    }

    /// Returns true once.
    mutating func complete() -> Bool {
        guard state != .completed else { return false }
        state = .completed
        return true
    }
}
