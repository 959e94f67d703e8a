/// The phase of a task handle, with what belongs to it. Each command is a transition; it returns the action to perform.
///
/// - `Spec`: What the task was made with, kept until it completes.
/// - `Work`: What performs it, from its start on.
/// - `Ending`: What it has ended with.
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

    /// Nil once the task has completed.
    var spec: Spec? {
        switch self {
        case .created(let spec), .running(let spec, _), .suspended(let spec, _), .cancelling(let spec, _): spec
        case .completed: nil
        }
    }

    /// Nil until the task has completed.
    var ending: Ending? {
        if case .completed(let ending) = self { ending } else { nil }
    }

    /// - Parameter start: Makes the work of a task that is started.
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

    /// Changes the work of a task that runs or is suspended.
    ///
    /// - Returns: What `change` returns, such as a former value for the caller to release; nil in another phase.
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

    /// Ends the task. Returns what it had, once: nil if it has completed before, which doesn't change its ending.
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

/// What performs a task.
enum TaskWork: Sendable {
    /// Nothing is sent, because the request is invalid.
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

    /// Replaces the attempt, if there may be several. Returns the former one.
    mutating func exchange(_ attempt: TaskAttempt) -> TaskAttempt? {
        guard case .attempts(let loop, let request, let former) = self else { return nil }
        self = .attempts(loop, request, attempt)
        return former
    }

    /// Lets an attempt start that waits until its task is resumed.
    func resumeAttempt() {
        if case .attempts(_, _, let attempt) = self { attempt.resume() }
    }
}

/// How far the last attempt of a task is.
enum TaskAttempt: Sendable {
    /// None has been sent.
    case none
    /// Waits until the task is resumed.
    case waiting(OneValueChannel<Void>)
    case sent(CoreTask)

    /// Ends the wait, if it waits.
    func resume() {
        if case .waiting(let resumption) = self { resumption.send() }
    }
}
