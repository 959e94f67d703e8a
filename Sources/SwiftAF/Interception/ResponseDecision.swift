/// What to do with the body of a response whose head has arrived.
public enum ResponseDecision: Sendable {
    /// Accept the body.
    case allow
    /// Cancel the transfer without reading the body. It fails with ``SessionError/Code/cancelled``; the error has the
    /// response.
    case cancel
    /// Cancel the transfer without reading the body. It fails with this error if it is a ``SessionError``, else with
    /// ``SessionError/Code/cancelled`` and this error as ``SessionError/underlying``.
    case fail(any Error)
    /// Save the body to a file, which appears or is replaced when it is complete; the body in memory is empty. Applies
    /// to responses with status 200 to 299; for others it means ``allow``.
    ///
    /// The path is as in `download(_:to:options:progress:)`; ``HTTPResponse/suggestedFileName`` is
    /// a safe name in a folder of your choice. ``DownloadOptions/resumes`` has no effect, because the request is
    /// already sent.
    case download(to: String, options: DownloadOptions = .replacesFile)
}

/// Decides what to do with the body when the final head of a response arrives; not called for followed redirects.
/// Called once on the session's network thread. Must not block, because other transfers of the session wait meanwhile.
public typealias ResponseHandler = @Sendable (HTTPResponse) -> ResponseDecision
