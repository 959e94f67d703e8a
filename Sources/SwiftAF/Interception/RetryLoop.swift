/// Sends a request in as many attempts as its interceptors decide, under one time limit.
///
/// The interceptors run in a task of their own. The caller waits for the outcome, which is that task's result, or comes
/// from ``interrupt()`` or the time limit while the task is in an interceptor. So both hold for any interceptor.
final class RetryLoop: Sendable {
    private enum Phase {
        /// An interceptor runs, or the delay before an attempt. The loop can end at once.
        case intercepting
        /// A transfer waits until the task is resumed. The loop can end at once.
        case waiting
        /// A transfer is in flight; its end is waited for, because its outcome says what was kept of a download.
        case sending
        case ended
    }

    private enum Stop {
        case interrupted, expired
    }

    private struct State {
        var phase = Phase.intercepting
        /// Why nothing more is sent; nil while there is no reason.
        var stop: Stop?
        /// What an earlier transfer of a download has kept.
        var token: ResumeToken?
        var worker: Task<Void, Never>?
    }

    private let interceptors: [any RequestInterceptor]
    private let events: RequestEvents?
    private let waitForTask: (@Sendable () async -> Void)?
    private let state = Locked(State())
    private let end = OneValueChannel<CoreOutcome>()

    /// - Parameter waitForTask: Waits until the task isn't suspended; nil if nothing can suspend it.
    init(
        _ interceptors: [any RequestInterceptor], _ events: RequestEvents?,
        waitForTask: (@Sendable () async -> Void)? = nil
    ) {
        self.interceptors = interceptors
        self.events = events
        self.waitForTask = waitForTask
    }

    /// Ends the loop. An attempt in flight is cancelled, and its end waited for.
    func interrupt() {
        stop(.interrupted, SessionError(.cancelled))
    }

    /// - Parameter send: Performs one transfer.
    func run(
        _ request: CoreRequest, _ send: @escaping @Sendable (CoreRequest) async -> CoreOutcome
    ) async -> CoreOutcome {
        let session = request.session
        guard session.activity.begin() else { return CoreOutcome(failure: request.closed) }
        defer { session.activity.end() }
        let registration = session.cancellations.withLock { $0.add(interrupt) }
        if registration == nil { interrupt() }
        defer { registration.map { id in session.cancellations.withLock { $0.remove(id) } } }
        let deadline = request.totalTimeout.map { ContinuousClock.now + min($0, .longestPause) }
        let timer = deadline.map { deadline in
            Task {
                await (deadline - .now).pause()
                if !Task.isCancelled { stop(.expired, .totalTimeout()) }
            }
        }
        defer { timer?.cancel() }
        // A task that waits for a worker lends it its priority, also one that rises later.
        var outcome = await withTaskPriorityEscalationHandler {
            if !isOver { startWorker(request, deadline, send) }
            return await end.wait()
        } onPriorityEscalated: { _, priority in
            state.withLock { $0.worker }?.escalatePriority(to: priority)
        }
        if let failure = outcome.failure, failure.url == nil { outcome.failure?.url = request.http.url }
        return outcome
    }

    private func startWorker(
        _ request: CoreRequest, _ deadline: ContinuousClock.Instant?,
        _ send: @escaping @Sendable (CoreRequest) async -> CoreOutcome
    ) {
        // A task of its own would leave the executor that the caller prefers.
        let executor = withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
        let worker = Task(executorPreference: executor) {
            self.finish(await self.attempts(request, deadline, send))
        }
        let mustCancel = state.withLock { state in
            if state.phase != .ended { state.worker = worker }
            return state.stop != nil
        }
        if mustCancel { worker.cancel() }
        // It may have risen before the worker was known.
        worker.escalatePriority(to: Task.currentPriority)
    }

    // MARK: Ending

    /// Ends the loop at once, unless a transfer is in flight.
    private func stop(_ reason: Stop, _ error: SessionError) {
        typealias Step = (worker: Task<Void, Never>?, ending: SessionError?)
        let step = state.withLock { state -> Step in
            guard state.phase != .ended, state.stop != .interrupted else { return (nil, nil) }
            state.stop = reason
            // A transfer ends at the time limit by itself.
            if state.phase == .sending { return (reason == .interrupted ? state.worker : nil, nil) }
            state.phase = .ended
            defer { state.worker = nil }
            var error = error
            error.resumeToken = state.token
            return (state.worker, error)
        }
        step.worker?.cancel()
        if let error = step.ending { end.send(CoreOutcome(failure: error)) }
    }

