import FoundationEssentials
import SwiftAF

/// The outcome of a run: what was received, and the failure if there is one.
struct Outcome: Sendable {
    var failure: Failure?
    /// What failed besides, such as writing an archive.
    var moreFailures: [Failure] = []
    var response: HTTPResponse?
    /// The URL of the final response; without a response, that of the request.
    var url: String?
    /// The body, if it is in memory.
    var body: Data?
    /// The size of the body in bytes, after decoding.
    var bodyBytes: Int?
    /// The rendered image, printed instead of the body.
    var picture: Data?
    /// Where the body is.
    var destination = Destination.output
    /// The text of the cookies, printed behind everything else.
    var cookies: Data?
    /// The body as JSON, if it is JSON and `--json` was given.
    var json: JSONText?
    var metrics: ResponseMetrics?
    /// The result of `trust`.
    var trust: TrustReport?
    /// Fields that the report of this command has besides the usual ones.
    var addedFields: [(name: String, value: JSONValue)] = []
    /// Whether the run has printed what `--json` prints.
    var isReported = false
    /// The Location of each redirect that was followed, as received.
    var locations: [String] = []
    /// The outcomes of several transfers. All other properties are then empty, except the first failure.
    var parts: [Outcome] = []

    enum Destination: Sendable {
        /// In memory, or printed while it was received.
        case output
        /// In a file.
        ///
        /// - isDownload: Whether the file was the purpose of the command, which then says where it is.
        case file(String, isDownload: Bool)
        /// In a file of an earlier run, which is kept because the server has nothing newer.
        case upToDateFile(String)
        /// In no file, because of the status of the response.
        ///
        /// - isDownload: Whether only a status of 2xx is saved, and no other that is a success.
        case unsaved(isDownload: Bool)
        /// In the cache. `cache show` prints it with its head.
        case cache
    }

    init(failure: Failure? = nil) {
        self.failure = failure
    }

    /// Creates the outcome of a command that only prints text.
    init(text: String) {
        body = Data(text.utf8)
        bodyBytes = text.utf8.count
    }

    /// Creates the outcome of several transfers. It is a failure if one of them failed: the first one, unless the run
    /// was cancelled.
    init(parts: [Outcome]) {
        self.parts = parts
        let failures = parts.compactMap(\.failure)
        failure = failures.first { $0.exit == .cancelled } ?? failures.first
    }

    /// Whether a response was received, or nothing failed.
    var hasReceived: Bool { failure == nil || response != nil || parts.contains(where: \.hasReceived) }

    /// The file that contains the body; nil if it is elsewhere.
    var file: String? {
        switch destination {
        case .file(let path, _), .upToDateFile(let path): path
        case .output, .unsaved, .cache: nil
        }
    }

    var exit: ExitCode { failure?.exit ?? .success }

    /// Adds a failure. The first one decides the exit status; all are printed, each once.
    mutating func add(_ later: Failure) {
        guard later != failure else { return }
        // Of several transfers, each prints its own.
        if failure != nil || !parts.isEmpty { moreFailures.append(later) }
        failure = failure ?? later
    }

    /// For `--json`, parses the body of a response with a JSON content type. Invalid JSON is an error, whatever the
    /// status.
    ///
    /// - Parameter hasBody: Whether a response may have a body, so that an empty one isn't JSON.
    mutating func parseJSON(hasBody: (HTTPResponse) -> Bool) {
        let isWhole = failure.map { [.status, .authentication].contains($0.exit) } ?? true
        guard isWhole, let response, response.mediaType?.isJSON == true, let body, !body.isEmpty || hasBody(response)
        else { return }
        var problem: String?
        do {
            let json = try JSONText(Array(body))
            if json.isTooDeep { problem = "the body is JSON, but nested too deeply to be part of a report" }
            if problem == nil { self.json = json }
        } catch {
            problem = "the body is \(error)"
        }
        // An unacceptable status is the more useful error, so it takes precedence.
        guard let problem, failure == nil else { return }
        failure = Failure(.serialization, .serialization, problem)
    }
}
