import FoundationEssentials

/// Sends requests again whose failure may pass: when the connection was lost, or the server said that it is busy.
///
/// ```swift
/// manager.interceptor = RetryPolicy()
/// ```
///
/// Only methods that are idempotent (RFC 9110, section 9.2.2) are repeated, and only bodies that can be sent again. The
/// waits grow exponentially and are drawn by lot ("full jitter"), so that clients that failed together don't come back
/// together; a server that names a time (`Retry-After`, in seconds or as a date) is not asked before. Copies share their
/// ``budget``.
public struct RetryPolicy: RequestInterceptor {
    /// How often a request is sent again at most.
    public var maximumRetries = 3

    /// Methods of requests that may be sent again.
    public var methods: Set<HTTPMethod> = [.get, .head, .options, .trace, .put, .delete]

    /// Answers after which a request is sent again.
    public var statuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]

    /// Failures after which a request is sent again; never after the total time limit.
    public var errorCodes: Set<SessionError.Code> = [.connect, .connectionLost, .truncated, .timeout]

    /// The longest wait before the first repeat, doubled for each that follows.
    public var baseDelay: Duration = .milliseconds(500)

    /// What no drawn wait is longer than.
    public var maximumDelay: Duration = .seconds(20)

    /// Who asks for a longer wait than this is not asked again: the answer stands.
    public var maximumRetryAfter: Duration = .seconds(60)

    /// What repeats may add to the load of the servers; nil for no limit. At first one of the policy's own.
    public var budget: RetryBudget? = RetryBudget()

    /// From 0 up to 1.
    var random: @Sendable () -> Double = { Double.random(in: 0..<1) }

    public init() {}

    /// At most `maximumRetries` repeats, otherwise as ``init()``.
    public init(maximumRetries: Int) {
        self.maximumRetries = maximumRetries
    }

    public func adapt(_ request: HTTPRequest, for attempt: RequestAttempt) async throws -> HTTPRequest {
        if attempt.number == 1 { budget?.deposit() }
        return request
    }

    public func retry(_ request: HTTPRequest, after outcome: AttemptOutcome) async -> RetryDecision {
        guard let delay = delay(for: request, after: outcome, now: .now, at: .now, random: random()) else {
            return .doNotRetry
        }
        if let budget, !budget.withdraw() { return .doNotRetry }
        return .retry(after: delay)
    }

    /// How long to wait before the next attempt, nil if there is none. Whether the budget allows it is another question.
    ///
    /// - Parameters:
    ///   - now: By the calendar.
    ///   - moment: By the clock of ``RequestAttempt/deadline``.
    ///   - random: From 0 up to 1: which part of the longest wait.
    func delay(
        for request: HTTPRequest, after outcome: AttemptOutcome, now: Date, at moment: ContinuousClock.Instant,
        random: Double
    ) -> Duration? {
        guard outcome.attempt.number <= maximumRetries, methods.contains(request.method), request.body.isReplayable,
            mayPass(outcome)
        else { return nil }
        var delay = backoff(outcome.attempt.number) * min(1, max(0, random))
        if outcome.error == nil, let response = outcome.response, let asked = RetryAfter.delay(of: response, now: now) {
            guard asked <= maximumRetryAfter else { return nil }
            delay = max(delay, asked)
        }
        if let deadline = outcome.attempt.deadline, moment + delay >= deadline { return nil }
        return delay
    }

    private func mayPass(_ outcome: AttemptOutcome) -> Bool {
        if let error = outcome.error { return errorCodes.contains(error.code) && error.reason != .total }
        return outcome.status.map(statuses.contains) ?? false
    }

    private func backoff(_ number: Int) -> Duration {
        let most = max(.zero, maximumDelay)
        var delay = min(most, max(.zero, baseDelay))
        for _ in 1..<max(1, number) {
            guard delay > .zero, delay < most else { break }
            delay = delay < most / 2 ? delay * 2 : most
        }
        return delay
    }
}

/// What a server asks for with `Retry-After`.
enum RetryAfter {
    /// Longer ones are as good as this.
    private static let longest: Int64 = 1_000_000_000

    /// The time that the server wants to pass; nil if it doesn't say or nobody understands it. A date counts from the
    /// server's own clock where that is known.
    static func delay(of response: HTTPResponse, now: Date) -> Duration? {
        guard let text = response.headers.first(HTTPHeaders.Name.retryAfter), !text.isEmpty else { return nil }
        if text.utf8.allSatisfy({ $0 &- 0x30 < 10 }) {
            return .seconds(min(longest, Int64(text) ?? longest))
        }
        guard let date = HTTPDate.parse(text, now: now) else { return nil }
        let clock = response.headers.first(HTTPHeaders.Name.date).flatMap { HTTPDate.parse($0, now: now) } ?? now
        return .seconds(min(Double(longest), max(0, date.timeIntervalSince(clock))))
    }
}
