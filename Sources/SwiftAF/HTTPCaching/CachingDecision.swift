/// Whether, and with which fields, a response is stored in the ``HTTPCache`` of a session.
public enum CachingDecision: Hashable, Sendable {
    /// Store it as it was received.
    case store
    /// Store it with these header fields. Its Cache-Control and Expires decide how long it is fresh. With an invalid
    /// field, or one that forbids it, such as `no-store` or `Vary: *`, it isn't stored.
    case storeWithHeaders(HTTPHeaders)
    /// Don't store it.
    case refuse
}

/// Decides whether a response that HTTP allows to store is stored. Called on the session's network thread when its head
/// has arrived; also for redirects, but not for a 304 that updates a stored response. Must not block.
public typealias CachingHandler = @Sendable (HTTPResponse) -> CachingDecision
