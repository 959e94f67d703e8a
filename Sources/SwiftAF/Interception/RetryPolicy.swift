import FoundationEssentials

/// Retries requests that failed for transient reasons: a lost connection, or a busy server.
///
/// ```swift
/// manager.interceptors = [RetryPolicy()]
/// ```
///
/// Only idempotent methods (RFC 9110 9.2.2) with replayable bodies are retried. Delays grow exponentially and are
/// randomised ("full jitter"), so that clients don't retry at the same time. `Retry-After`, in seconds or as a date, is
/// obeyed (RFC 9110 10.2.3): the random delay is added to it. ``HTTPRequest/allowsRetries`` turns retries off for one
/// request. Copies share their ``budget``.
///
/// If an interceptor couldn't adapt the request (``AttemptOutcome/endedInAdapt``), or a ``BearerAuthenticator``
/// couldn't refresh its token after a 401, the failure of the inner request decides: its code, its status, its
/// `Retry-After`. Such an attempt counts like any other, and is retried with every method, also POST, because the
/// server didn't act on it.
public struct RetryPolicy: RequestInterceptor, NonWrappingInterceptor {
    /// The maximum number of retries of a request. Default: 3.
    public var maximumRetries = 3

    /// The methods that are retried. Default: the standard ones that are idempotent (``HTTPMethod/isIdempotent``).
    public var methods = HTTPMethod.idempotent

    /// The status codes that are retried. Default: 408, 425, 429, 500, 502, 503 and 504.
    public var statusCodes = TransientFailures.statusCodes

    /// The error codes that are retried. Nothing is retried after the total time limit. Default:
    /// ``SessionError/Code/connect``, ``SessionError/Code/connectionLost``, ``SessionError/Code/truncated`` and
    /// ``SessionError/Code/timeout``.
    public var errorCodes = TransientFailures.ofRequests

    /// The maximum random delay before the first retry; doubled for each further one. Default: 500 ms.
    public var baseDelay: Duration = .milliseconds(500)

    /// The upper bound of all random delays. Default: 20 s.
    public var maximumDelay: Duration = .seconds(20)

    /// If Retry-After exceeds this, the request isn't retried. Default: 60 s.
    public var maximumRetryAfter: Duration = .seconds(60)

    /// The budget of retries; nil for no limit. Default: a ``RetryBudget`` with its defaults (for each origin ten
    /// retries, and one more for every five new requests), shared by copies of this policy. A retry after a
    /// `Retry-After` of at least ``baseDelay`` takes nothing from it; one of zero always does.
    public var budget: RetryBudget? = RetryBudget()

    /// Returns a number that is at least 0 and less than 1.
    var random: @Sendable () -> Double = { Double.random(in: 0..<1) }

    /// Creates a policy with the default settings.
    public init() {}

    /// Creates a policy with at most `maximumRetries` retries and the other defaults. Tests of retries pass `.zero` as
    /// ``baseDelay``.
    public init(maximumRetries: Int, baseDelay: Duration = .milliseconds(500)) {
        self.maximumRetries = maximumRetries
        self.baseDelay = baseDelay
    }

    public func adapt(_ request: HTTPRequest, for attempt: RequestAttempt) async throws -> HTTPRequest {
        if attempt.number == 1 { budget?.deposit(for: request) }
        return request
    }

    public func retry(_ request: HTTPRequest, after outcome: AttemptOutcome) async -> RetryDecision {
        let now = Date.now
        guard let delay = delay(for: request, after: outcome, now: now, at: .now, random: random()) else {
            return .doNotRetry
        }
        // A server that sends Retry-After limits its load itself, so such a retry takes nothing from the budget.
        if !asksForPause(outcome, now: now), let budget, !budget.withdraw(for: request) { return .doNotRetry }
        return .retry(after: delay)
    }

