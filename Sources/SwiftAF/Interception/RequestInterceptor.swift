public import FoundationEssentials

/// Changes requests before they are sent, wraps their sending, and decides on retries.
///
/// ```swift
/// struct Traced: RequestInterceptor {
///     func intercept(_ request: HTTPRequest, next: RequestSender) async throws -> Response<Data> {
///         var request = request
///         request.headers["X-Attempt"] = String(next.attempt.number)
///         return try await next(request)
///     }
/// }
/// ```
///
/// A manager has a list of interceptors (``HTTPSessionManager/interceptors``), and so has a request
/// (``HTTPRequest/interceptors``), whose interceptors come first. They are called for awaited calls, tasks with
/// closures, uploads, downloads, and streams until their head is returned, and for each connection of server-sent
/// events and each handshake of a WebSocket. They aren't called between the hops of a redirect.
///
/// For each attempt, ``adapt(_:for:)`` of all interceptors is called in order, each with the result of the previous
/// one. Then ``intercept(_:next:)`` is called: the first interceptor is the outermost, and the last one's `next` sends
/// the request. If an attempt failed, also in `adapt`, or has a status of 400 or higher, ``retry(_:after:)`` is called
/// in order; the first decision other than ``RetryDecision/doNotRetry`` counts.
///
/// The caller sees one exchange: one completion, one task handle, one total time limit
/// (``HTTPRequest/Timeouts/total``), which includes the interceptors. A cancelled request doesn't wait for its
/// interceptors: their task is cancelled and its result ignored. Progress restarts with each attempt.
///
/// Every method is async, so an actor or a class of a global actor may conform; its methods run on that actor.
public protocol RequestInterceptor: Sendable {
    /// Returns the request to send. Called before each attempt with the original request, without the changes of
    /// earlier attempts.
    ///
    /// If the result has another origin, the secret fields and the credential that the request had before are removed,
    /// as for a redirect, whether the caller or an earlier interceptor has set them. The same applies to a request that
    /// `intercept` sends. Add those of the other server here. The token of a ``BearerAuthenticator`` stays if it is for
    /// that origin, too.
    ///
    /// - Parameters:
    ///   - request: The request, with an absolute URL and the session's fields. The result is validated.
    ///   - attempt: The attempt.
    /// - Throws: An error to end the attempt without sending it: a ``SessionError`` as it is, any other as
    ///   ``SessionError/underlying`` of ``SessionError/Code/interceptor``. ``RequestInterceptor/retry(_:after:)``
    ///   follows, with ``AttemptOutcome/endedInAdapt``, unless the error is a cancellation.
    func adapt(_ request: HTTPRequest, for attempt: RequestAttempt) async throws -> HTTPRequest

    /// Wraps an attempt: returns the response of `next`, a changed one, or a new one without calling `next` at all,
    /// such as a mock or a cached response. `next` may be called several times, one call after the other, and in other
    /// tasks. The attempt ends with the return: a transfer that wasn't waited for is cancelled.
    ///
    /// The response may have any status; a refused one has its body. Failed transfers throw.
    ///
    /// For a download, the response has the path of the file and the body of a refused response; for a stream, only the
    /// head. For both, the head may be changed, but the response of a call of `next` must be returned: another one
    /// fails with ``SessionError/Code/interceptor``.
    ///
    /// - Parameters:
    ///   - request: The request, with the changes of ``RequestInterceptor/adapt(_:for:)`` and of the outer
    ///     interceptors.
    ///   - next: Continues with the next interceptor, or sends the request.
    /// - Throws: An error that ends the attempt, as in ``RequestInterceptor/adapt(_:for:)``.
    func intercept(_ request: HTTPRequest, next: RequestSender) async throws -> Response<Data>

    /// Decides what follows an attempt that failed or had a response with status 400 or higher.
    ///
    /// Not called if the request was cancelled, or its total time limit has passed: then the outcome is final. It is
    /// also final if you return ``RetryDecision/retry`` for a request whose body can't be replayed
    /// (``HTTPBody/isReplayable``), unless the attempt ended in `adapt`.
    ///
    /// Called once more if an interceptor decided to fail because it couldn't get a credential, as a
    /// ``BearerAuthenticator`` does if its refresh after a 401 fails: with that error,
    /// ``SessionError/Code/authentication`` whose ``SessionError/underlying`` error is a ``SessionError``.
    ///
    /// - Parameters:
    ///   - request: The request that was sent. If none was, the request with the changes of those interceptors whose
    ///     `adapt` succeeded.
    ///   - outcome: The outcome of the attempt.
    func retry(_ request: HTTPRequest, after outcome: AttemptOutcome) async -> RetryDecision
}

