import SwiftAF

/// What a command line asks for.
enum Command: Sendable, Equatable {
    case help
    case version
    case demo
    /// What a server shows of itself; the words behind `trust`.
    case trust(authority: String)
    case request(RequestCommand)
}

/// A request as it is written on the command line.
struct RequestCommand: Sendable, Equatable {
    var method: HTTPMethod
    var url: String
    var items: [Item] = []
    /// Items go as the parts of a form.
    var isUpload = false
    /// The body goes to a file, and what has come of it stays if it breaks off.
    var isDownload = false
    /// The answer is a picture to be shown.
    var showsPicture = false
    /// Further URLs to download, as the first one.
    var moreURLs: [String] = []

    /// One command for each URL.
    var each: [RequestCommand] {
        ([url] + moreURLs).map { url in
            var one = self
            one.url = url
            one.moreURLs = []
            return one
        }
    }
}

/// A command line, read.
struct Invocation: Sendable {
    /// What is asked for, or what is wrong.
    let command: Result<Command, UsageError>
    /// The options that could be read, also when something is wrong: `--json` decides how to say so.
    let options: Options
}
