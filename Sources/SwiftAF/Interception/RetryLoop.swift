/// Sends a request in as many attempts as its interceptors decide, under one total time limit.
///
/// The interceptors run in a separate task, the worker. The caller waits for the outcome: the worker's result, or,
/// while the worker is in an interceptor, an error from ``interrupt()`` or the time limit. So cancelling and the time
/// limit work even if an interceptor ignores them.
final class RetryLoop: Sendable {
    /// Performs one transfer. If there is a loop, the transfer is passed to its ``sends(_:)`` before it begins.
    typealias Send = @Sendable (CoreRequest, RetryLoop?) async -> CoreOutcome

    private enum Phase {
        /// An interceptor is running, or the delay before an attempt. The loop can end at once.
        case intercepting
        /// A transfer waits until the suspended ``SessionTask`` is resumed. The loop can end at once.
        case waiting
        /// A transfer is in flight (nil before it is made). The loop can't end before it, because its outcome has the
        /// resume token of a download.
        case sending(CoreTransfer?)
        /// The interceptors have ended the attempt without waiting for its transfer. The transfer is cancelled, and its
        /// end is reported to the channel.
        case abandoned(OneValueChannel<Void>)
        case ended

        var isEnded: Bool { if case .ended = self { true } else { false } }

        var isWaiting: Bool { if case .waiting = self { true } else { false } }
    }

    private enum Stop {
        case interrupted, expired
    }

    private struct State {
        var phase = Phase.intercepting
        /// The number of the attempt that may send. Interceptors of an earlier attempt may have kept its `next`, which
        /// then fails.
        var attempt = 1
        /// The reason why nothing more may be sent; nil if there is none.
        var stop: Stop?
        /// The token for the partial file that an earlier transfer of a download has kept.
        var token: ResumeToken?
        var worker: Task<Void, Never>?
    }

    private let interceptors: [any RequestInterceptor]
    private let events: RequestEvents?
    private let release: (@Sendable () -> Void)?
    private let waitForTask: (@Sendable () async -> Void)?
    private let state = Locked(State())
    private let end = OneValueChannel<CoreOutcome>()

    /// - Parameters:
    ///   - release: Releases the stream or WebSocket that the last attempt has opened, which ends its transfer; nil if
    ///     attempts leave nothing open.
    ///   - waitForTask: Waits while the ``SessionTask`` is suspended; nil if there is none.
    init(
        _ interceptors: [any RequestInterceptor], _ events: RequestEvents?,
        release: (@Sendable () -> Void)? = nil, waitForTask: (@Sendable () async -> Void)? = nil
    ) {
        self.interceptors = interceptors
        self.events = events
        self.release = release
        self.waitForTask = waitForTask
    }

    /// Ends the loop with ``SessionError/Code/cancelled``. A transfer in flight is cancelled, and the loop ends when it
    /// has ended.
    func interrupt() {
        stop(.interrupted, SessionError(.cancelled))
    }

    func run(_ request: CoreRequest, _ send: @escaping Send) async -> CoreOutcome {
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
        // The worker gets the priority of the task that waits for it, also when that is raised later.
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
        _ request: CoreRequest, _ deadline: ContinuousClock.Instant?, _ send: @escaping Send
    ) {
        // An unstructured task doesn't inherit the preferred executor of the caller, so it is passed on.
        let executor = withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
        let worker = Task(executorPreference: executor) {
            self.finish(await self.attempts(request, deadline, send))
        }
        let mustCancel = state.withLock { state in
            if !state.phase.isEnded { state.worker = worker }
            return state.stop != nil
        }
        if mustCancel { worker.cancel() }
        // The priority may have been raised before the worker was created.
        worker.escalatePriority(to: Task.currentPriority)
    }

    // MARK: Ending

