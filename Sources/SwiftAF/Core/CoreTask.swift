internal import CAFCore
import FoundationEssentials

/// One task of the core and the receiver of its events.
///
/// The core holds a retained reference from a successful ``begin(_:)`` until it drops it after the last event.
/// This object holds a reference to the core's task until it goes away itself. That is no cycle that lasts: the
/// core drops its side when the task has finished, whoever still holds references.
///
/// Events arrive on the session's loop thread, one at a time; subclasses must not block in them.
class CoreTask: @unchecked Sendable {
    /// Events beyond the end that a task wants to hear of. Each costs a crossing.
    struct Interests: OptionSet {
        let rawValue: UInt8
        static let progress = Interests(rawValue: 1)
        static let redirects = Interests(rawValue: 2)
        static let head = Interests(rawValue: 4)
        static let challenges = Interests(rawValue: 8)
        static let trace = Interests(rawValue: 16)
    }

    /// The answer to a piece of a body.
    enum Intake {
        case taken
        /// The same piece again after ``wake()``.
        case later
        /// End the transfer.
        case refused
    }

    private let state = Guarded(CoreTaskState())
    /// Where the request's body comes from if it is pulled. Set before the core knows the task.
    private var body: CoreBodySource?
    /// What the last redirect was replaced by; the core reads it right after the decision.
    private var replacement: CoreReplacement?
    /// What is to go on; set before the core knows the task.
    private var resumeToken: ResumeToken?
    /// Set before the core knows the task.
    private var reportsTrust = false
    /// What the server has shown that sent the head, if somebody asked. Set before the head is told of.
    private(set) final var headTrust: SharedTrustReport?
    /// What the body's file was named; the core reads it right after the decision.
    private var destination: CoreText?

    /// Answers challenges. Set before the core knows the task.
    private var responder: ChallengeResponder?

    /// From the loop to whoever takes the result.
    private let handover = Turn()

    deinit {
        if let task = state.withLock({ $0.owned }) { af_task_release(task.pointer) }
    }

    // MARK: Commands, from any thread
    //
    // The core is told under the lock, so that it hears of them in the order they were decided. It only takes a note
    // and never calls back from there.

    /// Makes the core's task and starts it.
    ///
    /// - Returns: Nil if it started: ``didFinish(_:)`` comes exactly once. An error if it did not: then it never
    ///   comes. A task that was cancelled before does not start.
    final func begin(_ order: CoreOrder) -> SessionError? {
        resumeToken = order.resumeToken
        responder = order.responder
        reportsTrust = order.request.reportsTrust
        guard state.withLock({ $0.begin() }) else {
            return SessionError(.cancelled, url: order.request.url, resumeToken: resumeToken)
        }
        do throws(SessionError) {
            body = try order.makeBodySource(for: self)
        } catch var error {
            error.url = order.request.url
            return error
        }
        var events = events(order.interests, takesBody: order.sink == .events)
        var task: OpaquePointer?
        var failure = af_failure()
        let status = order.withRequest(body: body) { request in
            events.context = Unmanaged.passRetained(self).toOpaque()
            return af_task_begin(&task, order.session.raw, request, &events, &failure)
        }
        guard status == .AF_OK, let task else {
            body = nil
            return SessionError(failure, url: order.request.url)
        }
        state.withLock { [task = CoreTaskReference(pointer: task)] state in
            let missed = state.began(task)
            if missed.contains(.suspend) { af_task_suspend(task.pointer) }
            if missed.contains(.wake) { af_task_wake(task.pointer) }
            if missed.contains(.cancel) { af_task_cancel(task.pointer) }
            state.takeReply()?.send(to: task)
        }
        return nil
    }

    /// Ends the task early; its end still comes. Before ``begin(_:)`` it keeps the task from beginning.
    final func cancel() {
        state.withLock { state in
            if let task = state.send(.cancel) { af_task_cancel(task.pointer) }
        }
    }

    /// Asks for more body to send, or delivers the piece that was put off.
    final func wake() {
        state.withLock { state in
            if let task = state.send(.wake) { af_task_wake(task.pointer) }
        }
    }

    /// Stops moving bytes.
    final func suspend() {
        state.withLock { state in
            if let task = state.send(.suspend) { af_task_suspend(task.pointer) }
        }
    }

    /// Moves bytes again.
    final func resume() {
        state.withLock { state in
            if let task = state.resume() { af_task_resume(task.pointer) }
        }
    }

    /// What ``didFinish(_:)`` was given, as values. Once, on any thread.
    final func take(_ result: CoreResult, for url: String) -> CoreOutcome {
        handover.begin()
        var outcome = result.take(for: url, reportsTrust: reportsTrust, bodyFailure: body?.failure)
        // Without an answer nothing has become void, whether the partial file was looked at or not.
        if let resumeToken, outcome.response == nil, outcome.failure?.resumeToken == nil {
            outcome.failure?.resumeToken = resumeToken
        }
        if let failure = outcome.failure, failure.code == .authentication,
            var own = state.withLock({ $0.reply })?.failure(url: failure.url ?? url)
        {
            own.metrics = failure.metrics
            outcome.failure = own
        }
        return outcome
    }

    /// The response of a result that tells of nothing else, as most; then the result was taken. On any thread.
    final func takeResponse(_ result: CoreResult, for url: String) -> (HTTPResponse, Data)? {
        handover.begin()
        return result.takeResponse(for: url)
    }

    // MARK: Events, on the loop thread

