/// The request, the file and the options of a download.
struct DownloadSpec: Sendable {
    /// Where the body is saved.
    enum Target: Sendable {
        /// At a path.
        case file(CoreFile)
        /// At the path that the closure returns for a response.
        case named(@Sendable (HTTPResponse) -> String)
        /// At the manager's destination.
        case managerDefault
        /// Nowhere: the download fails.
        case invalid(SessionError)

        fileprivate init(_ destination: DownloadDestination, _ options: DownloadOptions) {
            self =
                switch destination.choice {
                case .path(let path): .file(CoreFile(path: path, options: options))
                case .resuming(let token):
                    .file(
                        CoreFile(
                            path: token.filePath, options: options.union([.resumes, .keepsPartialFile]), token: token))
                case .named(let name): .named(name)
                case .managerDefault: .managerDefault
                case .invalid(let error): .invalid(error)
                }
        }
    }

    let request: HTTPRequest
    private let options: DownloadOptions
    private var target: Target
    private var digest: FileDigest?
    /// The program's decision about the response of a download to a given path; nil if all responses are accepted.
    private let refusal: ResponseHandler?

    init<Source: RequestConvertible>(_ source: Source, _ destination: DownloadDestination, _ options: DownloadOptions) {
        request = Source.request(of: source)
        self.options = options
        target = Target(destination, options)
        digest = destination.digest
        refusal = nil
    }

    init(_ request: HTTPRequest, _ file: CoreFile, refusal: ResponseHandler?) {
        self.request = request
        options = file.options
        target = .file(file)
        digest = file.digest
        self.refusal = refusal
    }

    /// The file. Its path is nil if the response or the manager names it.
    var file: CoreFile {
        var file = CoreFile(options: options)
        if case .file(let known) = target { file = known }
        file.digest = digest
        return file
    }

    /// Replaces the target ``Target/managerDefault`` by the manager's destination, if there is one.
    mutating func replaceDefault(by destination: DownloadDestination?) {
        guard case .managerDefault = target, let destination else { return }
        target = Target(destination, options)
        digest = digest ?? destination.digest
    }

    /// Returns the handler that is called with the head of the response. It names the file, and refuses a successful
    /// response that isn't acceptable before a file is replaced. Nil if neither is needed: the file has a path, and
    /// every successful response is acceptable.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` if the request is a HEAD, or the destination is invalid or missing.
    func responseHandler(_ settings: ResponseSettings) throws(SessionError) -> ResponseHandler? {
        guard request.method != .head else {
            throw invalid("a HEAD request can't be downloaded: its response has no body")
        }
        if let fault = digest?.fault { throw invalid(fault) }
        let name: (@Sendable (HTTPResponse) -> String)?
        switch target {
        case .file(let file):
            if let fault = (file.path ?? "").pathFault("the path of the download") { throw invalid(fault) }
            name = nil
        case .named(let destination):
            name = destination
        case .managerDefault:
            throw invalid("the download has no destination: pass one as to:, or set the manager's downloadDestination")
        case .invalid(let error):
            throw invalid(error.message)
        }
        let refusal = refusal
        let validation = settings.validation
        if name == nil, validation.acceptsAllSuccesses { return refusal }
        return { [options = file.options] response in
            if let decision = refusal?(response) {
                guard case .allow = decision else { return decision }
            }
            guard response.isSuccessful else { return .allow }
            // A 206 in response to a resumed download has the rest of a 200's body, so it is validated as a 200. A
            // retry resumes also if the options only keep the partial file.
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
