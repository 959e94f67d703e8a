internal import CAFCore
import FoundationEssentials

/// The common part of a task and of a WebSocket's handshake: the core's events about hops, and the decisions of the
/// request's handlers.
///
/// Events arrive on the session's loop thread, one at a time. Handlers and subclasses must not block it. The `context`
/// of the core's callbacks is this object.
///
/// Sendable, because `decision` and `decidedFailure` are used on the loop thread only, and on another one only after
/// the end.
class CoreTransfer: @unchecked Sendable {
    final let request: CoreRequest

    /// Nil if there is neither a handler nor a storage that answers challenges.
    private let answers: ChallengeAnswers?
    /// The memory that the last decision of a handler refers to. The core reads it right after the callback.
    private var decision: CoreArena?
    /// The error that a handler decided to fail with.
    private var decidedFailure: SessionError?

    init(_ request: CoreRequest) {
        self.request = request
        answers = request.handlers.answersChallenges ? ChallengeAnswers() : nil
    }

    // MARK: For subclasses

    /// Cancels the transfer; its end is still reported. A transfer that hasn't begun can't begin afterwards. Any
    /// thread.
    func cancel() {}

    /// Passes the decision about a challenge to the core, if the transfer has begun. Any thread.
    func send(_ reply: ChallengeReply) {}

    /// Returns the request to follow a redirect with, given the one that the redirect handler has returned.
    func replacement(_ next: HTTPRequest, for proposal: RedirectProposal) -> HTTPRequest { next }

    /// Returns memory that lives until the next decision.
    final func newDecisionMemory() -> CoreArena {
        let arena = CoreArena()
        decision = arena
        return arena
    }

    /// Notes a handler's error, which ``explain(_:)`` then returns instead of the core's. The caller ends the transfer.
    final func decideToFail(_ error: any Error, or code: SessionError.Code) {
        decidedFailure = error as? SessionError ?? SessionError(code, underlying: error)
    }

    /// Cancels the task that asks the challenge handler. Called when the transfer has ended.
    final func stopAnswering() {
        answers?.state.withLock { $0.answering }?.cancel()
    }

    /// Returns the error of the handler that decided to fail, with the details of the core's error; without such a
    /// decision, the core's error. Any thread, after the end.
    final func explain(_ failure: SessionError) -> SessionError {
        var explained = failure
        if failure.code == .authentication,
            var own = answers?.state.withLock({ $0.reply })?.failure(url: failure.url ?? request.http.url)
        {
            own.response = own.response ?? failure.response
            own.metrics = failure.metrics
            explained = own
        }
        return decidedFailure.map { $0.completed(with: explained) } ?? explained
    }

    // MARK: Events, on the loop thread

