internal import CAFCore
import FoundationEssentials

/// One task of the core and the receiver of its events.
///
/// The core holds a retained reference from a successful ``begin()`` until it drops it after the last event.
/// This object holds a reference to the core's task until it goes away itself. That is no cycle that lasts: the
/// core drops its side when the task has finished, whatever else holds references.
///
/// Events arrive on the session's loop thread, one at a time; handlers and subclasses must not block in them.
class CoreTask: @unchecked Sendable {
    private struct State {
        /// Nil until the core has made the task.
        var raw: OpaquePointer?
        var isCancelled = false
        var isSuspended = false
        /// Answers a challenge.
        var answering: Task<Void, Never>?
        /// The last answer to one.
        var reply: ChallengeReply?
    }

    final let request: CoreRequest

    private let state = Locked(State())
    /// Where the request's body comes from if it is pulled. Set before the core knows the task.
    private var body: CoreBodySource?
    /// What a handler decided last; the core reads it right after the decision.
    private var decision: CoreArena?
    /// What the server has shown that sent the head, if the request asks for it. Set before the head is reported.
    private(set) final var headTrust: SharedTrustReport?

    /// Waits for the result. Set before the task begins.
    // Unsafe: a checked one costs an allocation for each request.
    private var continuation: UnsafeContinuation<Result<CoreResult, SessionError>, Never>?
    /// The handle that is given the result if nothing waits for it, and that is kept until then. Set before the task begins.
    final var handle: SessionTask?

    /// From the loop to the thread that takes the result.
    private let handover = ThreadSanitizerFence()

    init(_ request: CoreRequest) {
        self.request = request
    }

    deinit {
        state.withLock { state in
            if let raw = state.raw { af_task_release(raw) }
        }
    }

    // MARK: Commands, from any thread
    //
    // The core is called under the lock, so that commands reach it in the order they were decided. It only takes a note
    // and never calls back from there. What an event needs the lock for waits until the core's task is known.

    /// Makes the core's task and starts it. Once.
    ///
    /// - Returns: Nil if it started: ``didFinish(_:)`` comes exactly once. An error if it did not: then it never
    ///   comes. A task that was cancelled before does not start.
    final func begin() -> SessionError? {
        do throws(SessionError) {
            body = try request.makeBodySource(for: self)
        } catch var error {
            error.url = request.http.url
            return state.withLock { $0.isCancelled } ? cancelled : error
        }
        return state.withLock { state in
            guard !state.isCancelled, state.raw == nil else { return cancelled }
            var events = events()
            var failure = af_failure()
            let status = request.withRequest(body: body) { core in
                events.context = Unmanaged.passRetained(self).toOpaque()
                return af_task_begin(&state.raw, request.session.raw, core, &events, &failure)
            }
            guard status == .AF_OK, let raw = state.raw else {
                body = nil
                return SessionError(failure, url: request.http.url)
            }
            if state.isSuspended { af_task_suspend(raw) }
            return nil
        }
    }

    private var cancelled: SessionError {
        SessionError(.cancelled, url: request.http.url, resumeToken: request.resumeToken)
    }

    /// Ends the task early; its end still comes. Before ``begin()`` it keeps the task from beginning.
    final func cancel() {
        state.withLock { state in
            state.isCancelled = true
            if let raw = state.raw { af_task_cancel(raw) }
        }
    }

    /// Asks for more body to send, or delivers the piece that was put off.
    final func wake() {
        state.withLock { state in
            if let raw = state.raw { af_task_wake(raw) }
        }
    }

    /// Stops moving bytes.
    final func suspend() {
        state.withLock { state in
            state.isSuspended = true
            if let raw = state.raw { af_task_suspend(raw) }
        }
    }

    /// Moves bytes again.
    final func resume() {
        state.withLock { state in
            state.isSuspended = false
            if let raw = state.raw { af_task_resume(raw) }
        }
    }

