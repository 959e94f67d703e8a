import SwiftAF

/// Counts the attempts of a run, and decides by `--retry` whether there is another one.
final class Attempts: RequestInterceptor {
    private let policy: RetryPolicy?
    private let count = Locked(0)
    /// The outcome of the last attempt, during the wait for the next one.
    private let last = Locked<AttemptOutcome?>(nil)
    /// The end of `--timeout`, which limits all attempts together; nil for no limit.
    private let deadline: Instant?
    private let limit: Duration?
    /// Whether the wire log (`-v`) shows why and for how long an attempt waits, so that notes aren't needed.
    private let isVerbose: Bool
    /// The URL, for the notes, if there are several transfers.
    private let subject: String?
    private let context: AdviceContext
    private let willBegin: @Sendable () -> Void
    private let willWait: @Sendable () -> Void
    private let wait: @Sendable (Duration) async -> Void
    private let show: (@Sendable ([String]) -> Void)?

    /// - Parameters:
    ///   - deadline: The end of `--timeout`; nil if it begins now.
    ///   - subject: The URL, for the notes; nil if there is only one transfer.
    ///   - show: Writes why and for how long the next attempt waits; nil to be silent.
    ///   - willBegin: Called at the start of each attempt.
    ///   - willWait: Called after an attempt that failed, before the wait for the next one.
    ///   - wait: Waits for an attempt after a response that had begun. Tests replace it.
    init(
        _ options: Options, until deadline: Instant?, about subject: String?,
        show: (@Sendable ([String]) -> Void)?,
        willBegin: @escaping @Sendable () -> Void,
        willWait: @escaping @Sendable () -> Void,
        wait: @escaping @Sendable (Duration) async -> Void = { await $0.pause() }
    ) {
        policy = options.retryPolicy
        limit = options.totalLimit
        self.deadline = deadline ?? limit.map { .now + $0 }
        isVerbose = options.isVerbose
        self.subject = subject
        context = options.adviceContext
        self.show = show
        self.willBegin = willBegin
        self.willWait = willWait
        self.wait = wait
    }

    /// The interceptors of a manager; none without `--retry`.
    var interceptors: [any RequestInterceptor] { policy == nil ? [] : [self] }

    func adapt(_ request: HTTPRequest, for attempt: RequestAttempt) async throws -> HTTPRequest {
        count.withLock { $0 += 1 }
        last.exchange(nil)
        willBegin()
        return request
    }

    func retry(_ request: HTTPRequest, after outcome: AttemptOutcome) async -> RetryDecision {
        guard let policy else { return .doNotRetry }
        var outcome = outcome
        outcome.attempt.number = count.withLock { $0 }
        outcome.attempt.deadline = deadline.map { ContinuousClock.now + ($0 - .now) }
        let decision = await policy.retry(request, after: outcome)
        if case .retry(let delay) = decision {
            last.exchange(outcome)
            willWait()
            note(outcome, delay, policy.maximumRetries)
        } else {
            await noteRefusal(request, outcome, policy)
        }
        return decision
    }

    /// Returns an error that ended the wait for another attempt, with the response of the last attempt.
    func completed(_ error: SessionError) -> SessionError {
        guard error.response == nil, let last = last.withLock({ $0 }), let response = last.response else {
            return error
        }
        var error = error
        error.response = response
        error.body = last.error?.body ?? last.body
        error.metrics = last.metrics
        return error
    }

    /// Writes a note if only the time limit or the request body prevents another attempt.
    private func noteRefusal(_ request: HTTPRequest, _ outcome: AttemptOutcome, _ policy: RetryPolicy) async {
        guard show != nil else { return }
        var (policy, outcome, repeatable) = (policy, outcome, request)
        // The remaining delay is that of Retry-After.
        policy.baseDelay = .zero
        outcome.attempt.deadline = nil
        if !request.body.isReplayable { repeatable.body = .none }
        guard case .retry(let delay) = await policy.retry(repeatable, after: outcome) else { return }
        if let reason = refusal(of: request, delay) { note("not repeated: \(reason)") }
    }

    private func refusal(of request: HTTPRequest, _ delay: Duration) -> String? {
        guard request.body.isReplayable else { return "the body can be read only once; -d @PATH of a file is repeated" }
        guard let limit, let deadline else { return nil }
        let (asked, allowed) = (Format.waitRoundedUp(delay), Format.waitRoundedDown(limit))
        guard delay <= limit else { return "the server asks for \(asked), --timeout allows \(allowed)" }
        let left = "--timeout \(allowed) leaves \(Format.waitRoundedDown(max(.zero, deadline - .now)))"
        return delay > .zero ? "the server asks for \(asked), \(left)" : "\(left) for a wait"
    }

    /// Waits until a request can be repeated whose response had begun.
    ///
    /// - Returns: The request, limited to the time that is left; nil if there is no other attempt.
    func pause(after error: SessionError, of request: HTTPRequest) async -> HTTPRequest? {
        guard error.response != nil else { return nil }
        let outcome = AttemptOutcome(attempt: RequestAttempt(), error: error)
        guard case .retry(let delay) = await retry(request, after: outcome) else { return nil }
        await wait(delay)
        guard !Task.isCancelled else { return nil }
        guard let deadline else { return request }
        let rest = deadline - .now
        guard rest > .zero else {
            note("not repeated after all: --timeout is over")
            return nil
        }
        var repeated = request
        repeated.timeouts.total = rest
        return repeated
    }

    private func note(_ outcome: AttemptOutcome, _ delay: Duration, _ most: Int) {
        guard !isVerbose else { return }
        let status = outcome.status.map { "the server responded with \($0)" }
        let cause = outcome.error.map { Advice.message(for: $0, in: context) } ?? status ?? "the attempt failed"
        let number = "retry \(outcome.attempt.number) of \(most)"
        // Mentioned because no other option ends such a wait.
        let isLong = delay >= .seconds(60) && limit == nil
        let option = isLong ? "; --timeout S limits the wait" : ""
        note("\(cause.printable); \(number) in \(Format.wait(delay))\(option)")
    }

    private func note(_ text: String) {
        let place = subject.map { "\(URLText($0).withoutUserInfo.printable): " } ?? ""
        show?(["swiftaf: \(place)\(text)"])
    }
}

extension Options {
    /// The policy of `--retry`; nil for a single attempt.
    var retryPolicy: RetryPolicy? {
        guard retries > 0 else { return nil }
        var policy = RetryPolicy(maximumRetries: retries)
        // The errors are those that the library retries; of the status codes, these.
        policy.statusCodes = [429, 503]
        // Any Retry-After is accepted; --timeout is the limit.
        policy.maximumRetryAfter = .seconds(Int64.max)
        policy.budget = nil
        return policy
    }
}
