/// Sends a request in as many attempts as its interceptors decide, under one time limit.
///
/// The interceptors run in a task of their own. The caller waits for the outcome, which is that task's result, or comes
/// from ``interrupt()`` or the time limit while the task is in an interceptor. So both hold for any interceptor.
final class RetryLoop: Sendable {
    /// Performs one transfer. One that is sent by a loop is passed to its ``sends(_:)`` before it begins.
    typealias Send = @Sendable (CoreRequest, RetryLoop?) async -> CoreOutcome

    private enum Phase {
        /// An interceptor runs, or the delay before an attempt. The loop can end at once.
        case intercepting
        /// A transfer waits until the task is resumed. The loop can end at once.
        case waiting
        /// A transfer is in flight, nil before it is made; its end is waited for, because its outcome says what was
        /// kept of a download.
        case sending(CoreTransfer?)
        /// The interceptors have ended the attempt without waiting for its transfer, which is cancelled. Its end is
        /// sent to the channel.
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
        /// The number of the attempt that may send. The interceptors of an earlier one may have kept its `next`.
        var attempt = 1
        /// Why nothing more is sent; nil while there is no reason.
        var stop: Stop?
        /// What an earlier transfer of a download has kept.
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
    ///   - release: Releases what the last attempt has opened, which ends its transfer; nil if an attempt leaves
    ///     nothing open.
    ///   - waitForTask: Waits until the task isn't suspended; nil if nothing can suspend it.
    init(
        _ interceptors: [any RequestInterceptor], _ events: RequestEvents?,
        release: (@Sendable () -> Void)? = nil, waitForTask: (@Sendable () async -> Void)? = nil
    ) {
        self.interceptors = interceptors
        self.events = events
        self.release = release
        self.waitForTask = waitForTask
    }

    /// Ends the loop. An attempt in flight is cancelled, and its end waited for.
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
        _ request: CoreRequest, _ deadline: ContinuousClock.Instant?, _ send: @escaping Send
    ) {
        // A task of its own would leave the executor that the caller prefers.
        let executor = withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
        let worker = Task(executorPreference: executor) {
            self.finish(await self.attempts(request, deadline, send))
        }
        let mustCancel = state.withLock { state in
            if !state.phase.isEnded { state.worker = worker }
            return state.stop != nil
        }
        if mustCancel { worker.cancel() }
        // It may have risen before the worker was known.
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
            // A transfer ends at the time limit by itself.
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
        // An interceptor may have called `next` in another task.
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
    /// - Throws: As ``beginSending(_:_:)``, also if another transfer waits: the task knows one transfer at a time.
    func waitUntilResumed(_ url: String, _ attempt: Int) async throws(SessionError) {
        guard let waitForTask else { return }
        try leaveInterceptors(for: .waiting, url, attempt)
        await waitForTask()
        state.withLock { state in
            if state.attempt == attempt, state.phase.isWaiting { state.phase = .intercepting }
        }
    }

    /// Announces a transfer.
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

    /// Records the announced transfer, so that it can be cancelled whichever task has called `next`. Call before it
    /// begins.
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

    /// Records the end of a transfer. If the loop was to stop meanwhile, that is its end.
    func endSending(_ ended: CoreOutcome, collects: Bool) {
        var outcome = ended
        typealias Step = (former: Phase, stop: Stop?, worker: Task<Void, Never>?)
        let step = state.withLock { state -> Step in
            // An attempt that was cancelled before it began leaves the file of the one before it.
            if outcome.download != nil || outcome.failure == nil {
                state.token = outcome.failure?.resumeToken
            } else {
                outcome.failure?.resumeToken = state.token
            }
            // The transfer is released by the caller, as its request may have objects of the program.
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
        // The interceptors around the transfer have nothing left to decide.
        defer { step.worker?.cancel() }
        guard let stop = step.stop else { return }
        // No interceptor sees this outcome, so a body that one may have to change isn't returned.
        let isWhole = !isAbandoned && (outcome.failure != nil || !collects)
        var failure: SessionError =
            switch stop {
            case .interrupted: SessionError(.cancelled)
            case .expired: .totalTimeout()
            }
        failure.resumeToken = outcome.failure?.resumeToken
        end.send(isWhole ? outcome : CoreOutcome(failure: failure))
    }

    /// Ends an attempt: cancels a transfer that its interceptors haven't waited for, and waits for its end. Its `next`
    /// sends nothing more.
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
        if mayRetry(request, outcome, after: .zero) { outcome.release = release }
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
            // The connection of a refused stream is free during the delay.
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