    /// Begins the task and waits for its end. Cancelling the Swift task cancels it.
    ///
    /// - Throws: Why it did not begin.
    // Inlined, because every async function that is called, and that returns, asks for its executor.
    @inline(__always)
    final func run() async throws(SessionError) -> CoreResult {
        let ending = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                self.continuation = continuation
                // Refused, no end will come; begun, exactly one.
                if let error = begin() { continuation.resume(returning: .failure(error)) }
            }
        } onCancel: {
            cancel()
        }
        return try ending.get()
    }

    /// What ``didFinish(_:)`` was given, as values. Once, on any thread.
    final func take(_ result: CoreResult) -> CoreOutcome {
        handover.begin()
        var outcome = result.take(
            for: request.http.url, reportsTrust: request.http.reportsTrust, bodyFailure: body?.failure)
        // Without an answer nothing has become void, whether the partial file was looked at or not.
        if let token = request.resumeToken, outcome.response == nil, outcome.failure?.resumeToken == nil {
            outcome.failure?.resumeToken = token
        }
        if let failure = outcome.failure, failure.code == .authentication,
            var own = state.withLock({ $0.reply })?.failure(url: failure.url ?? request.http.url)
        {
            own.metrics = failure.metrics
            outcome.failure = own
        }
        return outcome
    }

    /// The response of a result that tells of nothing else, as most; then the result was taken. On any thread.
    final func takeResponse(_ result: CoreResult) -> (HTTPResponse, Data)? {
        handover.begin()
        return result.takeResponse(for: request.http.url)
    }

    // MARK: Events, on the loop thread

    /// The task has ended. `result` must be taken with ``take(_:)``, once, on any thread.
    func didFinish(_ result: CoreResult) {
        if let continuation {
            continuation.resume(returning: .success(result))
        } else if let handle {
            handle.finish(self, with: result)
        } else {
            result.discard()
        }
    }

    /// The head of the final response, before its body.
    func didReceiveHead(_ response: HTTPResponse) -> ResponseDisposition {
        request.handlers.decide(response)
    }

    /// A piece of the body. The bytes are gone when this returns. False for the same piece again after ``wake()``.
    func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool { true }

    /// A ``wake()`` has come through, of a task that takes the body. One from inside ``didReceiveBody(_:)`` comes
    /// behind all that is there to be read now.
    func didWake() {}
}

// MARK: - The callbacks

