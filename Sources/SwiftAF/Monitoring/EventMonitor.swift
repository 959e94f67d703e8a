public import FoundationEssentials

/// Hears what happens to the requests of a manager (``HTTPSessionManager/eventMonitors``): those that are awaited,
/// tasks with closures, uploads, downloads, streams and the connections of event streams. Each event does nothing
/// unless it is implemented.
///
/// The monitors of a manager are called on a queue of its own, one event at a time, in the order in which they were
/// given. A monitor may take its time: it delays other monitors and no transfer, but what it has not heard of waits in
/// memory.
///
/// The events of one request come in this order: created, resumed; for each attempt, sent; then any number of times
/// redirected, or challenged and the challenge answered; a last time challenged if the answer is a 401 or 407;
/// answered, and retried if another attempt follows; then metrics, cancelled if it was, finished. Suspended and resumed
/// come in between, when they happen. What is not reached is not told, but every request that was created is finished,
/// unless it is a task that nobody started and nobody holds. Events of different requests come as they happen. A caller
/// may have gone on before ``requestFinished(_:with:)``.
///
/// A request that can't be sent, because an input of it is wrong, is not told of unless it is a task. Without a monitor
/// nothing is done or kept for them.
public protocol EventMonitor: Sendable {
    /// Whether ``requestTraced(_:_:)`` is called, which costs a copy of every head. False unless it is implemented.
    /// Read when the monitor is given to its manager.
    var tracesWire: Bool { get }
    /// A call begins, or a task was made.
    func requestCreated(_ request: MonitoredRequest)
    /// It runs: at once, or a task was resumed.
    func requestResumed(_ request: MonitoredRequest)
    /// A task was suspended.
    func requestSuspended(_ request: MonitoredRequest)
    /// It is about to be sent, as interceptors have adapted it.
    ///
    /// - Parameter attempt: 1 for the first.
    func requestSent(_ request: MonitoredRequest, as sent: HTTPRequest, attempt: Int)
    /// A redirect was decided about.
    func requestRedirected(_ request: MonitoredRequest, by proposal: RedirectProposal, decision: RedirectDecision)
    /// A 401 or 407 has come. Told before ``challengeAnswered(_:_:)``, or before ``requestAnswered(_:with:)`` if it is
    /// the answer.
    func requestChallenged(_ request: MonitoredRequest, by response: HTTPResponse)
    /// A challenge is answered, by whomever: the same request goes out once more, with credentials. The rounds of NTLM
    /// and Negotiate that follow are not told, and neither are credentials that go out before anybody asked.
    ///
    /// - Parameter challenge: Without the credentials. The scheme of its ``AuthenticationChallenge/protectionSpace`` is
    ///   the one it is answered with.
    func challengeAnswered(_ request: MonitoredRequest, _ challenge: AuthenticationChallenge)
    /// Something went over the wire, if ``tracesWire`` is true: in the order in which it was sent and received, between
    /// sent and metrics of its attempt.
    func requestTraced(_ request: MonitoredRequest, _ trace: WireTrace)
    /// The head of an attempt's answer has come; its metrics have not.
    func requestAnswered(_ request: MonitoredRequest, with response: HTTPResponse)
    /// An interceptor wants another attempt, after a while.
    func requestRetried(_ request: MonitoredRequest, after outcome: AttemptOutcome, delay: Duration)
    /// What was measured in the last attempt.
    func metricsCollected(_ request: MonitoredRequest, _ metrics: ResponseMetrics)
    /// It was cancelled, by whomever.
    func requestCancelled(_ request: MonitoredRequest)
    /// It is over. Whether its answer is acceptable, and what a serializer makes of it, is decided afterwards.
    func requestFinished(_ request: MonitoredRequest, with result: RequestResult)
    /// The manager takes no more requests.
    func managerInvalidated()
}

extension EventMonitor {
    public var tracesWire: Bool { false }
    public func requestTraced(_ request: MonitoredRequest, _ trace: WireTrace) {}
    public func requestCreated(_ request: MonitoredRequest) {}
    public func requestResumed(_ request: MonitoredRequest) {}
    public func requestSuspended(_ request: MonitoredRequest) {}
    public func requestSent(_ request: MonitoredRequest, as sent: HTTPRequest, attempt: Int) {}
    public func requestRedirected(
        _ request: MonitoredRequest, by proposal: RedirectProposal, decision: RedirectDecision
    ) {}
    public func requestChallenged(_ request: MonitoredRequest, by response: HTTPResponse) {}
    public func challengeAnswered(_ request: MonitoredRequest, _ challenge: AuthenticationChallenge) {}
    public func requestAnswered(_ request: MonitoredRequest, with response: HTTPResponse) {}
    public func requestRetried(_ request: MonitoredRequest, after outcome: AttemptOutcome, delay: Duration) {}
    public func metricsCollected(_ request: MonitoredRequest, _ metrics: ResponseMetrics) {}
    public func requestCancelled(_ request: MonitoredRequest) {}
    public func requestFinished(_ request: MonitoredRequest, with result: RequestResult) {}
    public func managerInvalidated() {}
}

/// Which request an event is about.
public struct MonitoredRequest: Sendable, Identifiable {
    /// Unique in the process, and that of the ``SessionTask`` if it is one.
    public let id: UInt64
    /// As its caller made it, with an absolute URL.
    public let request: HTTPRequest
    /// When the event happened.
    public let date: Date

    /// Makes one, as tests of monitors do.
    public init(id: UInt64, request: HTTPRequest, date: Date = .now) {
        self.id = id
        self.request = request
        self.date = date
    }
}

/// How a request ended.
public struct RequestResult: Sendable {
    /// The head of the last answer, if one came.
    public var response: HTTPResponse?
    /// Why it failed, nil if an answer came to its end.
    public var error: SessionError?
    /// The body, if it was collected in memory; nil for streams and files.
    public var body: Data?
    /// The file that the body went into.
    public var filePath: String?

    /// Makes a result, as tests of monitors do.
    public init(
        response: HTTPResponse? = nil, error: SessionError? = nil, body: Data? = nil, filePath: String? = nil
    ) {
        self.response = response ?? error?.response
        self.error = error
        self.body = body
        self.filePath = filePath
    }

    /// Times and sizes of the last attempt.
    public var metrics: ResponseMetrics { response?.metrics ?? error?.metrics ?? ResponseMetrics() }
}
