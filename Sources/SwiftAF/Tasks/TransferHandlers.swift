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
    func decide(_ challenge: AuthenticationChallenge) async -> ChallengeDecision {
        var challenge = challenge
        var stored: Credential?
        // Credentials that were refused aren't proposed again.
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
