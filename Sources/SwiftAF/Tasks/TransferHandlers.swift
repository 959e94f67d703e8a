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
        let disposition = response?(head) ?? .allow
        if case .download = disposition, !head.isSuccessful { return .allow }
        return disposition
    }

    /// Reports a 1xx response.
    func report(_ response: InformationalResponse) {
        events?.report(.informational(response))
        informational?(response)
    }

    var answersChallenges: Bool { challenge != nil || credentialStorage != nil }

    /// The decision about a challenge.
    ///
    /// - Parameter refused: A credential that this transfer has stored, and that the server has refused.
    /// - Returns: The decision, and the credential if it was stored.
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
            switch try await self.challenge?(challenge) ?? .performDefaultHandling {
            case .performDefaultHandling:
                return (stored.map { .useCredential($0) } ?? .performDefaultHandling, nil)
            case .useCredential(let credential):
                guard credential.persistence == .forSession else { return (.useCredential(credential), nil) }
                await credentialStorage?.store(credential, for: challenge.protectionSpace)
                return (.useCredential(credential), credential)
            case let other:
                return (other, nil)
            }
        } catch {
            return (.fail(error), nil)
        }
    }
}
