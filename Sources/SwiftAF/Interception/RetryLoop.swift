/// Sends a request in as many attempts as its interceptor decides, under one time limit.
///
/// Calls of the interceptor are raced against the time limit and ``interrupt()``, so both hold for any interceptor.
final class RetryLoop: Sendable {
    private struct State {
        var isInterrupted = false
        /// Ends the current wait.
        var wake: (@Sendable () -> Void)?
    }

    private let interceptor: any RequestInterceptor
    private let events: RequestEvents?
    private let state = Locked(State())

    init(_ interceptor: any RequestInterceptor, _ events: RequestEvents?) {
        self.interceptor = interceptor
        self.events = events
    }

    /// Ends the loop when no attempt is in flight; the caller ends a running attempt.
    func interrupt() {
        let wake = state.withLock { state in
            state.isInterrupted = true
            return state.wake
        }
        wake?()
    }

    /// - Parameter send: Performs one attempt.
    func run(_ request: CoreRequest, _ send: (CoreRequest) async -> CoreOutcome) async -> CoreOutcome {
        let session = request.session
        let registration = session.cancellations.withLock { $0.add { [weak self] in self?.interrupt() } }
        if registration == nil { interrupt() }
        defer { registration.map { id in session.cancellations.withLock { $0.remove(id) } } }
        let deadline = request.totalTimeout.map { ContinuousClock.now + $0 }
        var request = request
        var attempt = RequestAttempt(deadline: deadline)
        while true {
            do throws(SessionError) {
                let adapted = try await adapt(request, for: attempt)
                events?.tell(.sent(adapted.http, attempt: attempt.number))
                let outcome = await send(adapted)
                guard try await retries(adapted.http, attempt, outcome) else { return outcome }
                attempt.earlierStatuses.append(outcome.response?.status ?? 0)
                request = request.resuming(after: outcome.failure)
            } catch {
                return CoreOutcome(failure: error)
            }
            attempt.number += 1
            attempt.start = .now
        }
    }

    /// The request to send in an attempt.
    private func adapt(_ request: CoreRequest, for attempt: RequestAttempt) async throws(SessionError) -> CoreRequest {
        let (http, interceptor) = (request.http, interceptor)
        let adapted = await race(until: attempt.deadline) { () -> Result<HTTPRequest, SessionError> in
            do {
                return .success(try await interceptor.adapt(http, for: attempt))
            } catch {
                return .failure(SessionError(intercepting: error, url: http.url))
            }
        }
        guard let adapted else { throw whyNot(http.url) }
        var next = try adapted.get()
        if let deadline = attempt.deadline {
            let rest = deadline - .now
            guard rest > .zero else { throw whyNot(http.url) }
            next.timeouts.total = rest
        }
        try next.validate()
        return request.with(http: next)
    }

    /// Waits for the next attempt; returns whether there is one.
    private func retries(
        _ request: HTTPRequest, _ attempt: RequestAttempt, _ last: CoreOutcome
    ) async throws(SessionError) -> Bool {
        guard isRetryable(request, last) else { return false }
        let outcome = AttemptOutcome(attempt: attempt, response: last.response, error: last.failure)
        let interceptor = interceptor
        let decision = await race(until: attempt.deadline) { await interceptor.retry(request, after: outcome) }
        switch decision {
        case .doNotRetry?:
            return false
        case .fail(let cause)?:
            throw SessionError(intercepting: cause, url: request.url, response: last.response)
        case .retry(let delay)?:
            let delay = min(delay, .seconds(1_000_000_000))
            if let deadline = attempt.deadline, .now + delay >= deadline { return false }
            events?.tell(.retried(outcome, delay: max(.zero, delay)))
            if delay > .zero { await race(until: nil) { await delay.pause() } }
            if state.withLock({ $0.isInterrupted }) { throw whyNot(request.url) }
            return true
        case nil:
            throw whyNot(request.url)
        }
    }

    private func isRetryable(_ request: HTTPRequest, _ last: CoreOutcome) -> Bool {
        guard !state.withLock({ $0.isInterrupted }), request.body.isReplayable else { return false }
        guard let failure = last.failure else { return (last.response?.status ?? 0) >= 400 }
        return failure.code != .cancelled && failure.reason != .total
    }

    /// Why a wait ended early.
    private func whyNot(_ url: String) -> SessionError {
        let isInterrupted = state.withLock { $0.isInterrupted }
        return isInterrupted ? SessionError(.cancelled, url: url) : SessionError(.timeout, reason: .total, url: url)
    }

    /// The result of `work`; nil if the deadline or an interruption came first, which cancels `work`.
    @discardableResult
    private func race<Value: Sendable>(
        until deadline: ContinuousClock.Instant?, _ work: @escaping @Sendable () async -> Value
    ) async -> Value? {
        let end = Signal<Value?>()
        let begins = state.withLock { state in
            if !state.isInterrupted { state.wake = { end.send(nil) } }
            return !state.isInterrupted
        }
        guard begins else { return nil }
        let worker = Task { end.send(await work()) }
        let timer = deadline.map { deadline in
            Task {
                await (deadline - .now).pause()
                end.send(nil)
            }
        }
        let value = await end.wait()
        state.withLock { $0.wake = nil }
        timer?.cancel()
        if value == nil { worker.cancel() }
        return value
    }
}

extension SessionError {
    /// Wraps an interceptor's error, unless it is a ``SessionError``.
    init(intercepting error: any Error, url: String, response: HTTPResponse? = nil) {
        switch error {
        case var own as SessionError:
            own.url = own.url ?? url
            self = own
        case is CancellationError:
            self.init(.cancelled, url: url)
        default:
            self.init(.interceptor, url: url, response: response, underlying: error)
        }
    }
}
