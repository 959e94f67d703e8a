/// What becomes of a response whose head has come and whose body is still to come.
public enum ResponseDisposition: Hashable, Sendable {
    /// The body comes, as it was asked for.
    case allow
    /// Nobody wants it: the transfer ends with ``SessionError/Code/cancelled`` and the response in the error. Nothing of
    /// the body is read, and the server is stopped at once.
    case cancel
    /// The body goes into a file, which appears, or is replaced, when it is complete; the body in memory is then empty.
    /// That is for responses with a status of 200 to 299; with any other one it is ``allow``.
    ///
    /// The path is as in ``HTTPSessionManager/download(_:to:options:progress:)``;
    /// ``HTTPResponse/suggestedFileName`` is a safe name in a folder of yours. ``DownloadOptions/resumes`` comes too late
    /// to count.
    case download(to: String, options: DownloadOptions = .replacesFile)
}

/// Decides what becomes of a response, when its head is there: the final one, never that of a redirect which is followed.
/// Called once on the network's thread, so it must not block: other transfers of the session wait meanwhile.
public typealias ResponseHandler = @Sendable (HTTPResponse) -> ResponseDisposition
