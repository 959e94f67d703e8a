/// The handlers of a transfer, called on the loop thread unless they are async.
struct TransferHandlers: Sendable {
    var progress: (@Sendable (TransferProgress) -> Void)?
    /// The encoder of JSON bodies.
    var encoder: any DataEncoder = JSONCoder()
    var redirect: RedirectHandler?
    var response: ResponseHandler?
    /// The interceptors, outermost first. If empty, the unchanged request is sent once.
    var interceptors: [any RequestInterceptor] = []
    var informational: InformationalHandler?
    var caching: CachingHandler?
    var challenge: AuthenticationChallengeHandler?
    /// The storage that proposes credentials; nil if there are none to propose and none to store.
    var credentialStorage: (any CredentialStorage)?
    /// The monitors; nil if there are none.
    var monitors: MonitorGroup?
    /// Reports the events of this request. Set when the request has its number; nil if nothing observes it.
    var events: RequestEvents?

    /// Returns the manager's handlers, combined with those of a request. The request's response handler replaces the
    /// manager's; both informational handlers are called; the request's interceptors come first.
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

    /// Reports the head of a response, and returns the decision about its body.
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

    /// Returns the decision about a challenge, and updates the credential storage.
    ///
    /// - Parameter refused: The credential that was stored for the session and that the server has now refused; nil if
    ///   there is none. It is removed from the storage.
    /// - Returns: The decision, and the credential of the decision if it is now stored for the session.
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
                // With the default handling, the core uses the credential that it has proposed.
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

    /// Stores a credential whose persistence is the session, and returns it. Returns nil for any other.
    private func keep(_ credential: Credential?, for challenge: AuthenticationChallenge) async -> Credential? {
        guard let credential, credential.persistence == .forSession else { return nil }
        await credentialStorage?.store(credential, for: challenge.protectionSpace)
        return credential
    }
}
