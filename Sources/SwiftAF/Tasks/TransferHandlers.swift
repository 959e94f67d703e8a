/// The handlers of a transfer, called on the loop thread unless they are async.
struct TransferHandlers: Sendable {
    var progress: (@Sendable (TransferProgress) -> Void)?
    /// Encodes JSON bodies.
    var encoder: any DataEncoder = JSONCoder()
    var redirect: RedirectHandler?
    var response: ResponseHandler?
    /// Empty for a single attempt with the unchanged request.
    var interceptors: [any RequestInterceptor] = []
    var informational: InformationalHandler?
    var caching: CachingHandler?
    var challenge: AuthenticationChallengeHandler?
    /// Nil without credentials to propose.
    var credentialStorage: (any CredentialStorage)?
    /// Nil without monitors.
    var monitors: MonitorGroup?
    /// Set once the request has a number; nil if nothing observes it.
    var events: RequestEvents?

    /// The manager's handlers with the request's changes.
    func of(_ request: HTTPRequest, progress: (@Sendable (TransferProgress) -> Void)?) -> TransferHandlers {
        var handlers = self
        handlers.progress = progress
        if let response = request.responseHandler { handlers.response = response }
        if let own = request.informationalHandler {
            handlers.informational = own
            if let general = informational {
                handlers.informational = { response in
                    general(response)
                    own(response)
                }
            }
        }
        let own = request.interceptors
        if !own.isEmpty { handlers.interceptors = own + interceptors }
        return handlers
    }

    /// The decision about a response.
    func decide(_ head: HTTPResponse) -> ResponseDecision {
        events?.report(.responseReceived(head))
        let decision = response?(head) ?? .allow
        if case .download = decision, !head.isSuccessful { return .allow }
        return decision
    }

    /// Reports a 1xx response.
    func report(_ response: InformationalResponse) {
        events?.report(.informational(response))
        informational?(response)
    }

    var answersChallenges: Bool { challenge != nil || credentialStorage != nil }

    /// The decision about a challenge.
    ///
    /// - Parameter refused: A credential that is in the storage for the session, and that the server has refused.
    /// - Returns: The decision, and its credential if that is in the storage for the session.
    func decide(
        _ challenge: AuthenticationChallenge, refused: Credential?
    ) async -> (decision: ChallengeDecision, stored: Credential?) {
        var challenge = challenge
        var stored: Credential?
        if let refused, await credentialStorage?.credential(for: challenge.protectionSpace) == refused {
            await credentialStorage?.removeCredential(for: challenge.protectionSpace)
        }
        // Credentials that were refused aren't proposed again.
        if challenge.proposedCredential == nil, challenge.previousFailureCount == 0 {
            stored = await credentialStorage?.credential(for: challenge.protectionSpace)
            challenge.proposedCredential = stored
        }
        do {
            let decision = try await self.challenge?(challenge) ?? .performDefaultHandling
            switch decision {
            case .performDefaultHandling:
                if let stored { return (.useCredential(stored), stored.persistence == .forSession ? stored : nil) }
                // The core uses the request's credential.
                return (.performDefaultHandling, await keep(challenge.proposedCredential, for: challenge))
            case .useCredential(let credential):
                return (decision, await keep(credential, for: challenge))
            case .cancel, .fail:
                return (decision, nil)
            }
        } catch {
            return (.fail(error), nil)
        }
    }

    /// Stores a credential that is for the session, and returns it then.
    private func keep(_ credential: Credential?, for challenge: AuthenticationChallenge) async -> Credential? {
        guard let credential, credential.persistence == .forSession else { return nil }
        await credentialStorage?.store(credential, for: challenge.protectionSpace)
        return credential
    }
}
