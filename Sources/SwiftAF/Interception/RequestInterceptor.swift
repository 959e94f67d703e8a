/// Changes requests before they are sent, and decides on retries.
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
/// A manager has one (``HTTPSessionManager/interceptor``), and so may a request (``HTTPRequest/interceptor``), which is
/// called first. They are called for awaited calls, tasks with closures, uploads, downloads, and streams until their
/// head is returned. They aren't called between the hops of a redirect.
///
/// The caller sees one exchange: one completion, one task handle, one total time limit
/// (``HTTPRequest/Timeouts/total``), which includes the interceptors. A cancelled request doesn't wait for its
/// interceptor: the interceptor's task is cancelled and its result ignored. Progress restarts with each attempt.
public protocol RequestInterceptor: Sendable {
    /// Returns the request to send. Called before each attempt with the original request, without the changes of
    /// earlier attempts.
    ///
    /// - Parameters:
    ///   - request: The request, with an absolute URL and the session's fields. The result is validated.
    ///   - attempt: The attempt.
    /// - Throws: An error to end the request without sending it: a ``SessionError`` as it is, any other as
    ///   ``SessionError/underlying`` of ``SessionError/Code/interceptor``.
    func adapt(_ request: HTTPRequest, for attempt: RequestAttempt) async throws -> HTTPRequest

    /// Decides what follows an attempt that failed or had a response with status 400 or higher.
    ///
    /// Not called if the request was cancelled, its total time limit has passed, or its body can't be replayed
    /// (``HTTPBody/isReplayable``): then the outcome is final.
    ///
    /// - Parameters:
    ///   - request: The request that was sent.
    ///   - outcome: The outcome of the attempt.
    func retry(_ request: HTTPRequest, after outcome: AttemptOutcome) async -> RetryDecision
}

extension RequestInterceptor {
    /// Returns the request unchanged.
    public func adapt(_ request: HTTPRequest, for attempt: RequestAttempt) async throws -> HTTPRequest { request }

    /// Returns ``RetryDecision/doNotRetry``.
    public func retry(_ request: HTTPRequest, after outcome: AttemptOutcome) async -> RetryDecision { .doNotRetry }
}

/// One attempt to send a request.
public struct RequestAttempt: Sendable, Hashable {
    /// The number of the attempt, from 1.
    public var number: Int
    /// When the attempt began, before ``RequestInterceptor/adapt(_:for:)``.
    public var start: ContinuousClock.Instant
    /// When the total time limit passes; nil without one.
    public var deadline: ContinuousClock.Instant?
    /// The status codes of the earlier attempts, in order; 0 without a response.
    public var earlierStatuses: [Int]

    /// Makes an attempt, for tests.
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

/// The outcome of an attempt.
public struct AttemptOutcome: Sendable {
    public var attempt: RequestAttempt
    /// The head of the response, if there is one; also if there is an error.
    public var response: HTTPResponse?
    /// The error of the attempt; nil if there was a response, with any status.
    public var error: SessionError?

    /// Makes an outcome, for tests.
    public init(attempt: RequestAttempt, response: HTTPResponse? = nil, error: SessionError? = nil) {
        self.attempt = attempt
        self.response = response ?? error?.response
        self.error = error
    }

    /// The status code of the response, if there is one.
    public var status: Int? { response?.status }

    /// The metrics up to the end of the attempt.
    public var metrics: ResponseMetrics { response?.metrics ?? error?.metrics ?? ResponseMetrics() }
}

/// The decision after an attempt.
public enum RetryDecision: Sendable {
    /// Retry after a delay. If the delay would exceed the total time limit, the outcome is final.
    case retry(after: Duration)
    /// The outcome is final, unless another interceptor decides otherwise.
    case doNotRetry
    /// Fail with this error, as in ``RequestInterceptor/adapt(_:for:)``, whatever the outcome.
    case fail(with: any Error)

    /// Retry at once.
    public static var retry: RetryDecision { .retry(after: .zero) }

    var isDoNotRetry: Bool {
        if case .doNotRetry = self { true } else { false }
    }
}

/// Combines several interceptors. Each adapts the result of the previous one. For retries they are called in the same
/// order; the first decision other than ``RetryDecision/doNotRetry`` counts, and the rest aren't called.
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
