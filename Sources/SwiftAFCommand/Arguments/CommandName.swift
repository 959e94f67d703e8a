import SwiftAF

/// The kind of a command, which determines the options it accepts.
struct CommandKinds: OptionSet, Sendable {
    let rawValue: Int

    /// get, head, delete, post, put, patch, options, request, and a URL without a command
    static let request = CommandKinds(rawValue: 1)
    static let upload = CommandKinds(rawValue: 2)
    static let download = CommandKinds(rawValue: 4)
    static let image = CommandKinds(rawValue: 8)
    static let trust = CommandKinds(rawValue: 16)
    /// demo, help, completions
    static let tour = CommandKinds(rawValue: 32)
    static let cache = CommandKinds(rawValue: 64)
    static let socket = CommandKinds(rawValue: 128)

    /// The commands that send a request.
    static let transfers: CommandKinds = [.request, .upload, .download, .image]
    /// The commands that send the head of a request.
    static let exchanges: CommandKinds = [.transfers, .socket]
    /// The commands that open connections.
    static let connections: CommandKinds = [.exchanges, .trust]
    static let all: CommandKinds = [.connections, .tour, .cache]
}

/// The command that the words of a command line begin with.
struct CommandName {
    /// The words after it.
    let rest: ArraySlice<RawText>
    let kind: CommandKinds
    /// The name as it is shown in errors.
    let name: String
    let action: Action

    enum Action: Equatable {
        /// Nil if the method follows from the rest.
        case request(HTTPMethod?)
        case upload, download, image, socket, trust, cache, demo, help, completions
    }

    /// The commands that aren't methods.
    private static let others: [String: (CommandKinds, Action)] = [
        "upload": (.upload, .upload), "download": (.download, .download), "image": (.image, .image),
        "ws": (.socket, .socket),
        "trust": (.trust, .trust), "cache": (.cache, .cache), "demo": (.tour, .demo), "help": (.tour, .help),
        "completions": (.tour, .completions),
    ]

    private static let methods: [String: HTTPMethod] = [
        "get": .get, "head": .head, "delete": .delete, "post": .post, "put": .put, "patch": .patch,
        "options": .options,
    ]

    /// All commands, for completions and suggestions.
    static let all = (Array(methods.keys) + ["request"] + Array(others.keys)).sorted()

    /// Reads the command. A word that looks like a URL is a request without a method; a word in capitals before one is
    /// its method.
    init(_ words: ArraySlice<RawText>) throws(UsageError) {
        guard let first = try words.first?.text(of: "the command or URL") else {
            throw UsageError("a command or a URL is missing")
        }
        // A URL isn't shown: it may contain a password.
        name = ShortURL.looksLikeHost(first) ? "a request" : first
        let rest = words.dropFirst()
        if let method = Self.methods[first.lowercased()] {
            (kind, action, self.rest) = (.request, .request(method), rest)
        } else if let (kind, action) = Self.others[first] {
            (self.kind, self.action, self.rest) = (kind, action, rest)
        } else if first == "request" {
            guard let method = try rest.first?.text(of: "the method") else {
                throw UsageError("request needs a method and a URL")
            }
            (kind, action, self.rest) = (.request, .request(HTTPMethod(method)), rest.dropFirst())
        } else if ShortURL.looksLikeHost(first) {
            (kind, action, self.rest) = (.request, .request(nil), words)
        } else if first.allSatisfy({ $0.isASCII && $0.isUppercase || $0 == "-" }),
            let next = rest.first?.text, ShortURL.looksLikeHost(next)
        {
            (kind, action, self.rest) = (.request, .request(HTTPMethod(first)), rest)
        } else {
            throw UsageError(
                "unknown command '\(first.printable)'\(Suggestion.text(for: first, among: Self.all))")
        }
    }
}
