/// Whether, and with which fields, a response is stored in the ``HTTPCache`` of a session.
public enum CachingDecision: Hashable, Sendable {
    /// Store the response as it was received.
    case store
    /// Store the response with these header fields. Their Cache-Control and Expires decide how long it is fresh. If a
    /// field is invalid or forbids storing, such as `no-store` or `Vary: *`, the response isn't stored.
    case storeWithHeaders(HTTPHeaders)
    /// Don't store the response.
    case refuse
}

/// Decides whether a response that HTTP allows to store is stored. Called on the session's network thread when its head
/// has arrived; also for redirects, but not for a 304 that updates a stored response. Must not block.
public typealias CachingHandler = @Sendable (HTTPResponse) -> CachingDecision
