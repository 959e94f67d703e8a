import FoundationEssentials

/// The failures after which the same request may succeed, for each kind of request that is repeated.
enum TransientFailures {
    /// The status codes of a server, or a gateway, that is busy, restarts or has waited too long.
    static let statusCodes: Set<Int> = [408, 425, 429, 500, 502, 503, 504]

    /// The transient failures of a single request: the connection couldn't be made or was lost. A name that isn't found
    /// and a failed TLS handshake rarely succeed within the seconds that a policy waits, so they are reported at once.
    static let ofRequests: Set<SessionError.Code> = [.connect, .connectionLost, .truncated, .timeout]

    /// The transient failures of a WebSocket: names and TLS, too. A sequence of messages lasts for hours, and
    /// reconnects after changes of the network and of the server.
    static let ofWebSockets = ofRequests.union([.dns, .tls])

    /// The transient failures of an event stream: everything that the HTML standard calls a network error, so
    /// violations of the protocol, too.
    static let ofEventStreams = ofWebSockets.union([.protocol])
}

extension SessionError {
    /// The failure of the request for a credential, such as the refresh of a ``BearerAuthenticator``; nil for other
    /// errors. It decides whether another attempt may succeed.
    var credentialFailure: SessionError? { code == .authentication ? underlying as? SessionError : nil }

    /// The failure to judge by: that of the request for a credential, if there was one; otherwise this error.
    private var decisive: SessionError { credentialFailure?.decisive ?? self }

    /// Whether the failure may be transient.
    ///
    /// - Parameters:
    ///   - codes: The codes of transient failures.
    ///   - statusCodes: The status codes of transient failures, for responses that weren't accepted.
    func isTransient(_ codes: Set<Code>, statusCodes: Set<Int>) -> Bool {
        let cause = decisive
        if cause.code == .status, let status = cause.status { return statusCodes.contains(status) }
        return codes.contains(cause.code)
    }

    /// Returns the delay of `Retry-After` in the response that refused the request; nil if there is none. Ignores the
    /// head of a response that was cut off.
    func delayAsked(now: Date) -> Duration? {
        let cause = decisive
        guard cause.code == .status, let response = cause.response else { return nil }
        return RetryAfter.delay(of: response, now: now)
    }
}
