import FoundationEssentials

/// An event of a request.
enum RequestEvent: Sendable {
    case created
    case resumed
    case suspended
    case sent(HTTPRequest, attempt: Int)
    case redirected(RedirectProposal, RedirectDecision)
    /// And answered.
    case challenged(AuthenticationChallenge)
    case answered(HTTPResponse)
    case informed(InformationalResponse)
    case traced(WireTrace)
    case messageSent(WebSocket.Message)
    case messageReceived(WebSocket.Message)
    case retried(AttemptOutcome, delay: Duration)
    case finished(RequestResult)
}

/// Reports the events of a request to its manager's monitors and to observers of the process. Exists only if there are
/// any.
final class RequestEvents: Sendable {
    let id: UInt64
    private let request: HTTPRequest
    private let monitors: MonitorGroup?
    /// The process hears of tasks by themselves.
    private let isTask: Bool

    /// - Parameter task: The number of the task, if there is one.
    private init(_ request: HTTPRequest, _ monitors: MonitorGroup?, task: UInt64?) {
        id = task ?? SessionTask.nextID()
        self.request = request
        self.monitors = monitors
        isTask = task != nil
    }

    /// Of a task that was made.
    static func created(_ request: HTTPRequest, _ monitors: MonitorGroup?, task: UInt64) -> RequestEvents? {
        guard monitors != nil else { return nil }
        let events = RequestEvents(request, monitors, task: task)
        events.tell(.created)
        return events
    }

    /// Of a transfer without a task, which begins.
    static func begun(_ request: HTTPRequest, _ monitors: MonitorGroup?) -> RequestEvents? {
        guard monitors != nil || ProcessEvents.isObserved else { return nil }
        let events = RequestEvents(request, monitors, task: nil)
        events.tell(.created)
        events.tell(.resumed)
        return events
    }

    func tell(_ event: RequestEvent) {
        if !isTask {
            switch event {
            case .created: ProcessEvents.report(.transferBegan(id, request))
            case .finished: ProcessEvents.report(.transferEnded(id))
            default: break
            }
        }
        monitors?.tell(event, of: MonitoredRequest(id: id, request: request))
    }

    func finish(_ outcome: CoreOutcome, hasBody: Bool = true) {
        let isInMemory = hasBody && outcome.download == nil
        tell(
            .finished(
                RequestResult(
                    response: outcome.response, error: outcome.failure, body: isInMemory ? outcome.body : nil,
                    filePath: outcome.filePath)))
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

    /// - Returns: Nil for none.
    init?(_ monitors: [any EventMonitor], on queue: MonitorQueue) {
        guard !monitors.isEmpty else { return nil }
        self.monitors = monitors
        tracesWire = monitors.contains { $0.tracesWire }
        observesMessages = monitors.contains { $0.observesMessages }
        self.queue = queue
    }

    func tell(_ event: RequestEvent, of request: MonitoredRequest) {
        queue.add(.request(event, request, self))
    }

    func tellInvalidated() {
        queue.add(.invalidated(self))
    }
}

extension EventMonitor {
    func hear(_ event: RequestEvent, of request: MonitoredRequest) {
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
        case .answered(let response):
            if [401, 407].contains(response.status) { requestChallenged(request, by: response) }
            responseReceived(request, response)
        case .informed(let response): informationalResponseReceived(request, response)
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
