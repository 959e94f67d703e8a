public import FoundationEssentials

// Requests are sent as they are, with the manager's headers: the request serializer isn't used.
extension HTTPSessionManager {
    /// Saves the body of a response with status 200 to 299 to a file, if ``validation`` accepts it. The file is created
    /// or replaced atomically once the body is complete; on failure an existing file is left unchanged.
    ///
    /// ```swift
    /// try await manager.download("reports/7", to: "/tmp/report.pdf")
    /// try await manager.download("reports/7", to: .folder("/tmp"))
    /// ```
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
    /// - Parameter sha256: What the file must hash to. Otherwise the download fails with
    ///   ``SessionError/Code/protocol``, and neither the file nor its bytes are kept.
    package func download(
        _ request: HTTPRequest, toBytes path: [UInt8], sha256: [UInt8]? = nil, options: DownloadOptions,
        progress: ProgressHandler?
    ) async throws(SessionError) -> DownloadResponse {
        var spec = DownloadSpec(request, .path(String(decoding: path, as: UTF8.self)), options)
        spec.file.rawPath = path
        spec.file.digest = sha256.map { "sha-256=" + Data($0).base64EncodedString() }
        spec.refusal = request.responseHandler
        return try await download(spec, progress)
    }

    func download(
        _ spec: DownloadSpec, _ progress: ProgressHandler?
    ) async throws(SessionError) -> DownloadResponse {
        let snapshot = snapshot
        let outcome = await (try prepare(spec, snapshot, progress)).outcome()
        RequestEvents.reportFile(of: outcome)
        return try outcome.downloadResponse(snapshot.settings.responses)
    }

    /// Returns the request for the core.
    func prepare(
        _ spec: DownloadSpec, _ snapshot: Snapshot, _ progress: ProgressHandler?
    ) throws(SessionError) -> CoreRequest {
        var spec = spec
        spec.replaceDefault(by: snapshot.settings.downloadDestination)
        let handler = try spec.responseHandler(snapshot.settings.responses)
        return try prepare(spec.request, snapshot, sink: .file(spec.file), naming: handler, progress: progress)
    }
}

/// The request, the file and the options of a download.
struct DownloadSpec: Sendable {
    var request: HTTPRequest
    var file: CoreFile
    /// Names the file if it has no path, or is the manager's.
    var destination: DownloadDestination?
    /// Decides about the response of a download with a path.
    var refusal: ResponseHandler?

    init<Source: RequestConvertible>(_ source: Source, _ destination: DownloadDestination, _ options: DownloadOptions) {
        request = Source.request(of: source)
        file = CoreFile(options: options)
        use(destination)
    }

    private mutating func use(_ destination: DownloadDestination) {
        self.destination = nil
        switch destination.choice {
        case .path(let path):
            file.path = path
        case .resuming(let token):
            file = CoreFile(
                path: token.filePath, options: file.options.union([.resumes, .keepsPartialFile]), token: token)
        case .named, .managerDefault, .invalid:
            self.destination = destination
        }
    }

    /// Replaces the manager's destination by what it is.
    mutating func replaceDefault(by destination: DownloadDestination?) {
        if case .managerDefault = self.destination?.choice, let destination { use(destination) }
    }

    /// Returns the handler that names the file, and refuses a successful response that isn't acceptable before a file
    /// is replaced; nil if the file has a path, and every successful response is acceptable.
    func responseHandler(_ settings: ResponseSettings) throws(SessionError) -> ResponseHandler? {
        let name: (@Sendable (HTTPResponse) -> String)?
        switch destination?.choice {
        case .named(let destination):
            name = destination
        case .invalid(let error):
            throw invalid(error.message)
        case .managerDefault, .path, .resuming:
            throw invalid("the download has no destination: pass one as to:, or set the manager's downloadDestination")
        case nil:
            if let fault = (file.path ?? "").pathFault("the path of the download") { throw invalid(fault) }
            name = nil
        }
        let refusal = refusal
        let validation = settings.validation
        if name == nil, validation.acceptsAllSuccesses { return refusal }
        return { [options = file.options] response in
            if let decision = refusal?(response) {
                guard case .allow = decision else { return decision }
            }
            guard response.isSuccessful else { return .allow }
            // A 206 is the rest of a 200. A retry also resumes if the options only keep the partial file.
            let isRest = response.status == 206 && !options.isDisjoint(with: [.resumes, .keepsPartialFile])
            if let error = validation.error(ofHead: response, status: isRest ? 200 : response.status) {
                return .fail(error)
            }
            return name.map { .download(to: $0(response), options: options) } ?? .allow
        }
    }

    private func invalid(_ problem: String) -> SessionError {
        SessionError(.invalidInput, message: problem, url: request.url)
    }
}