    private func finish(_ outcome: CoreOutcome) {
        var outcome = outcome
        let ends = state.withLock { state in
            if outcome.failure != nil, outcome.failure?.resumeToken == nil {
                outcome.failure?.resumeToken = state.token
            }
            defer {
                state.phase = .ended
                state.worker = nil
            }
            return state.phase != .ended
        }
        if ends { end.send(outcome) }
    }

    // MARK: Transfers

    /// Waits while the task is suspended. Meanwhile the loop can end at once, for instance at the time limit.
    ///
    /// - Throws: As ``beginSending(_:)``, also if another transfer waits: the task knows one transfer at a time.
    func waitUntilResumed(_ url: String) async throws(SessionError) {
        guard let waitForTask else { return }
        try leaveInterceptors(for: .waiting, url)
        await waitForTask()
        state.withLock { if $0.phase == .waiting { $0.phase = .intercepting } }
    }

    /// Announces a transfer.
    ///
    /// - Throws: ``SessionError/Code/cancelled`` if the loop has ended; ``SessionError/Code/invalidInput`` if another
    ///   transfer is in flight.
    func beginSending(_ url: String) throws(SessionError) {
        try leaveInterceptors(for: .sending, url)
    }

    private func leaveInterceptors(for next: Phase, _ url: String) throws(SessionError) {
        let phase = state.withLock { state in
            defer { if state.phase == .intercepting { state.phase = next } }
            return state.phase
        }
        switch phase {
        case .intercepting: return
        case .waiting, .sending:
            throw SessionError(
                .invalidInput, message: "an interceptor called next while its earlier call was running", url: url)
        case .ended: throw SessionError(.cancelled, url: url)
        }
    }

    /// Records the end of a transfer. If the loop was to stop meanwhile, that is its end.
    func endSending(_ ended: CoreOutcome, collects: Bool) {
        var outcome = ended
        typealias Step = (stop: Stop?, worker: Task<Void, Never>?)
        let step = state.withLock { state -> Step in
            // An attempt that was cancelled before it began leaves the file of the one before it.
            if outcome.download != nil || outcome.failure == nil {
                state.token = outcome.failure?.resumeToken
            } else {
                outcome.failure?.resumeToken = state.token
            }
            guard let stop = state.stop else {
                if state.phase == .sending { state.phase = .intercepting }
                return (nil, nil)
            }
            defer {
                state.phase = .ended
                state.worker = nil
            }
            return (state.phase != .ended ? stop : nil, state.worker)
        }
        // The interceptors around the transfer have nothing left to decide.
        defer { step.worker?.cancel() }
        guard let stop = step.stop else { return }
        // No interceptor sees this outcome, so a body that one may have to change isn't returned.
        let isWhole = outcome.failure != nil || !collects
        let failure: SessionError =
            switch stop {
            case .interrupted: SessionError(.cancelled)
            case .expired: .totalTimeout()
            }
        end.send(isWhole ? outcome : CoreOutcome(failure: failure))
    }

    private var isOver: Bool { state.withLock { $0.phase == .ended } }

    // MARK: Attempts

    private func attempts(
        _ request: CoreRequest, _ deadline: ContinuousClock.Instant?,
        _ send: @escaping @Sendable (CoreRequest) async -> CoreOutcome
    ) async -> CoreOutcome {
        var request = request
        var attempt = RequestAttempt(requestID: events?.id ?? SessionTask.nextID(), deadline: deadline)
        while true {
            var http = request.http
            let end: AttemptEnd
            do throws(SessionError) {
                try await adapt(&http, for: attempt)
                let chain = AttemptChain(self, interceptors, request, attempt, events, send)
                let outcome = await chain.run(http)
                end = .sent(chain.sent ?? http, outcome)
            } catch {
                end = .notAdapted(http, error)
            }
            do throws(SessionError) {
                guard isRetryable(end), try await retries(after: end, attempt) else { return end.outcome }
            } catch {
                return CoreOutcome(failure: error)
            }
            prepare(&request, &attempt, after: end)
        }
    }

