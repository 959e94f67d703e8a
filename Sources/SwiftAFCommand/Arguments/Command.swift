import SwiftAF

/// The command given on a command line.
enum Command: Sendable, Equatable {
    /// Prints the help text, or that of a topic.
    case help(topic: String?)
    /// Prints how a command is used: `COMMAND --help`.
    case commandHelp(String)
    case version
    /// Prints a script that completes command lines in a shell.
    case completions(shell: Completions.Shell)
    case demo
    /// Shows the certificates of a server. The value is the argument of `trust`.
    case trust(authority: String)
    /// Shows or changes the stored responses.
    case cache(CacheCommand)
    case request(RequestCommand)
    /// Opens a WebSocket. The request is that of the handshake.
    case socket(RequestCommand)
}

/// A request, as given on the command line.
struct RequestCommand: Sendable, Equatable {
    /// Nil if the command line names none: GET, or POST with a body.
    var method: HTTPMethod?
    var url: String
    var items: [Item] = []
    var purpose = Purpose.exchange
    /// The URLs to download in addition to the first.
    var moreURLs: [String] = []

    enum Purpose: Sendable {
        /// The response is printed, or saved if an option says so.
        case exchange
        /// Items are sent as the parts of a form.
        case upload
        /// The body is written to a file. If the transfer is interrupted, the bytes received so far are kept.
        case download
        /// The response is an image to show.
        case picture
    }

    /// Whether the head of the response is printed even without `--include`: `head` and `options`.
    var showsHead: Bool { purpose == .exchange && (method == .head || method == .options) }

    /// One command per URL.
    var each: [RequestCommand] {
        ([url] + moreURLs).map { url in
            var one = self
            one.url = url
            one.moreURLs = []
            return one
        }
    }

    /// Whether there are body fields, which aren't the parts of a form.
    var hasFields: Bool {
        items.contains { item in
            switch item {
            case .field, .fieldFromFile, .jsonFromFile: true
            default: false
            }
        }
    }

    /// Returns how many headers with this name the items send.
    func count(of name: HTTPHeaders.Name) -> Int {
        items.count { item in
            switch item {
            case .header(let header, _), .headerFromFile(let header, _): ASCII.equalIgnoringCase(name.text, header)
            default: false
            }
        }
    }

    /// Whether an item belongs to the body.
    var hasBodyItem: Bool {
        items.contains { item in
            switch item {
            case .header, .headerFromFile, .removedHeader, .query, .queryFromFile: false
            case .field, .fieldFromFile, .jsonFromFile, .filePart: true
            }
        }
    }
}

/// The command of a command line, or the error in it.
///
/// Not a `Result`, because before the runtime copies the first one, it searches all conformances of the program for
/// that of the error, which takes longer than parsing (Benchmarks/first-byte).
enum ParsedCommand: Sendable, Equatable {
    case success(Command)
    case failure(UsageError)

    /// Returns the command, or throws the error.
    func get() throws(UsageError) -> Command {
        switch self {
        case .success(let command): return command
        case .failure(let error): throw error
        }
    }
}

/// A parsed command line.
struct Invocation: Sendable {
    /// The command, or the error.
    let command: ParsedCommand
    /// The options parsed so far, even after an error: `--json` decides how the error is printed.
    let options: Options
    /// Where secrets are in the arguments, so that they can be hidden from other processes.
    var secrets: [SecretPlace] = []

    /// Whether several files are downloaded.
    var hasSeveralTransfers: Bool {
        if case .success(.request(let request)) = command { !request.moreURLs.isEmpty } else { false }
    }
}
