import FoundationEssentials
import SwiftAF

/// What a run came to: all that is known, and why it failed if it did.
struct Outcome: Sendable {
    var failure: Failure?
    var response: HTTPResponse?
    /// The URL that answered, or the one that was asked.
    var url: String?
    /// The body, if it is in memory.
    var body: Data?
    /// Bytes of the body after decoding.
    var bodyBytes: Int?
    /// What is printed instead of the body: the picture that it is.
    var picture: Data?
    /// The file that the body is in.
    var file: String?
    /// The body as JSON, if it is and was asked for.
    var json: JSONText?
    var metrics: ResponseMetrics?
    /// What `trust` was asked for.
    var trust: TrustReport?
    /// The Location of each redirect that was followed, as received.
    var locations: [String] = []
    /// Of a run with several transfers: what each came to. The rest is then empty, but for the first failure.
    var parts: [Outcome] = []

    init(failure: Failure? = nil) {
        self.failure = failure
    }

    /// A text that is no answer of a server.
    init(text: String) {
        body = Data(text.utf8)
        bodyBytes = text.utf8.count
    }

    /// Several transfers, which failed if one of them did.
    init(parts: [Outcome]) {
        self.parts = parts
        failure = parts.lazy.compactMap(\.failure).first
    }

    var exit: ExitCode { failure?.exit ?? .success }
}
