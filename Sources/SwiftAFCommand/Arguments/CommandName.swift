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
    static let local = CommandKinds(rawValue: 32)
    static let cache = CommandKinds(rawValue: 64)
    static let socket = CommandKinds(rawValue: 128)

    /// The commands that send a request.
    static let transfers: CommandKinds = [.request, .upload, .download, .image]
    /// The commands that send the head of a request.
    static let exchanges: CommandKinds = [.transfers, .socket]
    /// The commands that open connections.
    static let connections: CommandKinds = [.exchanges, .trust]
    static let all: CommandKinds = [.connections, .local, .cache]
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
        /// A request; nil if its method depends on the other arguments.
        case request(HTTPMethod?)
        case upload, download, image, socket, trust, cache, demo, help, completions
    }

    /// The commands, as they are typed.
    private enum Word: String, CaseIterable {
        case get, head, delete, post, put, patch, options, request
        case upload, download, image, ws, trust, cache, demo, help, completions

        /// Compares with one word after the other, because the table that `init(rawValue:)` makes at its first call
        /// takes as long as parsing the rest of the command line (Benchmarks/first-byte).
        init?(_ text: String) {
            guard let word = Self.allCases.first(where: { $0.rawValue == text }) else { return nil }
            self = word
        }

        /// The method of the command; nil if it isn't a method.
        var method: HTTPMethod? {
            switch self {
            case .get: .get
            case .head: .head
            case .delete: .delete
            case .post: .post
            case .put: .put
            case .patch: .patch
            case .options: .options
            default: nil
            }
        }

        /// The kind and the action of a command other than a method or `request`; nil for those.
        var other: (CommandKinds, Action)? {
            switch self {
            case .upload: (.upload, .upload)
            case .download: (.download, .download)
            case .image: (.image, .image)
            case .ws: (.socket, .socket)
            case .trust: (.trust, .trust)
            case .cache: (.cache, .cache)
            case .demo: (.local, .demo)
            case .help: (.local, .help)
            case .completions: (.local, .completions)
            default: nil
            }
        }
    }

    /// All commands, for completions and suggestions.
    static let all = Word.allCases.map(\.rawValue).sorted()

    /// Returns the kind of a command; nil for any other word.
    static func kind(of word: String) -> CommandKinds? {
        Word(word).map { $0.other?.0 ?? .request }
    }

    /// Reads the command. A word that looks like a URL is a request without a method; a word before one is its method.
    init(_ word: RawText, of words: ArraySlice<RawText>) throws(UsageError) {
        let first = try word.text(of: "the command or URL")
        // A URL isn't shown: it may contain a password.
        if ShortURL.looksLikeHost(first) {
            (name, kind, action, rest) = ("a request", .request, .request(nil), words)
            return
        }
        name = first
        let rest = words.dropFirst()
        if let method = Word(first.lowercased())?.method {
            (kind, action, self.rest) = (.request, .request(method), rest)
        } else if let (kind, action) = Word(first)?.other {
            (self.kind, self.action, self.rest) = (kind, action, rest)
        } else if first == Word.request.rawValue {
            guard let method = try rest.first?.text(of: "the method") else {
                throw UsageError("request needs a method and a URL")
            }
            guard !Self.isURL(method, before: rest.dropFirst()) else {
                throw UsageError("the method is missing: request METHOD URL")
            }
            (kind, action, self.rest) = (.request, .request(HTTPMethod(method)), rest.dropFirst())
        } else {
            try Item.refuseBeforeURL(words)
            // Not shown, because it may be a mistyped URL with a password.
            guard !first.utf8.contains(UInt8(ascii: "@")) else {
                throw UsageError("the first word is neither a command nor a URL with a host: expected https://HOST")
            }
            guard !Self.isIncompleteURL(first) else {
                throw UsageError("'\(first.printable)' isn't a URL with a host: expected http://HOST or https://HOST")
            }
            try Item.refuse(RawText(first))
            let suggestion =
                first == "version"
                ? "; --version prints the versions" : Suggestion.text(for: first, among: Self.all)
            guard let next = rest.first?.text, ShortURL.looksLikeHost(next),
                let method = Self.method(first, isMistyped: !suggestion.isEmpty)
            else { throw UsageError("unknown command '\(first.printable)'\(suggestion)") }
            (kind, action, self.rest) = (.request, .request(method), rest)
        }
    }

    /// Whether a word begins like a URL, but its slashes or its scheme are missing.
    private static func isIncompleteURL(_ word: String) -> Bool {
        let start = ASCII.lowercased(word).utf8
        return ["//", "http:", "https:"].contains { start.starts(with: $0.utf8) }
    }

    /// Whether the word in the place of a method is the URL. A name with a dot can be either.
    private static func isURL(_ word: String, before rest: ArraySlice<RawText>) -> Bool {
        guard ShortURL.looksLikeHost(word) else { return false }
        let isUnmistakable = word.utf8.contains { "/:".utf8.contains($0) }
        return isUnmistakable || !(rest.first?.text.map(ShortURL.looksLikeHost) ?? false)
    }

    /// Returns the method that a word before a URL names, in any case; nil if it isn't one. A word that resembles a
    /// command is more likely a mistyped one, unless it is in capitals.
    private static func method(_ word: String, isMistyped: Bool) -> HTTPMethod? {
        let method = word.uppercased()
        guard word.utf8.allSatisfy({ $0 == UInt8(ascii: "-") || ASCII.isLetter($0) }),
            !isMistyped || method == word
        else { return nil }
        return HTTPMethod(method)
    }
}
