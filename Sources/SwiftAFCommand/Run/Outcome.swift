import FoundationEssentials
import SwiftAF

/// The outcome of a run: its content, and the failure if there is one.
struct Outcome: Sendable {
    var content = Content.empty
    var failure: Failure?
    /// Further failures, such as of writing an archive.
    var moreFailures: [Failure] = []
    /// Fields that the report of this command has in addition to the usual ones.
    var addedFields: [(name: String, value: JSONValue)] = []
    /// The text of the cookies, printed after everything else.
    var cookies: Data?

    enum Content: Sendable {
        case empty
        /// The outcome of a request, whether or not there was a response.
        case transfer(TransferOutcome)
        /// The text of a command that sends no request.
        case text(String)
        /// The result of `trust`.
        case trust(TrustReport, url: String)
        /// Nothing, because the run has already printed the output of `--json`.
        case printed
        /// The outcomes of several transfers, each with its own failures.
        case parts([Outcome])
    }

    init(_ content: Content = .empty, failure: Failure? = nil) {
        self.content = content
        self.failure = failure
    }

    /// Creates the outcome of several transfers. It is a failure if one of them failed: the first one, unless the run
    /// was cancelled.
    init(parts: [Outcome]) {
        let failures = parts.compactMap(\.failure)
        self.init(.parts(parts), failure: failures.first { $0.exit == .cancelled } ?? failures.first)
    }

    /// The outcome of the only transfer; nil if there is none or there are several.
    var transfer: TransferOutcome? {
        get { if case .transfer(let transfer) = content { transfer } else { nil } }
        set { if let newValue { content = .transfer(newValue) } }
    }

    /// The outcomes of several transfers; otherwise empty.
    var parts: [Outcome] { if case .parts(let parts) = content { parts } else { [] } }

    /// Whether a response was received, or nothing failed.
    var hasReceived: Bool { failure == nil || transfer?.response != nil || parts.contains(where: \.hasReceived) }

    /// Whether the content is complete, although the server may have refused the request.
    var isWhole: Bool { failure.map { [.status, .authentication].contains($0.exit) } ?? true }

    var exit: ExitCode { failure?.exit ?? .success }

    /// Adds a failure. The first one decides the exit status; all are printed, each once.
    mutating func add(_ later: Failure) {
        guard later != failure else { return }
        // Each of several transfers prints its own failure.
        if failure != nil || !parts.isEmpty { moreFailures.append(later) }
        failure = failure ?? later
    }

    /// Adds the failure of writing an output. An earlier failure decides the exit status, unless the run was stopped
    /// meanwhile.
    ///
    /// - Parameter name: The output, as messages name it.
    mutating func add(_ error: WriteError, writing name: String = "standard output") {
        let later = Failure(writing: name, error)
        if case .system = error { add(later) } else { failure = later }
    }

    /// For `--json`, parses the body of a response with a JSON content type. Invalid JSON is an error, whatever the
    /// status.
    ///
    /// - Parameter hasBody: Whether a response may have a body, so that an empty one isn't JSON.
    mutating func parseJSON(hasBody: (HTTPResponse) -> Bool) {
        guard isWhole, let response = transfer?.response, response.mediaType?.isJSON == true,
            let body = transfer?.body, !body.isEmpty || hasBody(response)
        else { return }
        var problem: String?
        do {
            let json = try JSONText(Array(body))
            let (depth, limit) = (json.depth, JSONValue.maximumDepth - 1)
            // The report is one more level around the body, and must not be nested too deeply to be parsed again.
            if depth <= limit {
                transfer?.json = json
            } else {
                problem = "the body is nested \(depth) levels deep: --json reports at most \(limit)"
            }
        } catch {
            problem = "the body is \(error)"
        }
        // An unacceptable status is the more useful error, so it takes precedence.
        guard let problem, failure == nil else { return }
        failure = Failure(.serialization, .serialization, problem)
    }
}

/// The data of a transfer that has ended.
struct TransferOutcome: Sendable {
    var response: HTTPResponse?
    /// The URL of the final response; without a response, that of the request.
    var url: String?
    /// The body, if it is in memory.
    var body: Data?
    /// The size of the body in bytes, after decoding.
    var bodyBytes: Int?
    /// The rendered image, printed instead of the body.
    var picture: Data?
    /// The place of the body.
    var destination = Destination.output
    /// The body as JSON, if it is JSON and `--json` was given.
    var json: JSONText?
    var metrics: ResponseMetrics?
    /// The Location of each redirect that was followed, as received.
    var locations: [String] = []

    enum Destination: Sendable {
        /// In memory, or printed while it was received.
        case output
        /// In a file.
        ///
        /// - isDownload: Whether the file was the purpose of the command, which then reports its path.
        case file(String, isDownload: Bool)
        /// In a file of an earlier run, which is kept because the server has nothing newer.
        case upToDateFile(String)
        /// In no file, because of the status of the response.
        ///
        /// - isDownload: Whether only bodies with status 2xx are saved, not those of other statuses that are a success.
        case unsaved(isDownload: Bool)
        /// In the cache. `cache show` prints it with its head.
        case cache
    }

    /// The file that contains the body; nil if it is elsewhere.
    var file: String? {
        switch destination {
        case .file(let path, _), .upToDateFile(let path): path
        case .output, .unsaved, .cache: nil
        }
    }
}
