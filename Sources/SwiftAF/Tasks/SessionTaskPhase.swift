/// The phase of a ``SessionTask``, with the values that exist in that phase only. Each command changes the phase and
/// returns the action that the task must perform.
///
/// - `Spec`: The request and the closures that the task was made with; released when it completes.
/// - `Work`: The transfer or the attempts; made when the task is started.
/// - `Ending`: The result of the task.
enum SessionTaskPhase<Spec: Sendable, Work: Sendable, Ending: Sendable>: Sendable {
    /// Not started.
    case created(Spec)
    case running(Spec, Work)
    /// Started, then suspended.
    case suspended(Spec, Work)
    /// Cancelled. Without work if it was never started.
    case cancelling(Spec, Work?)
    case completed(Ending)

    enum Action: Sendable {
        case nothing
        /// Begin the work.
        case begin(Work)
        /// Complete a task that was never started with ``SessionError/Code/cancelled``.
        case completeCancelled(Spec)
        case suspend(Work)
        case resume(Work)
        case cancel(Work)
    }

    var state: SessionTask.State {
        switch self {
        case .created, .suspended: .suspended
        case .running: .running
        case .cancelling: .cancelling
        case .completed: .completed
        }
    }

    /// The spec; nil once the task has completed.
    var spec: Spec? {
        switch self {
        case .created(let spec), .running(let spec, _), .suspended(let spec, _), .cancelling(let spec, _): spec
        case .completed: nil
        }
    }

    /// The ending; nil until the task has completed.
    var ending: Ending? {
        if case .completed(let ending) = self { ending } else { nil }
    }

    /// - Parameter start: Makes the work. Called if the task wasn't started yet.
    mutating func resume(_ start: (Spec) -> Work) -> Action {
        switch self {
        case .created(let spec):
            let work = start(spec)
            self = .running(spec, work)
            return .begin(work)
        case .suspended(let spec, let work):
            self = .running(spec, work)
            return .resume(work)
        case .running, .cancelling, .completed:
            return .nothing
        }
    }

    mutating func suspend() -> Action {
        guard case .running(let spec, let work) = self else { return .nothing }
        self = .suspended(spec, work)
        return .suspend(work)
    }

    mutating func cancel() -> Action {
        switch self {
        case .created(let spec):
            self = .cancelling(spec, nil)
            return .completeCancelled(spec)
        case .running(let spec, let work), .suspended(let spec, let work):
            self = .cancelling(spec, work)
            return .cancel(work)
        case .cancelling, .completed:
            return .nothing
        }
    }

    /// Changes the work of a running or suspended task.
    ///
    /// - Returns: What `change` returns, such as a former value that the caller releases without the lock; nil in
    ///   another phase.
    @discardableResult
    mutating func update<Result>(_ change: (inout Work) -> Result) -> Result? {
        switch self {
        case .running(let spec, var work):
            let result = change(&work)
            self = .running(spec, work)
            return result
        case .suspended(let spec, var work):
            let result = change(&work)
            self = .suspended(spec, work)
            return result
        case .created, .cancelling, .completed:
            return nil
        }
    }

    /// Completes the task, and returns the spec and the work that it had. Returns nil if it has already completed; its
    /// ending then stays the same.
    mutating func complete(with ending: Ending) -> (spec: Spec, work: Work?)? {
        let former: (spec: Spec, work: Work?)
        switch self {
        case .created(let spec): former = (spec, nil)
        case .running(let spec, let work), .suspended(let spec, let work): former = (spec, work)
        case .cancelling(let spec, let work): former = (spec, work)
        case .completed: return nil
        }
        self = .completed(ending)
        return former
    }

    /// Changes the ending of a task that has completed.
    mutating func updateEnding(_ change: (inout Ending) -> Void) {
        guard case .completed(var ending) = self else { return }
        change(&ending)
        self = .completed(ending)
    }
}

/// The work of a task that was started.
enum TaskWork: Sendable {
    /// Nothing is sent, because the request is invalid or its session is closed.
    case failure(SessionError)
    case transfer(CoreTask)
    /// The attempts of a request with interceptors.
    case attempts(RetryLoop, CoreRequest, TaskAttempt)

    /// The transfer that the task's commands are passed to.
    var transfer: CoreTask? {
        switch self {
        case .transfer(let transfer), .attempts(_, _, .sent(let transfer)): transfer
        case .failure, .attempts: nil
        }
    }

    /// The session that sends the request; nil if nothing is sent.
    var session: CoreSession? {
        switch self {
        case .failure: nil
        case .transfer(let transfer): transfer.request.session
        case .attempts(_, let request, _): request.session
        }
    }

    /// Replaces the current attempt of a request with interceptors. Returns the former one; nil without interceptors.
    mutating func exchange(_ attempt: TaskAttempt) -> TaskAttempt? {
        guard case .attempts(let loop, let request, let former) = self else { return nil }
        self = .attempts(loop, request, attempt)
        return former
    }

    /// Resumes an attempt that waits until its task is resumed.
    func resumeAttempt() {
        if case .attempts(_, _, let attempt) = self { attempt.resume() }
    }
}

/// The state of the current attempt of a task with interceptors.
enum TaskAttempt: Sendable {
    /// None has been sent.
    case none
    /// Waits until the task is resumed.
    case waiting(OneValueChannel<Void>)
    case sent(CoreTask)

    /// Ends the wait of a waiting attempt.
    func resume() {
        if case .waiting(let resumption) = self { resumption.send() }
    }
}