    /// The task has ended. `result` must be taken with ``take(_:for:)``, once, on any thread, or discarded here.
    func didFinish(_ result: CoreResult) {
        result.discard()
    }

    func didProgress(_ progress: TransferProgress) {}

    func willRedirect(_ proposal: RedirectProposal) -> RedirectDecision { .follow }

    /// The same request goes out once more, with credentials. The challenge comes without them.
    func didAnswer(_ challenge: AuthenticationChallenge) {}

    /// Something went over the wire.
    func didTrace(_ trace: WireTrace) {}

    /// The head of the final response, before its body.
    func didReceiveHead(_ response: HTTPResponse) -> ResponseDisposition { .allow }

    /// A piece of the body. The bytes are gone when this returns.
    func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> Intake { .taken }

    /// A ``wake()`` has come through, of a task that takes the body. One from inside ``didReceiveBody(_:)`` comes
    /// behind all that is there to be read now.
    func didWake() {}
}

// MARK: - The callbacks

extension CoreTask {
    private static func from(_ context: UnsafeMutableRawPointer?) -> CoreTask? {
        context.map { Unmanaged<CoreTask>.fromOpaque($0).takeUnretainedValue() }
    }

    private func events(_ interests: Interests, takesBody: Bool) -> af_task_events {
        var events = af_task_events()
        events.size = MemoryLayout<af_task_events>.stride
        events.on_done = { context, result in
            guard let result, let task = CoreTask.from(context) else { return }
            task.state.withLock { $0.answering }?.cancel()
            task.handover.end()
            task.didFinish(CoreResult(taking: result))
        }
        events.release = { context in
            context.map { Unmanaged<CoreTask>.fromOpaque($0).release() }
        }
        if interests.contains(.progress) {
            events.on_progress = { context, progress in
                guard let progress else { return }
                CoreTask.from(context)?.didProgress(TransferProgress(progress.pointee))
            }
        }
        if interests.contains(.redirects) {
            events.on_redirect = { context, redirect in
                guard let redirect, let task = CoreTask.from(context) else { return AF_REDIRECT_FAIL }
                return task.decide(redirect)
            }
        }
        if responder != nil {
            events.on_challenge = { context, challenge, _ in
                guard let challenge, let task = CoreTask.from(context) else { return AF_CHALLENGE_FAIL }
                return task.meet(challenge.pointee)
            }
        }
        if interests.contains(.challenges) {
            events.on_challenge_accepted = { context, challenge in
                guard let challenge, var told = AuthenticationChallenge(challenge.pointee) else { return }
                told.proposedCredential = nil
                CoreTask.from(context)?.didAnswer(told)
            }
        }
        if interests.contains(.trace) {
            events.on_trace = { context, trace in
                guard let trace, let seen = WireTrace(trace.pointee) else { return }
                CoreTask.from(context)?.didTrace(seen)
            }
        }
        if interests.contains(.head) {
            events.on_head = { context, response in
                guard let response, let task = CoreTask.from(context) else { return .AF_EINTERNAL }
                return task.judge(response)
            }
        }
        if takesBody {
            events.on_body = { context, chunk in
                guard let task = CoreTask.from(context) else { return .AF_EINTERNAL }
                switch task.didReceiveBody(UnsafeRawBufferPointer(start: chunk.bytes, count: chunk.size)) {
                case .taken: return .AF_OK
                case .later: return .AF_EAGAIN
                case .refused: return .AF_ECANCELED
                }
            }
            events.on_wake = { CoreTask.from($0)?.didWake() }
        }
        return events
    }

    /// Whoever answers may take time, which the loop hasn't.
    private func meet(_ challenge: af_challenge) -> af_challenge_answer {
        guard let responder, let asked = AuthenticationChallenge(challenge) else { return AF_CHALLENGE_DEFAULT }
        let number = challenge.number
        let answering = Task {
            let reply = ChallengeReply(number: number, disposition: await responder.answer(asked))
            self.state.withLock { state in
                if let task = state.answer(with: reply) { reply.send(to: task) }
            }
        }
        state.withLock { $0.answering = answering }
        return AF_CHALLENGE_LATER
    }

    private func judge(_ response: UnsafeMutablePointer<af_response>) -> af_status {
        guard let head = response.pointee.head, let url = response.pointee.url else { return .AF_EINTERNAL }
        if reportsTrust {
            headTrust = af_response_get_trust(response).map { SharedTrustReport(TrustReport($0.pointee)) }
        }
        switch didReceiveHead(HTTPResponse(head.pointee, url: String(cString: url))) {
        case .allow:
            return .AF_OK
        case .cancel:
            return .AF_ECANCELED
        case .download(let path, let options):
            // An empty path is an error to the core, and so is one that it could not read to its end.
            let text = CoreText(path.utf8.contains(0) ? "" : path)
            destination = text
            response.pointee.path = text.start
            response.pointee.flags = options.coreFlags
            return .AF_OK
        }
    }

    private func decide(_ redirect: UnsafeMutablePointer<af_redirect>) -> af_redirect_answer {
        let proposal = RedirectProposal(redirect.pointee)
        switch willRedirect(proposal) {
        case .follow:
            return AF_REDIRECT_FOLLOW
        case .stop:
            return AF_REDIRECT_STOP
        case .fail:
            return AF_REDIRECT_FAIL
        case .replace(let request):
            guard (try? request.validate()) != nil else { return AF_REDIRECT_FAIL }
            let replacement = CoreReplacement(request)
            replacement.apply(to: redirect)
            self.replacement = replacement
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
