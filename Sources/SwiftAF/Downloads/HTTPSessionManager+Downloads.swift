public import FoundationEssentials

// Downloads. Their requests are sent as they are, with the manager's headers added: the request serializer isn't used.
extension HTTPSessionManager {
    /// Saves the body of a response with status 200 to 299 to a file, if ``validation`` accepts it. The file is created
    /// or replaced atomically once the body is complete; on failure an existing file is left unchanged.
    ///
    /// ```swift
    /// try await manager.download("reports/7", to: "/tmp/report.pdf")
    /// try await manager.download("reports/7", to: .folder("/tmp"))
    /// ```
    ///
    /// ``DownloadDestination/verified(by:)`` checks the digest of the file.
    ///
    /// - Parameters:
    ///   - source: The text of a URL, a `URL`, or an ``HTTPRequest``.
    ///   - destination: The path of the file, or how it is chosen. Default: ``downloadDestination``.
    ///   - options: Whether an existing file is replaced, and whether the download can be resumed.
    ///   - progress: Called on the network thread with snapshots, at most ten times a second and once at the end.
    ///     Must not block.
    /// - Throws: ``SessionError/Code/status`` for any other status, with the response and up to 1 MiB of its body, and
    ///   without a body for a status from 200 to 299 that isn't acceptable; ``SessionError/Code/contentType``, without
    ///   a body, if the type isn't acceptable; ``SessionError/Code/file`` if the file can't be written, exists and must
    ///   not be replaced, or is being resumed by another download; ``SessionError/Code/invalidInput`` if there is no
    ///   destination. ``SessionError/resumeToken`` is set if the download can be resumed.
    @discardableResult
    public func download<Source: RequestConvertible>(
        _ source: Source, to destination: DownloadDestination = .managerDefault,
        options: DownloadOptions = [], progress: ProgressHandler? = nil
    ) async throws(SessionError) -> DownloadResponse {
        try await download(DownloadSpec(source, destination, options), progress)
    }

    /// Saves the body of a response to the file at a path, as
    /// ``download(_:to:options:progress:)-(_,DownloadDestination,_,_)`` describes.
    @discardableResult
    public func download<Source: RequestConvertible>(
        _ source: Source, to path: String, options: DownloadOptions = [],
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> DownloadResponse {
        try await download(DownloadSpec(source, .path(path), options), progress)
    }

    /// Saves the body of a response to the file of a file URL, as
    /// ``download(_:to:options:progress:)-(_,DownloadDestination,_,_)`` describes.
    @discardableResult
    public func download<Source: RequestConvertible>(
        _ source: Source, to file: URL, options: DownloadOptions = [],
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> DownloadResponse {
        try await download(DownloadSpec(source, .path(file), options), progress)
    }

    /// Like `download(_:to:options:progress:)`, for a path that may not be valid UTF-8. The request's
    /// ``HTTPRequest/responseHandler`` can refuse the response.
    ///
    /// - Parameter digest: The digest that the file must have: ``DownloadDestination/verified(by:)``.
    package func download(
        _ request: HTTPRequest, toBytes path: [UInt8], digest: FileDigest? = nil, options: DownloadOptions,
        progress: ProgressHandler?
    ) async throws(SessionError) -> DownloadResponse {
        let file = CoreFile(
            path: String(decoding: path, as: UTF8.self), rawPath: path, options: options, digest: digest)
        return try await download(DownloadSpec(request, file, refusal: request.responseHandler), progress)
    }

    func download(
        _ spec: DownloadSpec, _ progress: ProgressHandler?
    ) async throws(SessionError) -> DownloadResponse {
        let snapshot = snapshot
        let outcome = await (try prepare(spec, snapshot, progress)).outcome()
        RequestEvents.reportFile(of: outcome)
        return try outcome.downloadResponse(snapshot.settings.responses)
    }

    /// Returns the request of a download with everything that is needed to send it.
    func prepare(
        _ spec: DownloadSpec, _ snapshot: Snapshot, _ progress: ProgressHandler?
    ) throws(SessionError) -> CoreRequest {
        var spec = spec
        spec.replaceDefault(by: snapshot.settings.downloadDestination)
        let handler = try spec.responseHandler(snapshot.settings.responses)
        return try prepare(spec.request, snapshot, sink: .file(spec.file), naming: handler, progress: progress)
    }
}