    private static func from(_ context: UnsafeMutableRawPointer?) -> CoreTransfer? {
        context.map { Unmanaged<CoreTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Returns the callbacks of those events that the handlers and monitors ask for. Each event costs a call into
    /// Swift.
    ///
    /// - Returns: The events as those of a task. A WebSocket, whose events are another struct, copies these callbacks.
    final func hopEvents() -> afc_task_events {
        // Each handler is read through `request`: a local copy of the struct would retain all handlers, in each request
        // (measured by the row `small_16` of Benchmarks/run).
        let isMonitored = request.handlers.monitors != nil
        var events = afc_task_events()
        if request.handlers.redirect != nil || request.refusesRedirects || isMonitored {
            events.on_redirect = { context, redirect in
                guard let redirect, let transfer = CoreTransfer.from(context) else { return AFC_REDIRECT_FAIL }
                return transfer.decide(redirect)
            }
        }
        if answers != nil {
            events.on_challenge = { context, challenge, _ in
                guard let challenge, let transfer = CoreTransfer.from(context) else { return AFC_CHALLENGE_FAIL }
                return transfer.answer(challenge.pointee)
            }
        }
        if isMonitored {
            // The core is about to send the request again with credentials. Monitors are given the challenge without
            // them.
            events.on_challenge_accepted = { context, challenge in
                guard let challenge, let request = CoreTransfer.from(context)?.request,
                    var shown = AuthenticationChallenge(challenge.pointee)
                else { return }
                shown.proposedCredential = nil
                request.handlers.events?.report(.challenged(shown))
            }
        }
        if request.handlers.informational != nil || isMonitored {
            events.on_informational = { context, head in
                guard let head else { return }
                CoreTransfer.from(context)?.request.handlers.report(InformationalResponse(head.pointee))
            }
        }
        if request.handlers.monitors?.tracesWire == true {
            events.on_trace = { context, trace in
                guard let trace, let seen = WireTrace(trace.pointee) else { return }
                CoreTransfer.from(context)?.request.handlers.events?.report(.traced(seen))
            }
        }
        return events
    }

    /// Starts a task that asks the handler and passes its decision to ``send(_:)``, because a handler may take time and
    /// the loop must not block.
    private func answer(_ challenge: afc_challenge) -> afc_challenge_decision {
        guard let answers, var asked = AuthenticationChallenge(challenge) else { return AFC_CHALLENGE_DEFAULT }
        let (last, used) = answers.state.withLock { ($0.stored, $0.used) }
        let space = asked.protectionSpace
        // The core proposes the request's credential, or the one in use, unless it was refused. It doesn't know for how
        // long a credential is stored, so the persistence is taken from ours.
        let own = space.isProxy ? request.http.proxyCredential : request.http.credential
        let known = [used, own].compactMap { $0 }
        let proposed = asked.proposedCredential
        asked.proposedCredential?.persistence = known.first { $0.hasSameSecret(as: proposed) }?.persistence ?? .none
        let number = challenge.number
        // On the loop thread, task-local values are not those of the request's task, so the scope is set explicitly.
        let answering = RefreshScope.$current.withValue(answers.scope) {
            Task { [asked] in
                let refused = asked.previousFailureCount > 0 && last?.space == space ? last?.credential : nil
                let answer = await request.handlers.decide(asked, refused: refused)
                let reply = ChallengeReply(number: number, decision: answer.decision)
                answers.state.withLock { state in
                    state.reply = reply
                    if case .useCredential(let credential) = answer.decision { state.used = credential }
                    if refused != nil { state.stored = nil }
                    if let stored = answer.stored { state.stored = (stored, space) }
                }
                send(reply)
            }
        }
        answers.state.withLock { $0.answering = answering }
        return AFC_CHALLENGE_LATER
    }

    /// The error of a redirect if none is allowed, which the core can't express because its limits start at 1.
    private static func noRedirects(_ proposal: RedirectProposal) -> SessionError {
        SessionError(
            .redirect, reason: .redirectLimit, message: "more than 0 redirects", response: proposal.response)
    }

    private func decide(_ redirect: UnsafeMutablePointer<afc_redirect>) -> afc_redirect_decision {
        let proposal = RedirectProposal(redirect.pointee)
        let handlers = request.handlers
        let decision =
            request.refusesRedirects
            ? .fail(Self.noRedirects(proposal)) : handlers.redirect?(proposal) ?? .follow
        handlers.events?.report(.redirected(proposal, decision))
        switch decision {
        case .follow:
            return AFC_REDIRECT_FOLLOW
        case .stop:
            return AFC_REDIRECT_STOP
        case .fail(let error):
            decideToFail(error, or: .redirect)
            return AFC_REDIRECT_FAIL
        case .replace(let other):
            let arena = newDecisionMemory()
            let next = replacement(other, for: proposal)
            let headers: UnsafeBufferPointer<afc_header>
            do throws(SessionError) {
                try next.validate()
                redirect.pointee.method = try arena.copy(next.method.rawValue, "method")
                redirect.pointee.url = try arena.copy(next.url, "URL")
                headers = arena.copy(next.headers)
            } catch {
                decideToFail(error, or: .redirect)
                return AFC_REDIRECT_FAIL
            }
            redirect.pointee.headers = headers.baseAddress
            redirect.pointee.header_count = headers.count
            return AFC_REDIRECT_FOLLOW
        }
    }
}

/// The state of the answers to one transfer's challenges. A separate object, because most transfers don't answer
/// challenges and needn't have the memory.
private final class ChallengeAnswers: Sendable {
    struct State {
        /// The task that asks the handler about a challenge.
        var answering: Task<Void, Never>?
        /// The last decision that was passed to the core.
        var reply: ChallengeReply?
        /// The credential of the last decision that used one.
        var used: Credential?
        /// The last credential that the storage keeps for the session, and its protection space.
        var stored: (credential: Credential, space: ProtectionSpace)?
    }

    let state = Locked(State())
    /// The refresh scope of the request (see ``RefreshScope``). The challenge handler runs in it, because it may send
    /// requests itself.
    let scope = RefreshScope.current
}

extension SessionError {
    /// Returns this error with the details of the transfer that it ended.
    fileprivate func completed(with failure: SessionError) -> SessionError {
        var error = self
        error.url = url ?? failure.url
        error.response = response ?? failure.response
        error.metrics = failure.metrics
        error.resumeToken = failure.resumeToken
        error.partialFileSize = failure.partialFileSize
        return error
    }
}