    /// Returns the delay before the next attempt; nil if no attempt follows. Ignores the budget.
    ///
    /// - Parameters:
    ///   - now: The current date, for a `Retry-After` that is a date.
    ///   - moment: The current time on the clock of ``RequestAttempt/deadline``.
    ///   - random: The fraction of the maximum random delay: at least 0, less than 1.
    func delay(
        for request: HTTPRequest, after outcome: AttemptOutcome, now: Date, at moment: ContinuousClock.Instant,
        random: Double
    ) -> Duration? {
        guard request.allowsRetries, outcome.attempt.number <= maximumRetries, mayRepeat(request, after: outcome),
            isTransient(outcome)
        else { return nil }
        let asked = asked(by: outcome, now: now)
        if let asked, asked > maximumRetryAfter { return nil }
        let delay = Backoff(least: asked ?? .zero, jitter: baseDelay, maximumJitter: maximumDelay)
            .delay(failures: max(1, outcome.attempt.number), random: random)
        if let deadline = outcome.attempt.deadline, moment + delay >= deadline { return nil }
        return delay
    }

    /// Whether the server asks for a delay that is not shorter than ``baseDelay``.
    private func asksForPause(_ outcome: AttemptOutcome, now: Date) -> Bool {
        asked(by: outcome, now: now).map { $0 > .zero && $0 >= baseDelay } ?? false
    }

    /// Returns the error of an inner request, such as the refresh of a token, without which this request can't be sent;
    /// nil for other outcomes. With such an error, the server hasn't acted on this request: it wasn't sent, or was
    /// refused with 401.
    private func innerFailure(_ outcome: AttemptOutcome) -> SessionError? {
        guard let error = outcome.error, outcome.endedInAdapt || error.credentialFailure != nil else { return nil }
        return error
    }

    private func mayRepeat(_ request: HTTPRequest, after outcome: AttemptOutcome) -> Bool {
        // The body can be sent again, because none of it was read.
        if outcome.endedInAdapt { return true }
        return request.body.isReplayable && (methods.contains(request.method) || innerFailure(outcome) != nil)
    }

    /// Returns the delay of `Retry-After`; nil if there is none. Ignores the head of a response whose transfer failed.
    private func asked(by outcome: AttemptOutcome, now: Date) -> Duration? {
        if let inner = innerFailure(outcome) { return inner.delayAsked(now: now) }
        guard outcome.error == nil, let response = outcome.response else { return nil }
        return RetryAfter.delay(of: response, now: now)
    }

    /// Returns whether the failure may be transient. If the transfer failed after the head, its error decides, not its
    /// status. The total time limit of an inner request isn't that of this request, so it doesn't prevent a retry.
    private func isTransient(_ outcome: AttemptOutcome) -> Bool {
        if let inner = innerFailure(outcome) { return inner.isTransient(errorCodes, statusCodes: statusCodes) }
        if let error = outcome.error { return errorCodes.contains(error.code) && !error.hasNoTimeLeft }
        return outcome.status.map(statusCodes.contains) ?? false
    }
}

extension HTTPResponse {
    /// The delay that the server asks for before another request, by `Retry-After` (RFC 9110 10.2.3); nil if the field
    /// is missing or invalid. A date is relative to the response's `Date`, or to now without one.
    public var retryAfter: Duration? { RetryAfter.delay(of: self, now: .now) }
}

/// The value of `Retry-After` (RFC 9110 10.2.3).
enum RetryAfter {
    /// The delay, at most ``Swift/Duration/longestPause``; nil if the field is missing or invalid. A date is relative
    /// to the server's Date field, if there is one.
    static func delay(of response: HTTPResponse, now: Date) -> Duration? {
        guard let text = response.headers.first(named: .retryAfter), !text.isEmpty else { return nil }
        if ASCII.isNumber(text) {
            return min(.longestPause, .seconds(Int64(text) ?? .max))
        }
        guard let date = HTTPDate.parse(text, now: now) else { return nil }
        let clock = response.headers.first(named: .date).flatMap { HTTPDate.parse($0, now: now) } ?? now
        return min(.longestPause, .seconds(max(0, date.timeIntervalSince(clock))))
    }
}
