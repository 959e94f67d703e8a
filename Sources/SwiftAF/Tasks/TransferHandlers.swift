/// What is called on the way of a transfer, on the loop thread unless it is async.
struct TransferHandlers: Sendable {
    var progress: (@Sendable (TransferProgress) -> Void)?
    var redirect: RedirectHandler?
    var response: ResponseHandler?
    /// Nil if there is one attempt, of the request as it is.
    var interceptor: (any RequestInterceptor)?
    var challenge: AuthenticationChallengeHandler?
    /// Nil if there are no credentials to propose.
    var credentialStorage: (any CredentialStorage)?
    /// Nil if the manager isn't monitored.
    var monitors: MonitorGroup?
    /// Of the request, once it has a number. Nil if nothing observes it.
    var events: RequestEvents?

    /// The manager's handlers, as a request changes them.
    func of(_ request: HTTPRequest, progress: (@Sendable (TransferProgress) -> Void)?) -> TransferHandlers {
        var handlers = self
        handlers.progress = progress
        if let response = request.responseHandler { handlers.response = response }
        if let own = request.interceptor {
            handlers.interceptor = interceptor.map { CompositeInterceptor(own, $0) } ?? own
        }
        return handlers
    }

    /// What becomes of a response in the end.
    func decide(_ head: HTTPResponse) -> ResponseDisposition {
        events?.tell(.answered(head))
        let disposition = response?(head) ?? .allow
        if case .download = disposition, !head.isSuccessful { return .allow }
        return disposition
    }

    var answersChallenges: Bool { challenge != nil || credentialStorage != nil }

    func answer(_ challenge: AuthenticationChallenge) async -> ChallengeDisposition {
        var challenge = challenge
        var stored: Credential?
        // What was refused to this task is not offered again.
        if challenge.proposedCredential == nil, challenge.previousFailureCount == 0 {
            stored = await credentialStorage?.credential(for: challenge.protectionSpace)
            challenge.proposedCredential = stored
        }
        do {
            switch try await self.challenge?(challenge) ?? .performDefaultHandling {
            case .performDefaultHandling:
                return stored.map { .useCredential($0) } ?? .performDefaultHandling
            case .useCredential(let credential):
                if credential.persistence == .forSession {
                    await credentialStorage?.store(credential, for: challenge.protectionSpace)
                }
                return .useCredential(credential)
            case let other:
                return other
            }
        } catch {
            return .fail(error)
        }
    }
}
