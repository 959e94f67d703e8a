/// A redirect that a session is about to follow.
public struct RedirectProposal: Sendable {
    /// The 3xx response: status, headers, and the URL that answered.
    public let response: HTTPResponse
    /// What would be sent next: method, URL and all headers, without the credentials that must not go to another
    /// origin. Its body is not shown; ``keepsBody`` says whether the original one is sent again.
    public let request: HTTPRequest
    /// 1 for the first redirect of a task.
    public let count: Int
    /// Whether scheme, host or port differ, so that credentials were dropped.
    public let crossesOrigin: Bool
    /// Whether the body of the original request is sent again.
    public let keepsBody: Bool
}

/// What to do with a ``RedirectProposal``.
public enum RedirectDecision: Sendable {
    /// Go on as proposed.
    case follow
    /// Go on with this request's method, URL and headers, which are checked like any input; nothing else of it
    /// counts.
    case replace(HTTPRequest)
    /// The 3xx response is the answer.
    case stop
    /// End with ``SessionError/Code/redirect``.
    case fail
}

/// Called on the network's thread, so it must not block: other transfers of the session wait meanwhile.
public typealias RedirectHandler = @Sendable (RedirectProposal) -> RedirectDecision
