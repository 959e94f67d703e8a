/// A redirect that a session is about to follow.
public struct RedirectProposal: Sendable {
    /// The 3xx response: status, headers, and the URL that answered.
    public let response: HTTPResponse
    /// The proposed request: method, URL and all fields, without credentials that must not be sent to another origin.
    /// Its body isn't set; ``keepsBody`` says whether the original body is sent.
    public let request: HTTPRequest
    /// The number of the redirect, from 1.
    public let count: Int
    /// Whether scheme, host or port differ, so credentials were dropped.
    public let crossesOrigin: Bool
    /// Whether the body of the original request is sent again.
    public let keepsBody: Bool

    /// Creates a proposal, for tests of a ``RedirectHandler``.
    public init(
        response: HTTPResponse, request: HTTPRequest, count: Int = 1, crossesOrigin: Bool = false,
        keepsBody: Bool = false
    ) {
        self.response = response
        self.request = request
        self.count = count
        self.crossesOrigin = crossesOrigin
        self.keepsBody = keepsBody
    }
}

/// The decision about a ``RedirectProposal``.
public enum RedirectDecision: Sendable {
    /// Follow as proposed.
    case follow
    /// Follow with this request's method, URL and fields, which are checked like any input; its other properties are
    /// ignored. Secret fields stay secret, even if their copies aren't marked, and those of the proposed request aren't
    /// sent to another origin.
    case replace(HTTPRequest)
    /// Don't follow; the 3xx response is returned.
    case stop
    /// Fail with this error if it is a ``SessionError``, else with ``SessionError/Code/redirect`` and this error as
    /// ``SessionError/underlying``.
    case fail(any Error)
}

/// Called on the session's network thread. Must not block, because other transfers of the session wait meanwhile.
public typealias RedirectHandler = @Sendable (RedirectProposal) -> RedirectDecision
