public import FoundationEssentials

/// Is notified of the events of a manager's requests (``HTTPSessionManager/eventMonitors``): awaited calls, tasks with
/// closures, uploads, downloads, streams, WebSockets and connections of event streams. The default implementation of
/// each event does nothing.
///
/// The monitors of a manager are called on a separate queue, one event at a time, in order. A slow monitor delays other
/// monitors but no transfer; undelivered events are kept in memory, without a limit.
///
/// The events of a request have this order: created, resumed; for each attempt: sent, then any number of 1xx responses,
/// redirects and answered challenges, a last challenge if the response is a 401 or 407, the response, and retried if
/// another attempt follows; finally metrics, cancelled if it was, finished. An attempt that an interceptor couldn't
/// adapt isn't sent (``AttemptOutcome/endedInAdapt``). Suspended and resumed are reported when they happen. Events that
/// don't occur aren't reported, but every created request is finished, except a task that is released before it was
/// started. Events of different requests may be interleaved. The caller may continue before
/// ``requestFinished(_:with:)``.
///
/// An invalid request isn't reported, unless it is a task. Without monitors, events cost nothing.
public protocol EventMonitor: Sendable {
    /// Whether ``requestTraced(_:_:)`` is called, which copies every head. Default: false. Read when the monitor is
    /// set.
    var tracesWire: Bool { get }
    /// Whether ``messageSent(_:_:)`` and ``messageReceived(_:_:)`` are called, for which messages stay in memory until
    /// they are delivered. Default: false. Read when the monitor is set.
    var observesMessages: Bool { get }
    /// A call began, or a task was made.
    func requestCreated(_ request: MonitoredRequest)
    /// The request begins or continues: at once for an awaited call, or because its task was resumed.
    func requestResumed(_ request: MonitoredRequest)
    /// A task was suspended.
    func requestSuspended(_ request: MonitoredRequest)
    /// The request is about to be sent, with the changes of interceptors.
    ///
    /// - Parameters:
    ///   - request: The request as the caller made it.
    ///   - sent: The request as it is sent.
    ///   - attempt: The number of the attempt, from 1.
    func requestSent(_ request: MonitoredRequest, as sent: HTTPRequest, attempt: Int)
    /// A redirect was decided.
    func requestRedirected(_ request: MonitoredRequest, by proposal: RedirectProposal, decision: RedirectDecision)
    /// A 401 or 407 was received. Followed by ``challengeAnswered(_:_:)``, or by ``responseReceived(_:_:)`` if it
    /// becomes the response.
    func requestChallenged(_ request: MonitoredRequest, by response: HTTPResponse)
    /// A challenge is answered: the request is sent again with credentials. Not reported: further rounds of NTLM and
    /// Negotiate, and preemptive credentials.
    ///
    /// - Parameters:
    ///   - request: The request as the caller made it.
    ///   - challenge: The challenge, without credentials. The scheme of its ``AuthenticationChallenge/protectionSpace``
    ///     is the one of the answer.
    func challengeAnswered(_ request: MonitoredRequest, _ challenge: AuthenticationChallenge)
    /// A 1xx response was received, between the request and its response.
    func informationalResponseReceived(_ request: MonitoredRequest, _ response: InformationalResponse)
    /// A head was sent or received, if ``tracesWire`` is true: in order, between sent and metrics of its attempt.
    func requestTraced(_ request: MonitoredRequest, _ trace: WireTrace)
    /// The head of an attempt's response has arrived, without metrics.
    func responseReceived(_ request: MonitoredRequest, _ response: HTTPResponse)
    /// A message of a WebSocket was sent, if ``observesMessages`` is true: between its response and its metrics.
    func messageSent(_ request: MonitoredRequest, _ message: WebSocket.Message)
    /// A message of a WebSocket was received, if ``observesMessages`` is true, whether or not it is read.
    func messageReceived(_ request: MonitoredRequest, _ message: WebSocket.Message)
    /// An interceptor decided on another attempt, after a delay.
    func requestRetried(_ request: MonitoredRequest, after outcome: AttemptOutcome, delay: Duration)
    /// The metrics of the last attempt.
    func metricsCollected(_ request: MonitoredRequest, _ metrics: ResponseMetrics)
    /// The request was cancelled.
    func requestCancelled(_ request: MonitoredRequest)
    /// The request has ended. Validation and decoding of the response follow later.
    func requestFinished(_ request: MonitoredRequest, with result: RequestResult)
    /// The manager was invalidated.
    func managerInvalidated()
}

extension EventMonitor {
    public var tracesWire: Bool { false }
    public var observesMessages: Bool { false }
    public func messageSent(_ request: MonitoredRequest, _ message: WebSocket.Message) {}
    public func messageReceived(_ request: MonitoredRequest, _ message: WebSocket.Message) {}
    public func requestTraced(_ request: MonitoredRequest, _ trace: WireTrace) {}
    public func informationalResponseReceived(_ request: MonitoredRequest, _ response: InformationalResponse) {}
    public func requestCreated(_ request: MonitoredRequest) {}
    public func requestResumed(_ request: MonitoredRequest) {}
    public func requestSuspended(_ request: MonitoredRequest) {}
    public func requestSent(_ request: MonitoredRequest, as sent: HTTPRequest, attempt: Int) {}
    public func requestRedirected(
        _ request: MonitoredRequest, by proposal: RedirectProposal, decision: RedirectDecision
    ) {}
    public func requestChallenged(_ request: MonitoredRequest, by response: HTTPResponse) {}
    public func challengeAnswered(_ request: MonitoredRequest, _ challenge: AuthenticationChallenge) {}
    public func responseReceived(_ request: MonitoredRequest, _ response: HTTPResponse) {}
    public func requestRetried(_ request: MonitoredRequest, after outcome: AttemptOutcome, delay: Duration) {}
    public func metricsCollected(_ request: MonitoredRequest, _ metrics: ResponseMetrics) {}
    public func requestCancelled(_ request: MonitoredRequest) {}
    public func requestFinished(_ request: MonitoredRequest, with result: RequestResult) {}
    public func managerInvalidated() {}
}

/// The request of an event.
public struct MonitoredRequest: Sendable, Identifiable {
    /// The number of the request, unique in the process; for tasks, ``SessionTask/id``.
    public let id: UInt64
    /// The request as its caller made it, with an absolute URL. It has the caller's secrets: before you log it, call
    /// ``Redaction/url(_:)`` and its other methods.
    public let request: HTTPRequest
    /// The time of the event.
    public let date: Date

    /// Creates a value, for tests of monitors.
    public init(id: UInt64, request: HTTPRequest, date: Date = .now) {
        self.id = id
        self.request = request
        self.date = date
    }
}

/// The result of a request.
public struct RequestResult: Sendable {
    /// The head of the last response, if there is one.
    public var response: HTTPResponse?
    /// The error; nil if a response was received completely.
    public var error: SessionError?
    /// The body, if it was collected in memory; nil for streams and files.
    public var body: Data?
    /// The path of the file that the body was saved to.
    public var filePath: String?

    /// Creates a result, for tests of monitors.
    public init(
        response: HTTPResponse? = nil, error: SessionError? = nil, body: Data? = nil, filePath: String? = nil
    ) {
        self.response = response ?? error?.response
        self.error = error
        self.body = body
        self.filePath = filePath
    }

    /// The metrics of the last attempt.
    public var metrics: ResponseMetrics { response?.metrics ?? error?.metrics ?? ResponseMetrics() }
}