extension RequestInterceptor {
    /// Returns the request unchanged.
    public func adapt(_ request: HTTPRequest, for attempt: RequestAttempt) async throws -> HTTPRequest { request }

    /// Returns the response of `next`.
    public func intercept(_ request: HTTPRequest, next: RequestSender) async throws -> Response<Data> {
        try await next(request)
    }

    /// Returns ``RetryDecision/doNotRetry``.
    public func retry(_ request: HTTPRequest, after outcome: AttemptOutcome) async -> RetryDecision { .doNotRetry }
}

/// An interceptor that doesn't wrap the sending. Its ``RequestInterceptor/intercept(_:next:)`` isn't called, which
/// saves the frames of two async calls for each attempt.
protocol NonWrappingInterceptor: RequestInterceptor {}

/// An interceptor that adds a credential for certain origins. It is asked whether the credential may be sent to another
/// origin if a later interceptor changes the URL.
protocol CredentialInterceptor: RequestInterceptor {
    /// Returns whether this interceptor has added the field, and the field may be sent to the origin.
    func mayKeep(_ field: HTTPHeaders.Field, for origin: Origin) -> Bool
}

/// Continues after an interceptor: with the next interceptor, or with the transfer. Call it like a function.
public struct RequestSender: Sendable {
    /// Sends a request and returns the response, whatever its status.
    public typealias Send = @Sendable (HTTPRequest) async throws(SessionError) -> Response<Data>

    enum Step: Sendable {
        /// - Parameter given: The request that the interceptor was called with.
        case chain(AttemptChain, index: Int, given: HTTPRequest)
        case closure(Send)
    }

    /// The attempt that the request belongs to.
    public let attempt: RequestAttempt
    private let step: Step

    /// Creates a sender from a closure, for tests of interceptors.
    public init(attempt: RequestAttempt = RequestAttempt(), send: @escaping Send) {
        self.init(attempt: attempt, step: .closure(send))
    }

    init(attempt: RequestAttempt, step: Step) {
        self.attempt = attempt
        self.step = step
    }

    /// Sends a request and returns the response, whatever its status.
    ///
    /// - Parameter request: The request; it is validated, and its total time limit is the time that is left.
    /// - Throws: The error of the transfer or of an inner interceptor; ``SessionError/Code/bodyNotReplayable`` if the
    ///   request is sent again and its body can't be; ``SessionError/Code/invalidInput`` while an earlier call runs;
    ///   ``SessionError/Code/cancelled`` once the request or this attempt has ended.
    public func callAsFunction(_ request: HTTPRequest) async throws(SessionError) -> Response<Data> {
        switch step {
        case .chain(let chain, let index, let given):
            try await chain.intercept(chain.safe(request, madeFrom: given), from: index)
        case .closure(let send): try await send(request)
        }
    }
}

/// One attempt to send a request.
public struct RequestAttempt: Sendable, Hashable {
    /// The number of the request, unique in the process; ``MonitoredRequest/id`` of its events.
    public var requestID: UInt64
    /// The number of the attempt, from 1.
    public var number: Int
    /// When the attempt began, before ``RequestInterceptor/adapt(_:for:)``.
    public var start: ContinuousClock.Instant
    /// When the total time limit passes; nil without one.
    public var deadline: ContinuousClock.Instant?
    /// The status codes of the earlier attempts, in order; 0 without a response.
    public var earlierStatuses: [Int]

    /// Creates an attempt, for tests.
    public init(
        requestID: UInt64 = 0, number: Int = 1, start: ContinuousClock.Instant = .now,
        deadline: ContinuousClock.Instant? = nil, earlierStatuses: [Int] = []
    ) {
        self.requestID = requestID
        self.number = number
        self.start = start
        self.deadline = deadline
        self.earlierStatuses = earlierStatuses
    }
}

