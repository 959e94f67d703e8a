import SwiftAF

/// The command given on a command line.
enum Command: Sendable, Equatable {
    case help
    case version
    case demo
    /// Shows the certificates of a server. The value is the argument of `trust`.
    case trust(authority: String)
    case request(RequestCommand)
}

/// A request, as given on the command line.
struct RequestCommand: Sendable, Equatable {
    var method: HTTPMethod
    var url: String
    var items: [Item] = []
    /// Whether items are sent as the parts of a form.
    var isUpload = false
    /// Whether the body is written to a file. If the transfer is interrupted, the bytes received so far are kept.
    var isDownload = false
    /// Whether the response is an image to show.
    var showsPicture = false
    /// The URLs to download in addition to the first.
    var moreURLs: [String] = []

    /// One command per URL.
    var each: [RequestCommand] {
        ([url] + moreURLs).map { url in
            var one = self
            one.url = url
            one.moreURLs = []
            return one
        }
    }
}

/// A parsed command line.
struct Invocation: Sendable {
    /// The command, or the error.
    let command: Result<Command, UsageError>
    /// The options parsed so far, even after an error: `--json` decides how the error is printed.
    let options: Options
}
