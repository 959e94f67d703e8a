internal import CAFCore
import FoundationEssentials

/// The decision about a challenge, to pass to the core.
struct ChallengeReply: Sendable {
    let number: UInt32
    let decision: ChallengeDecision

    /// Passes the decision to the core, which ignores it if it no longer waits for it.
    ///
    /// - Parameter answer: The core's function for the task or WebSocket.
    func send(_ answer: (UInt32, afc_challenge_decision, UnsafePointer<afc_credentials>?) -> afc_status) {
        switch decision {
        case .performDefaultHandling: _ = answer(number, AFC_CHALLENGE_DEFAULT, nil)
        case .cancel: _ = answer(number, AFC_CHALLENGE_CANCEL, nil)
        case .fail: _ = answer(number, AFC_CHALLENGE_FAIL, nil)
        case .useCredential(let credential):
            let arena = CoreArena()
            let core = try? arena.copy(credential)
            let status = answer(number, AFC_CHALLENGE_USE, core)
            // The core has refused the credential and still waits for a decision.
            if status != .AFC_OK { _ = answer(number, AFC_CHALLENGE_FAIL, nil) }
            withExtendedLifetime(arena) {}
        }
    }

    /// Returns the error that the transfer fails with because of this decision; nil if the core's error is used.
    func failure(url: String) -> SessionError? {
        switch decision {
        case .performDefaultHandling, .cancel: return nil
        case .useCredential(let credential):
            return credential.fault.map { SessionError(.invalidInput, message: $0, url: url) }
        case .fail(let error):
            if let own = error as? SessionError { return own }
            if error is CancellationError { return SessionError(.cancelled, url: url) }
            return SessionError(.authentication, url: url, underlying: error)
        }
    }
}

extension AuthenticationChallenge {
    /// Copies a challenge of the core; nil if it is incomplete. The persistence of the proposed credential isn't set,
    /// because the core doesn't know it.
    init?(_ core: afc_challenge) {
        guard let scheme = AuthenticationScheme(rawValue: core.scheme), let host = core.host, let realm = core.realm,
            let url = core.url, let head = core.head
        else { return nil }
        self.init(
            protectionSpace: ProtectionSpace(
                isProxy: core.is_proxy, scheme: core.is_https ? "https" : "http", host: String(cString: host),
                port: Int(core.port), realm: String(cString: realm),
                authenticationScheme: scheme),
            offeredSchemes: AuthenticationSchemes(rawValue: core.offered),
            previousFailureCount: Int(core.failures),
            proposedCredential: core.proposed.map { Credential($0.pointee) },
            response: HTTPResponse(head.pointee, url: String(cString: url)))
    }
}

extension Credential {
    /// The credential of a request in the core.
    fileprivate init(_ core: afc_credentials) {
        let schemes = core.schemes == 0 ? AuthenticationSchemes.any : AuthenticationSchemes(rawValue: core.schemes)
        if let token = core.token {
            self.init(bearerToken: String(cString: token))
        } else {
            self.init(
                user: core.user.map { String(cString: $0) } ?? "",
                password: core.password.map { String(cString: $0) } ?? "", schemes: schemes)
        }
        self.isPreemptive = core.send_preemptively
    }
}