    /// How an attempt ended.
    private enum AttemptEnd {
        /// After it was adapted, with the request that was sent last.
        case sent(HTTPRequest, CoreOutcome)
        /// An interceptor couldn't adapt this request.
        case notAdapted(HTTPRequest, SessionError)

        var outcome: CoreOutcome {
            switch self {
            case .sent(_, let outcome): outcome
            case .notAdapted(_, let error): CoreOutcome(failure: error)
            }
        }

        /// For the interceptors that decide about the next attempt.
        func shown(_ attempt: RequestAttempt) -> (request: HTTPRequest, outcome: AttemptOutcome) {
            switch self {
            case .sent(let request, let last):
                (
                    request,
                    AttemptOutcome(attempt: attempt, response: last.response, body: last.body, error: last.failure)
                )
            case .notAdapted(let request, let error):
                (request, AttemptOutcome(attempt: attempt, error: error, endedInAdapt: true))
            }
        }
    }

    @inline(never)
    private func prepare(_ request: inout CoreRequest, _ attempt: inout RequestAttempt, after end: AttemptEnd) {
        switch end {
        case .sent(_, let outcome):
            attempt.earlierStatuses.append(outcome.response?.status ?? 0)
            request = request.resuming(after: outcome.failure)
        case .notAdapted:
            attempt.earlierStatuses.append(0)
        }
        attempt.number += 1
        attempt.start = .now
    }

    /// Makes the request to send in an attempt. If it throws, the request is as the earlier interceptors made it.
    // Not inlined, like the others below, because the memory of a waiting task would include their values.
    @inline(never)
    private func adapt(_ http: inout HTTPRequest, for attempt: RequestAttempt) async throws(SessionError) {
        let url = http.url
        for interceptor in interceptors {
            do {
                var adapted = try await interceptor.adapt(http, for: attempt)
                adapted.dropSecrets(of: http, interceptors)
                http = adapted
            } catch {
                throw SessionError(intercepting: error, url: url)
            }
        }
    }

    /// Waits for the next attempt after a retryable outcome; returns whether there is one.
    @inline(never)
    private func retries(after end: AttemptEnd, _ attempt: RequestAttempt) async throws(SessionError) -> Bool {
        let (request, shown) = end.shown(attempt)
        var outcome = shown
        var decision = await decision(request, outcome)
        var missing: SessionError?
        if case .fail(let cause as SessionError) = decision, cause.credentialFailure != nil, !isOver {
            // As if `adapt` of the next attempt had failed.
            missing = SessionError(intercepting: cause, url: request.url)
            outcome.error = missing
            decision = await self.decision(request, outcome)
        }
        switch decision {
        case .retry(let delay) where mayRetry(request, outcome, after: delay):
            let delay = max(.zero, min(delay, .longestPause))
            events?.report(.retried(outcome, delay: delay))
            if delay > .zero { await delay.pause() }
            return !isOver
        case .fail(let cause):
            throw SessionError(intercepting: cause, url: request.url, response: outcome.response)
        case .retry, .doNotRetry:
            if let missing { throw missing }
            return false
        }
    }

    private func mayRetry(_ request: HTTPRequest, _ outcome: AttemptOutcome, after delay: Duration) -> Bool {
        guard request.body.isReplayable || outcome.endedInAdapt else { return false }
        if let deadline = outcome.attempt.deadline, .now + min(delay, .longestPause) >= deadline { return false }
        return !isOver
    }

    private func decision(_ request: HTTPRequest, _ outcome: AttemptOutcome) async -> RetryDecision {
        for interceptor in interceptors {
            switch await interceptor.retry(request, after: outcome) {
            case .doNotRetry: continue
            case let decision: return decision
            }
        }
        return .doNotRetry
    }

    @inline(never)
    private func isRetryable(_ end: AttemptEnd) -> Bool {
        guard !isOver else { return false }
        switch end {
        case .notAdapted(_, let error):
            // A time limit may be that of a request which the interceptor sent; that of the whole ends the loop.
            return error.code != .cancelled
        case .sent(_, let last):
            guard let failure = last.failure else { return (last.response?.status ?? 0) >= 400 }
            return failure.code != .cancelled && !failure.hasNoTimeLeft
        }
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