/// The outcome of an attempt.
public struct AttemptOutcome: Sendable {
    /// The number of the attempt, and what was sent with it.
    public var attempt: RequestAttempt
    /// The head of the response, if there is one; also if there is an error.
    public var response: HTTPResponse?
    /// The body of the response, if it was collected in memory; of a refused download, up to 1 MiB.
    public var body: Data
    /// The error of the attempt; nil if there was a response, with any status.
    public var error: SessionError?
    /// Whether ``RequestInterceptor/adapt(_:for:)`` of an interceptor threw ``error``, so that nothing was sent. A
    /// response of ``error`` is that of another request, such as the refresh of a token, so ``response`` is nil.
    public var endedInAdapt: Bool
    /// Releases the response of a stream, whose body may still arrive, so that its connection is free. Called by an
    /// interceptor before it waits for a request of its own and then retries or fails. Nil if the outcome may be final,
    /// or if nothing is open.
    var release: (@Sendable () -> Void)?

    /// Creates an outcome, for tests.
    public init(
        attempt: RequestAttempt, response: HTTPResponse? = nil, body: Data = Data(), error: SessionError? = nil,
        endedInAdapt: Bool = false
    ) {
        self.attempt = attempt
        self.response = response ?? (endedInAdapt ? nil : error?.response)
        self.body = body
        self.error = error
        self.endedInAdapt = endedInAdapt
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
    /// Fail with this error, as in ``RequestInterceptor/adapt(_:for:)``, whatever the outcome. Other interceptors can
    /// still retry only if the error is that a credential couldn't be obtained: see
    /// ``RequestInterceptor/retry(_:after:)``.
    case fail(any Error)

    /// Retry at once.
    public static var retry: RetryDecision { .retry(after: .zero) }
}

/// An interceptor made of closures.
///
/// The closures may be written in an actor or a class of a global actor: inside of them, use `await` for its
/// properties and methods.
public struct Interceptor: RequestInterceptor {
    /// Changes a request before it is sent.
    public typealias Adapt = @Sendable (HTTPRequest, RequestAttempt) async throws -> HTTPRequest
    /// Wraps the sending of a request.
    public typealias Intercept = @Sendable (HTTPRequest, RequestSender) async throws -> Response<Data>
    /// Decides what to do after an attempt.
    public typealias Retry = @Sendable (HTTPRequest, AttemptOutcome) async -> RetryDecision

    private let adapting: Adapt?
    private let intercepting: Intercept?
    private let retrying: Retry?

    /// Creates an interceptor of closures.
    ///
    /// - Parameters:
    ///   - adapt: ``RequestInterceptor/adapt(_:for:)``; nil changes nothing.
    ///   - intercept: ``RequestInterceptor/intercept(_:next:)``; nil only calls `next`.
    ///   - retry: ``RequestInterceptor/retry(_:after:)``; nil never retries.
    public init(adapt: Adapt? = nil, intercept: Intercept? = nil, retry: Retry? = nil) {
        adapting = adapt
        intercepting = intercept
        retrying = retry
    }

    /// Creates an interceptor that wraps the sending of each request.
    ///
    /// ```swift
    /// manager.interceptors = [
    ///     Interceptor { request, next in
    ///         print(request)
    ///         return try await next(request)
    ///     }
    /// ]
    /// ```
    ///
    /// A trailing closure that returns a request instead is ``adapt(_:for:)``.
    ///
    /// - Parameter intercept: ``RequestInterceptor/intercept(_:next:)``.
    // Not preferred to the other initializer, so that a closure that only throws is still `adapt`.
    @_disfavoredOverload
    public init(_ intercept: @escaping Intercept) {
        self.init(intercept: intercept)
    }

    public func adapt(_ request: HTTPRequest, for attempt: RequestAttempt) async throws -> HTTPRequest {
        try await adapting?(request, attempt) ?? request
    }

    public func intercept(_ request: HTTPRequest, next: RequestSender) async throws -> Response<Data> {
        guard let intercepting else { return try await next(request) }
        return try await intercepting(request, next)
    }

    public func retry(_ request: HTTPRequest, after outcome: AttemptOutcome) async -> RetryDecision {
        await retrying?(request, outcome) ?? .doNotRetry
    }
}
