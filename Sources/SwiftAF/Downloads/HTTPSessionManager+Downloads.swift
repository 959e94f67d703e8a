import FoundationEssentials

// Requests are sent unchanged: the request serializer isn't used.
extension HTTPSessionManager {
    /// Saves the body of a response with status 200 to 299 to a file. The file is created or replaced atomically once
    /// the body is complete; on failure an existing file is left unchanged.
    ///
    /// - Parameters:
    ///   - path: The path of the file; a relative one is resolved against the current directory.
    ///   - progress: Called on the network's thread with snapshots, at most ten times a second and once at the end.
    ///     Must not block.
    /// - Throws: ``SessionError/Code/status`` for any other status, with the response and up to 1 MiB of its body;
    ///   ``SessionError/Code/file`` if the file can't be written, exists and must not be replaced, or is being resumed
    ///   by another download. ``SessionError/resumeToken`` is set if the download can be resumed.
    @discardableResult
    public func download(
        _ request: HTTPRequest, to path: String, options: DownloadOptions = .replacesFile,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(SessionError) -> DownloadResponse {
        try await download(.to(path, request, options), progress)
    }

    /// Saves the body of a response with status 200 to 299 to a file that is named when the head arrives.
    ///
    /// ```swift
    /// try await manager.download(HTTPRequest("reports/latest")) { "/reports/" + $0.suggestedFileName }
    /// ```
    ///
    /// - Parameter destination: Names the file.
    /// - Throws: The same errors as ``download(_:to:options:progress:)``.
    @discardableResult
    public func download(
        _ request: HTTPRequest, options: DownloadOptions = .replacesFile,
        progress: (@Sendable (TransferProgress) -> Void)? = nil, destination: @escaping DownloadDestination
    ) async throws(SessionError) -> DownloadResponse {
        try await download(.named(by: destination, request, options), progress)
    }

    /// Saves the body of a response with status 200 to 299 to the file that ``downloadDestination`` names.
    ///
    /// - Throws: The same errors as ``download(_:to:options:progress:)``; ``SessionError/Code/invalidInput`` if there
    ///   is no destination.
    @discardableResult
    public func download(
        _ request: HTTPRequest, options: DownloadOptions = .replacesFile,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(SessionError) -> DownloadResponse {
        try await download(.named(by: nil, request, options), progress)
    }

    /// Resumes an interrupted download of any manager, also of another process, and saves the file to its original
    /// path. Starts over if the partial file is gone or the server has another version.
    ///
    /// - Parameters:
    ///   - token: The token from ``SessionError/resumeToken``.
    ///   - headers: The headers of the request. A token doesn't contain headers, so credentials must be passed again.
    ///   - options: The options; ``DownloadOptions/resumes`` is implied. By default the bytes received so far are kept
    ///     if this download fails, too.
    /// - Throws: The same errors as ``download(_:to:options:progress:)``.
    @discardableResult
    public func download(
        resuming token: ResumeToken, headers: HTTPHeaders = [:],
        options: DownloadOptions = [.replacesFile, .keepsPartialFile],
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(SessionError) -> DownloadResponse {
        try await download(.resuming(token, headers, options), progress)
    }

    /// Like ``download(_:to:options:progress:)``, for a path that may not be valid UTF-8.
    package func download(
        _ request: HTTPRequest, toBytes path: [UInt8], options: DownloadOptions,
        progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws(SessionError) -> DownloadResponse {
        var spec = DownloadSpec.to(String(decoding: path, as: UTF8.self), request, options)
        spec.file.rawPath = path
        return try await download(spec, progress)
    }

    func download(
        _ spec: DownloadSpec, _ progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws(SessionError) -> DownloadResponse {
        let outcome = await (try prepare(spec, snapshot, progress)).outcome()
        outcome.reportFile(of: nil)
        return try outcome.downloadResponse()
    }

    /// Returns the request for the core.
    func prepare(
        _ spec: DownloadSpec, _ snapshot: Snapshot, _ progress: (@Sendable (TransferProgress) -> Void)?
    ) throws(SessionError) -> CoreRequest {
        let naming = try spec.responseHandler(snapshot.settings.downloadDestination)
        return try prepare(spec.request, snapshot, sink: .file(spec.file), naming: naming, progress: progress)
    }
}

/// The request, the file and the options of a download.
struct DownloadSpec: Sendable {
    var request: HTTPRequest
    var file: CoreFile
    /// Names the file if it has no path; nil uses the manager's.
    var destination: DownloadDestination?

    static func to(_ path: String, _ request: HTTPRequest, _ options: DownloadOptions) -> DownloadSpec {
        DownloadSpec(request: request, file: CoreFile(path: path, options: options))
    }

    static func named(
        by destination: DownloadDestination?, _ request: HTTPRequest, _ options: DownloadOptions
    ) -> DownloadSpec {
        DownloadSpec(request: request, file: CoreFile(options: options), destination: destination)
    }

    static func resuming(_ token: ResumeToken, _ headers: HTTPHeaders, _ options: DownloadOptions) -> DownloadSpec {
        let file = CoreFile(path: token.filePath, options: options.union(.resumes), token: token)
        return DownloadSpec(request: HTTPRequest(token.url, headers: headers), file: file)
    }

    /// Returns the handler that names the file; nil if the file has a path.
    func responseHandler(_ defaultDestination: DownloadDestination?) throws(SessionError) -> ResponseHandler? {
        if let path = file.path {
            guard !path.isEmpty, !path.utf8.contains(0) else { throw invalid("the path is empty or contains NUL") }
            return nil
        }
        guard let destination = destination ?? defaultDestination else {
            throw invalid("the download has no path, and there is no destination that names one")
        }
        return { [options = file.options] response in
            response.isSuccessful ? .download(to: destination(response), options: options) : .allow
        }
    }

    private func invalid(_ problem: String) -> SessionError {
        SessionError(.invalidInput, message: problem, url: request.url)
    }
}
