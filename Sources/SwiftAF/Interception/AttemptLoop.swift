import Dispatch

/// What an attempt brings: enough to decide whether there is another.
protocol AttemptAnswer: Sendable {
    init(failure: SessionError)
    var response: HTTPResponse? { get }
    var failure: SessionError? { get }
}

/// Sends a request as often as its interceptor wants, under one time limit.
///
/// What an interceptor does is raced against the time limit and ``interrupt()``, so that neither depends on how it was
/// written.
final class AttemptLoop: Sendable {
    private struct State {
        var isInterrupted = false
        /// Ends what is being waited for.
        var wake: (@Sendable () -> Void)?
    }

    private let interceptor: any RequestInterceptor
    private let events: RequestEvents?
    private let state = Guarded(State())

    init(_ interceptor: any RequestInterceptor, _ events: RequestEvents?) {
        self.interceptor = interceptor
        self.events = events
    }

    /// Ends the loop as soon as no attempt is under way; ending that is the caller's business.
    func interrupt() {
        let wake = state.withLock { state in
            state.isInterrupted = true
            return state.wake
        }
        wake?()
    }

    /// - Parameter send: Makes one attempt.
    func run<Answer: AttemptAnswer>(_ order: CoreOrder, _ send: (CoreOrder) async -> Answer) async -> Answer {
        let session = order.session
        let registration = session.cancellations.add { [weak self] in self?.interrupt() }
        defer { session.cancellations.remove(registration) }
        let deadline = order.totalTimeout.map { ContinuousClock.now + $0 }
        var order = order
        var attempt = RequestAttempt(deadline: deadline)
        while true {
            do throws(SessionError) {
                let adapted = try await adapt(order, for: attempt)
                events?.tell(.sent(adapted.request, attempt: attempt.number))
                let answer = await send(adapted)
                guard try await retries(adapted.request, attempt, answer) else { return answer }
                attempt.earlierStatuses.append(answer.response?.status ?? 0)
                order = order.resuming(after: answer.failure)
            } catch {
                return Answer(failure: error)
            }
            attempt.number += 1
            attempt.start = .now
        }
    }

    /// What is sent in an attempt.
    private func adapt(_ order: CoreOrder, for attempt: RequestAttempt) async throws(SessionError) -> CoreOrder {
        let (request, interceptor) = (order.request, interceptor)
        let adapted = await race(until: attempt.deadline) { () -> Result<HTTPRequest, SessionError> in
            do {
                return .success(try await interceptor.adapt(request, for: attempt))
            } catch {
                return .failure(SessionError(intercepting: error, url: request.url))
            }
        }
        guard let adapted else { throw whyNot(request.url) }
        var next = try adapted.get()
        if let deadline = attempt.deadline {
            let rest = deadline - .now
            guard rest > .zero else { throw whyNot(request.url) }
            next.timeouts.total = rest
        }
        return try order.with(request: next)
    }

    /// Whether there is another attempt, once its time has come.
    private func retries(
        _ request: HTTPRequest, _ attempt: RequestAttempt, _ answer: some AttemptAnswer
    ) async throws(SessionError) -> Bool {
        guard mayBeSentAgain(request, answer) else { return false }
        let outcome = AttemptOutcome(attempt: attempt, response: answer.response, error: answer.failure)
        let interceptor = interceptor
        let decision = await race(until: attempt.deadline) { await interceptor.retry(request, after: outcome) }
        switch decision {
        case .doNotRetry?:
            return false
        case .fail(let cause)?:
            throw SessionError(intercepting: cause, url: request.url, response: answer.response)
        case .retry(let delay)?:
            let delay = min(delay, .seconds(1_000_000_000))
            if let deadline = attempt.deadline, .now + delay >= deadline { return false }
            events?.tell(.retried(outcome, delay: max(.zero, delay)))
            if delay > .zero { await pause(delay) }
            if state.withLock({ $0.isInterrupted }) { throw whyNot(request.url) }
            return true
        case nil:
            throw whyNot(request.url)
        }
    }

    private func mayBeSentAgain(_ request: HTTPRequest, _ answer: some AttemptAnswer) -> Bool {
        guard !state.withLock({ $0.isInterrupted }), request.body.isReplayable else { return false }
        guard let failure = answer.failure else { return (answer.response?.status ?? 0) >= 400 }
        return failure.code != .cancelled && failure.reason != .total
    }

    /// Why something was not waited for to its end.
    private func whyNot(_ url: String) -> SessionError {
        let isInterrupted = state.withLock { $0.isInterrupted }
        return isInterrupted ? SessionError(.cancelled, url: url) : SessionError(.timeout, reason: .total, url: url)
    }

    // MARK: Waiting

    private func pause(_ duration: Duration) async {
        let race = Race<Never>()
        guard begin({ race.end(nil) }) else { return }
        _ = await race.outcome(until: .now + duration)
        end()
    }

    /// What `work` gives; nil if the deadline or an interruption came first. What is not waited for is cancelled.
    private func race<Value: Sendable>(
        until deadline: ContinuousClock.Instant?, _ work: @escaping @Sendable () async -> Value
    ) async -> Value? {
        let race = Race<Value>()
        guard begin({ race.end(nil) }) else { return nil }
        let worker = Task { race.end(await work()) }
        let value = await race.outcome(until: deadline)
        end()
        if value == nil { worker.cancel() }
        return value
    }

    private func begin(_ wake: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard !state.isInterrupted else { return false }
            state.wake = wake
            return true
        }
    }

    private func end() {
        state.withLock { $0.wake = nil }
    }
}

/// A wait that ends with whatever comes first.
private final class Race<Value: Sendable>: Sendable {
    private enum State {
        case idle
        case waiting(UnsafeContinuation<Value?, Never>)
        case over(Value?)
    }

    private let state = Guarded(State.idle)

    /// The first call counts.
    func end(_ value: Value?) {
        let waiting = state.withLock { state -> UnsafeContinuation<Value?, Never>? in
            switch state {
            case .idle:
                state = .over(value)
                return nil
            case .waiting(let continuation):
                state = .over(value)
                return continuation
            case .over:
                return nil
            }
        }
        waiting?.resume(returning: value)
    }

    func outcome(until deadline: ContinuousClock.Instant?) async -> Value? {
        if let deadline {
            DispatchQueue.global().asyncAfter(deadline: .after(deadline - .now)) { [weak self] in self?.end(nil) }
        }
        return await withUnsafeContinuation { continuation in
            let value = state.withLock { state -> Value?? in
                if case .over(let value) = state { return .some(value) }
                state = .waiting(continuation)
                return nil
            }
            if let value { continuation.resume(returning: value) }
        }
    }
}

extension CoreOutcome: AttemptAnswer {
    init(failure: SessionError) {
        self.init(response: failure.response, body: .init(), failure: failure)
    }
}

extension SessionError {
    /// What an interceptor threw: itself if it is one of ours.
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
