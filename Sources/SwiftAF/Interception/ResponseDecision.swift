/// What to do with the body of a response whose head has arrived.
public enum ResponseDecision: Sendable {
    /// Accept the body.
    case allow
    /// Cancel the transfer without reading the body. It fails with ``SessionError/Code/cancelled``; the error has the
    /// response.
    case cancel
    /// Cancel the transfer without reading the body. It fails with this error if it is a ``SessionError``, else with
    /// ``SessionError/Code/interceptor`` and this error as ``SessionError/underlying``.
    case fail(any Error)
    /// Save the body to a file, which appears or is replaced when it is complete; the body in memory is empty. Applies
    /// to responses with status 200 to 299; for others it means ``allow``.
    ///
    /// The path is as in `download(_:to:options:progress:)`; ``HTTPResponse/suggestedFileName`` is
    /// a safe name in a folder of your choice. ``DownloadOptions/resumes`` has no effect, because the request is
    /// already sent.
    case download(to: String, options: DownloadOptions = [])
    /// Write the body to a pipe, socket, terminal or file, from its current position; the body in memory is empty.
    /// Applies to every status.
    ///
    /// The descriptor must be open for writing, else the transfer fails with ``SessionError/Code/invalidInput``. It is
    /// duplicated, so that it can be closed when the head has arrived; without a free descriptor, the transfer fails
    /// with ``SessionError/Code/file``. While its reader is slow, receiving pauses, and the idle time limit doesn't
    /// count. The transfer ends when everything is written. If the reader closes its end, it fails with
    /// ``SessionError/Code/file`` and the ``SessionError/systemError`` `EPIPE`, without a signal.
    case write(toDescriptor: Int32)
}

/// Decides what to do with the body when the final head of a response arrives; not called for followed redirects.
/// Called once on the session's network thread. Must not block, because other transfers of the session wait meanwhile.
public typealias ResponseHandler = @Sendable (HTTPResponse) -> ResponseDecision
