/// Changes requests before they are sent, and decides whether those that failed are sent again.
///
/// ```swift
/// struct Traced: RequestInterceptor {
///     func adapt(_ request: HTTPRequest, for attempt: RequestAttempt) async throws -> HTTPRequest {
///         var request = request
///         request.headers["X-Attempt"] = String(attempt.number)
///         return request
///     }
/// }
/// ```
///
/// A manager has one (``HTTPSessionManager/interceptor``), and so may a request (``HTTPRequest/interceptor``); that of
/// the request comes first. Both are asked for calls that are awaited, for tasks with closures, for uploads and
/// downloads, and for streams until their head is handed on. Neither is asked between the hops of a redirect.
///
/// Whoever made the request sees one exchange: one completion, one task handle, one total time limit
/// (``HTTPRequest/Timeouts/total``), which runs on while an interceptor works. A cancelled request doesn't wait for its
/// interceptor: what that does is cancelled, and its answer is not used. Progress begins anew with each attempt.
public protocol RequestInterceptor: Sendable {
    /// Makes what is sent in one attempt. Called before each of them with the request as its caller made it: what was
    /// changed for the attempt before is gone.
    ///
    /// - Parameters:
    ///   - request: With an absolute URL and the session's headers. What comes back is validated anew.
    ///   - attempt: Which attempt it is for.
    /// - Throws: What ends the request without sending it: a ``SessionError`` as it is, any other as the
    ///   ``SessionError/underlying`` of ``SessionError/Code/interceptor``.
    func adapt(_ request: HTTPRequest, for attempt: RequestAttempt) async throws -> HTTPRequest

    /// Says what follows an attempt that failed, or was answered with a status of 400 or more.
    ///
    /// Not asked when the request was cancelled or its total time limit has passed, nor where the body can't be sent
    /// again (``HTTPBody/isReplayable``): the outcome then stands.
    ///
    /// - Parameters:
    ///   - request: As it was sent.
    ///   - outcome: What came of it.
    func retry(_ request: HTTPRequest, after outcome: AttemptOutcome) async -> RetryDecision
}

extension RequestInterceptor {
    /// The request as it is.
    public func adapt(_ request: HTTPRequest, for attempt: RequestAttempt) async throws -> HTTPRequest { request }

    /// ``RetryDecision/doNotRetry``.
    public func retry(_ request: HTTPRequest, after outcome: AttemptOutcome) async -> RetryDecision { .doNotRetry }
}

/// One of the times that a request is sent.
public struct RequestAttempt: Sendable, Hashable {
    /// 1 for the first.
    public var number: Int
    /// When it began, before ``RequestInterceptor/adapt(_:for:)``.
    public var start: ContinuousClock.Instant
    /// When the total time limit passes; nil without one.
    public var deadline: ContinuousClock.Instant?
    /// What the attempts before were answered with, in order; 0 where no answer came.
    public var earlierStatuses: [Int]

    /// Makes an attempt, as tests do.
    public init(
        number: Int = 1, start: ContinuousClock.Instant = .now, deadline: ContinuousClock.Instant? = nil,
        earlierStatuses: [Int] = []
    ) {
        self.number = number
        self.start = start
        self.deadline = deadline
        self.earlierStatuses = earlierStatuses
    }
}

/// What came of an attempt.
public struct AttemptOutcome: Sendable {
    public var attempt: RequestAttempt
    /// The head of the answer, if one came; also beside an error.
    public var response: HTTPResponse?
    /// Why the attempt failed; nil if it was answered, with whatever status.
    public var error: SessionError?

    /// Makes an outcome, as tests do.
    public init(attempt: RequestAttempt, response: HTTPResponse? = nil, error: SessionError? = nil) {
        self.attempt = attempt
        self.response = response ?? error?.response
        self.error = error
    }

    /// The status of the answer, if one came.
    public var status: Int? { response?.status }

    /// Times and sizes, as far as the attempt got.
    public var metrics: ResponseMetrics { response?.metrics ?? error?.metrics ?? ResponseMetrics() }
}

/// What follows an attempt.
public enum RetryDecision: Sendable {
    /// Send the request again after a while. A wait that would outlast the total time limit is not begun: the outcome
    /// then stands.
    case retry(after: Duration)
    /// The outcome stands, unless another interceptor says otherwise.
    case doNotRetry
    /// The request ends with this error, as in ``RequestInterceptor/adapt(_:for:)``, whatever came.
    case fail(with: any Error)

    /// Send the request again at once.
    public static var retry: RetryDecision { .retry(after: .zero) }

    var isDoNotRetry: Bool {
        if case .doNotRetry = self { true } else { false }
    }
}

/// Several interceptors as one. Each adapts what the one before it made. They are asked about retrying in the same
/// order; the first that says anything but ``RetryDecision/doNotRetry`` decides, and those behind it are not asked.
public struct CompositeInterceptor: RequestInterceptor {
    public let interceptors: [any RequestInterceptor]

    public init(_ interceptors: any RequestInterceptor...) {
        self.interceptors = interceptors
    }

    public init(_ interceptors: [any RequestInterceptor]) {
        self.interceptors = interceptors
    }

    public func adapt(_ request: HTTPRequest, for attempt: RequestAttempt) async throws -> HTTPRequest {
        var request = request
        for interceptor in interceptors { request = try await interceptor.adapt(request, for: attempt) }
        return request
    }

    public func retry(_ request: HTTPRequest, after outcome: AttemptOutcome) async -> RetryDecision {
        for interceptor in interceptors {
            let decision = await interceptor.retry(request, after: outcome)
            if !decision.isDoNotRetry { return decision }
        }
        return .doNotRetry
    }
}

/// An interceptor made of closures.
public struct Interceptor: RequestInterceptor {
    public typealias Adapt = @Sendable (HTTPRequest, RequestAttempt) async throws -> HTTPRequest
    public typealias Retry = @Sendable (HTTPRequest, AttemptOutcome) async -> RetryDecision

    private let adapting: Adapt?
    private let retrying: Retry?

    /// - Parameters:
    ///   - adapt: ``RequestInterceptor/adapt(_:for:)``; nil changes nothing.
    ///   - retry: ``RequestInterceptor/retry(_:after:)``; nil never retries.
    public init(adapt: Adapt? = nil, retry: Retry? = nil) {
        adapting = adapt
        retrying = retry
    }

    public func adapt(_ request: HTTPRequest, for attempt: RequestAttempt) async throws -> HTTPRequest {
        try await adapting?(request, attempt) ?? request
    }

    public func retry(_ request: HTTPRequest, after outcome: AttemptOutcome) async -> RetryDecision {
        await retrying?(request, outcome) ?? .doNotRetry
    }
}
