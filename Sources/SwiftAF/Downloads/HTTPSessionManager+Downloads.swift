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
        try await download(.named(by: downloadDestination, request, options), progress)
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
        var plan = DownloadPlan.to(String(decoding: path, as: UTF8.self), request, options)
        plan.file.rawPath = path
        return try await download(plan, progress)
    }

    func download(
        _ plan: DownloadPlan, _ progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws(SessionError) -> DownloadResponse {
        let (order, observers) = try prepare(plan, progress)
        let outcome = await Exchange.run(order, observers)
        outcome.tellOfFile(of: nil)
        return try outcome.downloadResponse()
    }

    /// What it takes to begin a download.
    func prepare(
        _ plan: DownloadPlan, _ progress: (@Sendable (TransferProgress) -> Void)?
    ) throws(SessionError) -> (CoreOrder, TransferObservers) {
        try plan.validate()
        var observers = observers(of: plan.request, progress)
        observers.response = plan.responseHandler
        return (try order(plan.request, sink: .file(plan.file), interests: observers.interests), observers)
    }
}

/// What is downloaded, and how.
struct DownloadPlan: Sendable {
    var request: HTTPRequest
    var file: CoreFile
    /// If the file has no path.
    var destination: DownloadDestination?

    static func to(_ path: String, _ request: HTTPRequest, _ options: DownloadOptions) -> DownloadPlan {
        DownloadPlan(request: request, file: CoreFile(path: path, options: options))
    }

    static func named(
        by destination: DownloadDestination?, _ request: HTTPRequest, _ options: DownloadOptions
    ) -> DownloadPlan {
        DownloadPlan(request: request, file: CoreFile(options: options), destination: destination)
    }

    static func resuming(_ token: ResumeToken, _ headers: HTTPHeaders, _ options: DownloadOptions) -> DownloadPlan {
        let file = CoreFile(path: token.filePath, options: options.union(.resumes), token: token)
        return DownloadPlan(request: HTTPRequest(token.url, headers: headers), file: file)
    }

    /// Nil if the file has a path.
    var responseHandler: ResponseHandler? {
        guard let destination else { return nil }
        return { [options = file.options] response in
            response.isSuccessful ? .download(to: destination(response), options: options) : .allow
        }
    }

    func validate() throws(SessionError) {
        let problem: String
        if let path = file.path {
            guard path.isEmpty || path.utf8.contains(0) else { return }
            problem = "the path is empty or contains NUL"
        } else {
            guard destination == nil else { return }
            problem = "the download has no path, and there is no destination that names one"
        }
        throw SessionError(.invalidInput, message: problem, url: request.url)
    }
}