    /// Ends the loop at once, unless a transfer is in flight.
    private func stop(_ reason: Stop, _ error: SessionError) {
        typealias Step = (worker: Task<Void, Never>?, transfer: CoreTransfer?, ending: SessionError?)
        let step = state.withLock { state -> Step in
            guard !state.phase.isEnded, state.stop != .interrupted else { return (nil, nil, nil) }
            state.stop = reason
            switch state.phase {
            case .intercepting, .waiting, .ended: break
            // At the time limit, the core ends the transfer itself.
            case .sending(let transfer):
                return reason == .interrupted ? (state.worker, transfer, nil) : (nil, nil, nil)
            case .abandoned: return (nil, nil, nil)
            }
            state.phase = .ended
            defer { state.worker = nil }
            var error = error
            error.resumeToken = state.token
            return (state.worker, nil, error)
        }
        step.worker?.cancel()
        // Cancelling the worker isn't enough, because an interceptor may have called `next` in another task.
        step.transfer?.cancel()
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
            return !state.phase.isEnded
        }
        if ends { end.send(outcome) }
    }

    // MARK: Transfers

    /// Waits while the task is suspended. Meanwhile the loop can end at once, for instance at the time limit.
    ///
    /// - Throws: The errors of ``beginSending(_:_:)``; also if another transfer waits already, because a
    ///   ``SessionTask`` has one transfer at a time.
    func waitUntilResumed(_ url: String, _ attempt: Int) async throws(SessionError) {
        guard let waitForTask else { return }
        try leaveInterceptors(for: .waiting, url, attempt)
        await waitForTask()
        state.withLock { state in
            if state.attempt == attempt, state.phase.isWaiting { state.phase = .intercepting }
        }
    }

    /// Enters the phase in which a transfer is in flight. The transfer follows with ``sends(_:)``.
    ///
    /// - Parameter attempt: The number of its attempt.
    /// - Throws: ``SessionError/Code/cancelled`` if the loop or the attempt has ended;
    ///   ``SessionError/Code/invalidInput`` if another transfer is in flight.
    func beginSending(_ url: String, _ attempt: Int) throws(SessionError) {
        try leaveInterceptors(for: .sending(nil), url, attempt)
    }

    private func leaveInterceptors(for next: Phase, _ url: String, _ attempt: Int) throws(SessionError) {
        enum Permission {
            case granted, busy, late
        }
        let permission = state.withLock { state -> Permission in
            guard state.attempt == attempt else { return .late }
            switch state.phase {
            case .intercepting:
                state.phase = next
                return .granted
            case .waiting, .sending, .abandoned: return .busy
            case .ended: return .late
            }
        }
        switch permission {
        case .granted: return
        case .busy:
            throw SessionError(
                .invalidInput, message: "an interceptor called next while its earlier call was running", url: url)
        case .late: throw SessionError(.cancelled, url: url)
        }
    }

    /// Records the transfer of ``beginSending(_:_:)``, so that it can be cancelled whichever task has called `next`.
    /// Call before the transfer begins.
    func sends(_ transfer: CoreTransfer) {
        let isUnwanted = state.withLock { state in
            switch state.phase {
            case .sending:
                state.phase = .sending(transfer)
                return state.stop == .interrupted
            case .abandoned: return true
            case .intercepting, .waiting, .ended: return false
            }
        }
        if isUnwanted { transfer.cancel() }
    }

    /// Records the end of a transfer. Ends the loop, if it was stopped meanwhile.
    func endSending(_ ended: CoreOutcome, collects: Bool) {
        var outcome = ended
        typealias Step = (former: Phase, stop: Stop?, worker: Task<Void, Never>?)
        let step = state.withLock { state -> Step in
            // A transfer that was cancelled before it began hasn't changed the partial file, so the earlier token stays
            // valid.
            if outcome.download != nil || outcome.failure == nil {
                state.token = outcome.failure?.resumeToken
            } else {
                outcome.failure?.resumeToken = state.token
            }
            // The former phase holds the transfer. It is released without the lock, because its request may have the
            // last reference to objects of the program.
            let former = state.phase
            guard let stop = state.stop else {
                if !former.isEnded { state.phase = .intercepting }
                return (former, nil, nil)
            }
            defer {
                state.phase = .ended
                state.worker = nil
            }
            return (former, former.isEnded ? nil : stop, state.worker)
        }
        var isAbandoned = false
        if case .abandoned(let ended) = step.former {
            isAbandoned = true
            ended.send()
        }
        // The worker is cancelled, because the loop ends without its interceptors.
        defer { step.worker?.cancel() }
        guard let stop = step.stop else { return }
        // The interceptors aren't given this outcome. A collected body, which they might have changed, is therefore
        // replaced by the error.
        let isWhole = !isAbandoned && (outcome.failure != nil || !collects)
        var failure: SessionError =
            switch stop {
            case .interrupted: SessionError(.cancelled)
            case .expired: .totalTimeout()
            }
        failure.resumeToken = outcome.failure?.resumeToken
        end.send(isWhole ? outcome : CoreOutcome(failure: failure))
    }

    /// Ends an attempt: cancels a transfer that its interceptors haven't waited for, and waits for its end. Afterwards,
    /// `next` of this attempt fails.
    @inline(never)
    private func endAttempt(_ number: Int) async {
        typealias Step = (transfer: CoreTransfer?, end: OneValueChannel<Void>)
        let step = state.withLock { state -> Step? in
            state.attempt = number + 1
            switch state.phase {
            case .waiting: state.phase = .intercepting
            case .sending(let transfer):
                let end = OneValueChannel<Void>()
                state.phase = .abandoned(end)
                return (transfer, end)
            case .intercepting, .abandoned, .ended: break
            }
            return nil
        }
        guard let step else { return }
        step.transfer?.cancel()
        await step.end.wait()
    }

    private var isOver: Bool { state.withLock { $0.phase.isEnded } }

    // MARK: Attempts

    private func attempts(
        _ request: CoreRequest, _ deadline: ContinuousClock.Instant?, _ send: @escaping Send
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
            await endAttempt(attempt.number)
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
        /// The request was adapted; with the request that was sent last.
        case sent(HTTPRequest, CoreOutcome)
        /// `adapt` of an interceptor threw this error for this request.
        case notAdapted(HTTPRequest, SessionError)

        var outcome: CoreOutcome {
            switch self {
            case .sent(_, let outcome): outcome
            case .notAdapted(_, let error): CoreOutcome(failure: error)
            }
        }

        /// Returns the request and the outcome that interceptors are given to decide about the next attempt.
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

    /// Calls `adapt` of all interceptors. If it throws, `http` has the changes of those that succeeded.
    // Not inlined, like the functions below: their values would be in the frame that lives while an attempt is under
    // way.
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

    /// Asks the interceptors about another attempt, and waits for its delay. Returns whether there is one.
    @inline(never)
    private func retries(after end: AttemptEnd, _ attempt: RequestAttempt) async throws(SessionError) -> Bool {
        let (request, shown) = end.shown(attempt)
        var outcome = shown
        if mayRetry(request, outcome, after: .zero) { outcome.release = release }
        var decision = await decision(request, outcome)
        var missing: SessionError?
        if case .fail(let cause as SessionError) = decision, cause.credentialFailure != nil, !isOver {
            // Decided once more, as if `adapt` of the next attempt had thrown the error.
            missing = SessionError(intercepting: cause, url: request.url)
            outcome.error = missing
            decision = await self.decision(request, outcome)
        }
        switch decision {
        case .retry(let delay) where mayRetry(request, outcome, after: delay):
            let delay = max(.zero, min(delay, .longestPause))
            // Frees the connection of a refused stream during the delay.
            release?()
            outcome.release = nil
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
            // A `timeout` may be that of another request, which the interceptor has sent, so it is no reason to stop:
            // this request's total time limit ends the loop itself.
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
