import FoundationEssentials

// Requests are sent as they are: the request serializer is not asked.
extension HTTPSessionManager {
    /// Writes the body of a response with a status of 200 to 299 into a file, which appears, or is replaced, when
    /// it is complete, and is left as it was otherwise.
    ///
    /// - Parameters:
    ///   - path: Where the file goes; a relative one counts from the current folder.
    ///   - progress: Called on the network's thread with snapshots, at most ten times a second and once at the end.
    ///     Must not block.
    /// - Throws: ``SessionError/Code/status`` for another status, with the response and at most 1 MiB of its body;
    ///   ``SessionError/Code/file`` if the file can't be written, is there and must not be replaced, or is being
    ///   resumed by somebody else. ``SessionError/resumeToken`` is there if the download can go on.
    @discardableResult
    public func download(
        _ request: HTTPRequest, to path: String, options: DownloadOptions = .replacesFile,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(SessionError) -> DownloadResponse {
        try await download(.to(path, request, options), progress)
    }

    /// Writes the body of a response with a status of 200 to 299 into a file that is named when its head is there.
    ///
    /// ```swift
    /// try await manager.download(HTTPRequest("reports/latest")) { "/reports/" + $0.suggestedFileName }
    /// ```
    ///
    /// - Parameter destination: Names the file.
    /// - Throws: As ``download(_:to:options:progress:)``.
    @discardableResult
    public func download(
        _ request: HTTPRequest, options: DownloadOptions = .replacesFile,
        progress: (@Sendable (TransferProgress) -> Void)? = nil, destination: @escaping DownloadDestination
    ) async throws(SessionError) -> DownloadResponse {
        try await download(.named(by: destination, request, options), progress)
    }

    /// Writes the body of a response with a status of 200 to 299 into a file that ``downloadDestination`` names.
    ///
    /// - Throws: As ``download(_:to:options:progress:)``; ``SessionError/Code/invalidInput`` if nobody names a file.
    @discardableResult
    public func download(
        _ request: HTTPRequest, options: DownloadOptions = .replacesFile,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(SessionError) -> DownloadResponse {
        try await download(.named(by: nil, request, options), progress)
    }

    /// Goes on with a download that broke off, of any manager of any process, and puts the file where it was to go.
    /// If its partial file is gone or the server has another version by now, all comes anew.
    ///
    /// - Parameters:
    ///   - token: From ``SessionError/resumeToken``.
    ///   - headers: A token holds none: credentials must be given again.
    ///   - options: Resuming is implied. By default what has come is kept again if this fails, too.
    /// - Throws: As ``download(_:to:options:progress:)``.
    @discardableResult
    public func download(
        resuming token: ResumeToken, headers: HTTPHeaders = [:],
        options: DownloadOptions = [.replacesFile, .keepsPartialFile],
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(SessionError) -> DownloadResponse {
        try await download(.resuming(token, headers, options), progress)
    }

    /// As ``download(_:to:options:progress:)``, to a path that need not be UTF-8.
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

    /// What it takes to begin a download.
    func prepare(
        _ spec: DownloadSpec, _ snapshot: Snapshot, _ progress: (@Sendable (TransferProgress) -> Void)?
    ) throws(SessionError) -> CoreRequest {
        let naming = try spec.responseHandler(snapshot.settings.downloadDestination)
        return try prepare(spec.request, snapshot, sink: .file(spec.file), naming: naming, progress: progress)
    }
}

/// What is downloaded, and how.
struct DownloadSpec: Sendable {
    var request: HTTPRequest
    var file: CoreFile
    /// If the file has no path; nil for the manager's.
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

    /// Names the file; nil if it has a path.
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
