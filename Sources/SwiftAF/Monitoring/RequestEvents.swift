import FoundationEssentials

/// An event of a request.
enum RequestEvent: Sendable {
    case created
    case resumed
    case suspended
    case sent(HTTPRequest, attempt: Int)
    case redirected(RedirectProposal, RedirectDecision)
    /// A challenge was received, and credentials are sent.
    case challenged(AuthenticationChallenge)
    case responseReceived(HTTPResponse)
    case informational(InformationalResponse)
    case traced(WireTrace)
    case messageSent(WebSocket.Message)
    case messageReceived(WebSocket.Message)
    case retried(AttemptOutcome, delay: Duration)
    case finished(RequestResult)
}

/// Reports the events of a request to its manager's monitors and to observers of the process. Exists only if there are
/// monitors or observers.
///
/// Observers of the process get the events of tasks even if there are no monitors, and thus no object of this class; so
/// the static functions report them. No other file reports events of requests to ``ProcessEvents``.
final class RequestEvents: Sendable {
    let id: UInt64
    private let request: HTTPRequest
    private let monitors: MonitorGroup?
    /// Whether the request belongs to a task, so that observers of the process get the events of the task instead of
    /// those of a transfer.
    private let isTask: Bool
    /// Whether the end was reported. No event is reported afterwards, such as a retry that was decided when the request
    /// was cancelled.
    private let hasEnded = Locked(false)

    /// - Parameter task: The number of the task, if there is one.
    private init(_ request: HTTPRequest, _ monitors: MonitorGroup?, task: UInt64?) {
        id = task ?? SessionTask.nextID()
        self.request = request
        self.monitors = monitors
        isTask = task != nil
    }

    /// Reports that a task was created, and returns its events; nil without monitors.
    static func created(_ request: HTTPRequest, _ monitors: MonitorGroup?, task: UInt64) -> RequestEvents? {
        guard monitors != nil else { return nil }
        let events = RequestEvents(request, monitors, task: task)
        events.report(.created)
        return events
    }

    /// Reports that a transfer without a task begins, and returns its events; nil if nothing observes them.
    static func begun(_ request: HTTPRequest, _ monitors: MonitorGroup?) -> RequestEvents? {
        guard monitors != nil || ProcessEvents.isObserved else { return nil }
        let events = RequestEvents(request, monitors, task: nil)
        events.report(.created)
        events.report(.resumed)
        return events
    }

    func report(_ event: RequestEvent) {
        if !isTask {
            switch event {
            case .created: ProcessEvents.report(.transferBegan(id, request))
            case .finished: ProcessEvents.report(.transferEnded(id))
            default: break
            }
        }
        guard let monitors else { return }
        // Added under the lock, so that no event follows the end. Adding an event runs no code of the program.
        hasEnded.withLock { hasEnded in
            guard !hasEnded else { return }
            if case .finished = event { hasEnded = true }
            monitors.report(event, of: MonitoredRequest(id: id, request: request))
        }
    }

    func finish(_ outcome: CoreOutcome, hasBody: Bool = true) {
        let isInMemory = hasBody && outcome.download == nil
        report(
            .finished(
                RequestResult(
                    response: outcome.response, error: outcome.failure, body: isInMemory ? outcome.body : nil,
                    filePath: outcome.filePath)))
    }

    // MARK: Tasks and managers

    /// Returns a closure that reports the completion of a task; call it after the task's handler. Nil if nothing
    /// observes it.
    static func completion(
        of task: SessionTask, _ completion: @autoclosure () -> TaskCompletion
    ) -> (@Sendable () -> Void)? {
        guard ProcessEvents.isObserved else { return nil }
        let completion = completion()
        return { ProcessEvents.report(.taskCompleted(task, completion)) }
    }

    /// Reports whether a downloaded file was moved to its place.
    ///
    /// - Parameter task: Nil for a transfer without a task.
    static func reportFile(of outcome: CoreOutcome, task: SessionTask? = nil) {
        guard outcome.download != nil else { return }
        if outcome.filePath != nil {
            ProcessEvents.report(.downloadMoved(task))
        } else if let failure = outcome.failure, failure.code == .file {
            ProcessEvents.report(.downloadNotMoved(task, failure))
        }
    }

    /// Reports that a manager was invalidated.
    static func reportInvalidated(_ manager: HTTPSessionManager, to monitors: MonitorGroup?) {
        ProcessEvents.report(.managerInvalidated(manager))
        monitors?.reportInvalidated()
    }
}

/// Reports the end of a request whose transfer may outlive the call that began it, such as a stream. Reports when both
/// have happened: the transfer has ended, and the call has provided the events to report to.
struct EndReport: ~Copyable, Sendable {
    private let state = Locked<(outcome: CoreOutcome?, events: RequestEvents?)>((nil, nil))

    /// Called when the transfer has ended.
    borrowing func end(with outcome: CoreOutcome) {
        let events = state.withLock { state in
            state.outcome = outcome
            return state.events
        }
        events?.finish(outcome, hasBody: false)
    }

    /// Called when the call returns, so that the end may be reported.
    borrowing func report(to events: RequestEvents) {
        let outcome = state.withLock { state in
            state.events = events
            return state.outcome
        }
        if let outcome { events.finish(outcome, hasBody: false) }
    }
}

/// The monitors of a manager and the queue that they are called on.
final class MonitorGroup: Sendable {
    let monitors: [any EventMonitor]
    let queue: MonitorQueue
    /// Whether a monitor traces the wire.
    let tracesWire: Bool
    /// Whether a monitor observes the messages of WebSockets.
    let observesMessages: Bool

    /// - Returns: Nil if there are no monitors.
    init?(_ monitors: [any EventMonitor], on queue: MonitorQueue) {
        guard !monitors.isEmpty else { return nil }
        self.monitors = monitors
        tracesWire = monitors.contains { $0.tracesWire }
        observesMessages = monitors.contains { $0.observesMessages }
        self.queue = queue
    }

    func report(_ event: RequestEvent, of request: MonitoredRequest) {
        queue.add(.request(event, request, self))
    }

    func reportInvalidated() {
        queue.add(.invalidated(self))
    }
}

extension EventMonitor {
    func notify(_ event: RequestEvent, of request: MonitoredRequest) {
        switch event {
        case .created: requestCreated(request)
        case .resumed: requestResumed(request)
        case .suspended: requestSuspended(request)
        case .sent(let sent, let attempt): requestSent(request, as: sent, attempt: attempt)
        case .redirected(let proposal, let decision):
            requestRedirected(request, by: proposal, decision: decision)
        case .challenged(let challenge):
            requestChallenged(request, by: challenge.response)
            challengeAnswered(request, challenge)
        case .responseReceived(let response):
            if [401, 407].contains(response.status) { requestChallenged(request, by: response) }
            responseReceived(request, response)
        case .informational(let response): informationalResponseReceived(request, response)
        case .traced(let trace): if tracesWire { requestTraced(request, trace) }
        case .messageSent(let message): if observesMessages { messageSent(request, message) }
        case .messageReceived(let message): if observesMessages { messageReceived(request, message) }
        case .retried(let outcome, let delay): requestRetried(request, after: outcome, delay: delay)
        case .finished(let result):
            metricsCollected(request, result.metrics)
            if result.error?.code == .cancelled { requestCancelled(request) }
            requestFinished(request, with: result)
        }
    }
}