extension CoreTask {
    private static func from(_ context: UnsafeMutableRawPointer?) -> CoreTask? {
        context.map { Unmanaged<CoreTask>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Each event beyond the end costs a crossing.
    private func events() -> af_task_events {
        let handlers = request.handlers
        let isMonitored = handlers.monitors != nil
        var events = af_task_events()
        events.size = MemoryLayout<af_task_events>.stride
        events.on_done = { context, result in
            guard let result, let task = CoreTask.from(context) else { return }
            if task.request.handlers.answersChallenges { task.state.withLock { $0.answering }?.cancel() }
            task.handover.end()
            task.didFinish(CoreResult(taking: result))
        }
        events.release = { context in
            context.map { Unmanaged<CoreTask>.fromOpaque($0).release() }
        }
        if handlers.progress != nil {
            events.on_progress = { context, progress in
                guard let progress else { return }
                CoreTask.from(context)?.request.handlers.progress?(TransferProgress(progress.pointee))
            }
        }
        if handlers.redirect != nil || request.refusesRedirects || isMonitored {
            events.on_redirect = { context, redirect in
                guard let redirect, let task = CoreTask.from(context) else { return AF_REDIRECT_FAIL }
                return task.decide(redirect)
            }
        }
        if handlers.answersChallenges {
            events.on_challenge = { context, challenge, _ in
                guard let challenge, let task = CoreTask.from(context) else { return AF_CHALLENGE_FAIL }
                return task.answer(challenge.pointee)
            }
        }
        if isMonitored {
            // The same request goes out once more, with credentials. The challenge comes without them.
            events.on_challenge_accepted = { context, challenge in
                guard let challenge, var shown = AuthenticationChallenge(challenge.pointee) else { return }
                shown.proposedCredential = nil
                CoreTask.from(context)?.request.handlers.events?.tell(.challenged(shown))
            }
        }
        if handlers.monitors?.tracesWire == true {
            events.on_trace = { context, trace in
                guard let trace, let seen = WireTrace(trace.pointee) else { return }
                CoreTask.from(context)?.request.handlers.events?.tell(.traced(seen))
            }
        }
        if handlers.response != nil || isMonitored || request.sink == .events {
            events.on_head = { context, response in
                guard let response, let task = CoreTask.from(context) else { return .AF_EINTERNAL }
                return task.receiveHead(response)
            }
        }
        if request.sink == .events {
            events.on_body = { context, chunk in
                guard let task = CoreTask.from(context) else { return .AF_EINTERNAL }
                let bytes = UnsafeRawBufferPointer(start: chunk.bytes, count: chunk.size)
                return task.didReceiveBody(bytes) ? .AF_OK : .AF_EAGAIN
            }
            events.on_wake = { CoreTask.from($0)?.didWake() }
        }
        return events
    }

    /// A handler may take its time, which the loop hasn't.
    private func answer(_ challenge: af_challenge) -> af_challenge_answer {
        guard let asked = AuthenticationChallenge(challenge) else { return AF_CHALLENGE_DEFAULT }
        let number = challenge.number
        let answering = Task {
            let reply = ChallengeReply(number: number, disposition: await request.handlers.answer(asked))
            self.state.withLock { state in
                state.reply = reply
                if let raw = state.raw { reply.send(to: raw) }
            }
        }
        state.withLock { $0.answering = answering }
        return AF_CHALLENGE_LATER
    }

    private func receiveHead(_ response: UnsafeMutablePointer<af_response>) -> af_status {
        guard let head = response.pointee.head, let url = response.pointee.url else { return .AF_EINTERNAL }
        if request.http.reportsTrust {
            headTrust = af_response_get_trust(response).map { SharedTrustReport(TrustReport($0.pointee)) }
        }
        switch didReceiveHead(HTTPResponse(head.pointee, url: String(cString: url))) {
        case .allow:
            return .AF_OK
        case .cancel:
            return .AF_ECANCELED
        case .download(let path, let options):
            let arena = CoreArena()
            decision = arena
            // An empty path is an error to the core, and so is one with NUL, which it could not read to its end.
            response.pointee.path = (try? arena.copy(path, "")) ?? (try? arena.copy("", ""))
            response.pointee.flags = options.coreFlags
            return .AF_OK
        }
    }

    private func decide(_ redirect: UnsafeMutablePointer<af_redirect>) -> af_redirect_answer {
        let proposal = RedirectProposal(redirect.pointee)
        let handlers = request.handlers
        let answer = request.refusesRedirects ? .fail : handlers.redirect?(proposal) ?? .follow
        handlers.events?.tell(.redirected(proposal, answer))
        switch answer {
        case .follow:
            return AF_REDIRECT_FOLLOW
        case .stop:
            return AF_REDIRECT_STOP
        case .fail:
            return AF_REDIRECT_FAIL
        case .replace(let next):
            let arena = CoreArena()
            guard (try? next.validate()) != nil, let method = try? arena.copy(next.method.rawValue, ""),
                let url = try? arena.copy(next.url, "")
            else { return AF_REDIRECT_FAIL }
            let headers = arena.copy(next.headers)
            decision = arena
            redirect.pointee.method = method
            redirect.pointee.url = url
            redirect.pointee.headers = headers.baseAddress
            redirect.pointee.header_count = headers.count
            return AF_REDIRECT_FOLLOW
        }
    }
}

extension TransferProgress {
    fileprivate init(_ progress: af_progress) {
        self.init(
            sent: progress.sent, sentTotal: progress.sent_total < 0 ? nil : progress.sent_total,
            received: progress.received, receivedTotal: progress.received_total < 0 ? nil : progress.received_total,
            offset: progress.offset)
    }
}
