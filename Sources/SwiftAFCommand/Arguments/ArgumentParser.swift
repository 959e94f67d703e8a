import SwiftAF

/// Parses a command line. A pure function of the arguments.
///
/// Options can be anywhere, as `--name value`, `--name=value`, `-n value` or `-nvalue`. One-letter flags can be
/// combined. After `--`, nothing is parsed as an option.
struct ArgumentParser {
    private let arguments: [RawText]
    private var remaining: ArraySlice<RawText>
    private var words: [RawText] = []
    private var options = Options()
    private var secrets: [SecretPlace] = []
    /// The options that were given, as spelled on the command line.
    private var given: [(name: String, entry: OptionEntry)] = []
    private var firstError: UsageError?
    /// The option whose value is a URL: if the command has none, the option's own value was forgotten.
    private var optionBeforeURL: String?

    /// Parses the arguments after the program's name.
    static func parse(_ arguments: [String]) -> Invocation {
        parse(arguments.map { RawText($0) })
    }

    /// Parses arguments that may contain invalid UTF-8.
    static func parse(_ arguments: [RawText]) -> Invocation {
        var parser = ArgumentParser(arguments)
        parser.readAll()
        // Made first, because it may change the options.
        let command = parser.command()
        return Invocation(command: command, options: parser.options, secrets: parser.secrets)
    }

    private init(_ arguments: [RawText]) {
        self.arguments = arguments
        remaining = arguments[...]
    }

    /// Continues after an error, because a later `--json` decides how the error is printed.
    private mutating func readAll() {
        while let argument = remaining.popFirst() {
            do throws(UsageError) {
                try read(argument)
            } catch {
                firstError = firstError ?? error
            }
        }
    }

    private mutating func read(_ argument: RawText) throws(UsageError) {
        if argument == "--" {
            while let word = remaining.popFirst() { readWord(word) }
        } else if isTopic(argument) {
            words.append(argument)
        } else if argument.hasPrefix("--") {
            try readLong(argument)
        } else if argument.hasPrefix("-"), argument != "-" {
            try readShort(argument)
        } else {
            readWord(argument)
        }
    }

    /// Returns whether an option is the topic of `help`.
    private func isTopic(_ argument: RawText) -> Bool {
        words == ["help"] && argument != "--json" && argument.text.flatMap(OptionTable.entry) != nil
    }

    private mutating func readWord(_ word: RawText) {
        words.append(word)
        if noteSecret(.field, in: word) { return }
        guard let at = word.bytes.firstIndex(of: UInt8(ascii: "@")) else { return }
        // With a password, also where it isn't seen to be a URL: mistyped ones contain it too.
        let hasPassword = word.bytes[..<at].contains(UInt8(ascii: ":"))
        guard hasPassword || word.text.map(ShortURL.looksLikeHost) ?? false else { return }
        noteSecret(.userInfo, in: word)
    }

    /// The number of the argument that is being read.
    private var index: Int { remaining.startIndex - 1 }

    /// Notes the secret in a value, which is the end of the argument that was read last.
    @discardableResult
    private mutating func noteSecret(_ part: SecretPart, in value: RawText) -> Bool {
        guard let offset = part.offset(in: value) else { return false }
        secrets.append(
            SecretPlace(argument: index, offset: max(0, arguments[index].bytes.count - value.bytes.count) + offset))
        return true
    }

    /// Applies the value of an option, and notes its place if it may be a secret.
    private mutating func apply(_ entry: OptionEntry, _ value: RawText, _ name: String) throws(UsageError) {
        noteSecret(entry.secretPart, in: value)
        try entry.apply(&options, value, name)
    }

    private mutating func readLong(_ argument: RawText) throws(UsageError) {
        let parts = argument.bytes.split(
            separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        let name = RawText(parts[0]).shown
        let entry = try take(name)
        switch (entry.placeholder, parts.dropFirst().first) {
        case (nil, nil): try entry.apply(&options, "", name)
        case (nil, _?): throw UsageError("\(name) takes no value")
        case (_?, nil) where entry.hasOptionalValue: try entry.apply(&options, "", name)
        case (_?, let value?): try apply(entry, RawText(value), name)
        case (_?, nil): try apply(entry, try nextValue(of: name), name)
        }
    }

    private mutating func readShort(_ argument: RawText) throws(UsageError) {
        var letters = argument.bytes.dropFirst()
        while let letter = letters.popFirst() {
            // Options are ASCII. For any other letter, the error shows the whole argument.
            let name = letter < 0x80 ? "-\(Character(UnicodeScalar(letter)))" : argument.shown
            let entry = try take(name)
            guard entry.placeholder != nil, !entry.hasOptionalValue else {
                try entry.apply(&options, "", name)
                continue
            }
            let value = letters.isEmpty ? try nextValue(of: name) : RawText(letters)
            return try apply(entry, value, name)
        }
    }

    private mutating func take(_ name: String) throws(UsageError) -> OptionEntry {
        guard let entry = OptionTable.entry(named: name) else {
            let advice = ForeignOption.text(for: name)
            let isMistyped = advice.isEmpty && name.hasPrefix("--")
            let suggestion = isMistyped ? Suggestion.text(for: name, among: OptionTable.longNames) : advice
            throw UsageError("unknown option \(name.printable)\(suggestion)")
        }
        given.append((name, entry))
        return entry
    }

    private mutating func nextValue(of name: String) throws(UsageError) -> RawText {
        guard let value = remaining.popFirst() else { throw UsageError("\(name) needs a value") }
        let scheme = ShortURL.scheme(of: value.bytes)
        if let scheme, ["http", "https", "ws", "wss"].contains(scheme) { optionBeforeURL = name }
        return value
    }
}

// MARK: - Words

extension ArgumentParser {
    private mutating func command() -> ParsedCommand {
        do throws(UsageError) {
            if let firstError { throw firstError }
            return .success(try commandOfWords())
        } catch {
            return .failure(error)
        }
    }

    private mutating func commandOfWords() throws(UsageError) -> Command {
        switch options.information {
        case .help: return help
        case .version: return .version
        case nil: break
        }
        guard let first = words.first else { throw missing("a command or a URL") }
        let command = try CommandName(first, of: words[...])
        let isDownload = options.savesLikeDownload && command.kind == .request
        for option in given where !option.entry.commands.isSuperset(of: command.kind) {
            let isForDownloads = option.entry.commands.isSuperset(of: .download)
            if isDownload, isForDownloads { continue }
            guard command.kind != .request || !isForDownloads else {
                let output = [.resume, .curlResume].contains(option.entry.id) ? "-O, -o PATH" : "-O"
                throw UsageError("\(option.name) needs \(output) or the command download")
            }
            let isMethodOfUpload = command.kind == .upload && option.entry.id == .request
            let advice = isMethodOfUpload ? "; --method METHOD can" : ""
            throw UsageError("\(option.name) can't be used with \(command.name.printable)\(advice)")
        }
        try OptionConflicts(given: given, options: options).refuse(isDownload: isDownload)
        // Noted because HTTPie uses this letter for forms.
        options.usesFailLetter = given.contains { $0.entry.id == .fail && $0.name != OptionID.fail.rawValue }
        let made = try self.command(command)
        switch made {
        case .request(let request), .socket(let request):
            try OptionConflicts(given: given, options: options).refuse(in: request)
        default: break
        }
        return made
    }

    /// The command for `--help`: the help of the command in the line, or the whole help.
    private var help: Command {
        guard let word = words.first?.text?.lowercased(), word != "help", CommandName.kind(of: word) != nil else {
            return .help(topic: nil)
        }
        return .commandHelp(word)
    }

    private mutating func command(_ command: CommandName) throws(UsageError) -> Command {
        let rest = command.rest
        switch command.action {
        case .request(let method):
            let method = try self.method(named: method, by: command.name)
            if options.savesLikeDownload {
                guard method == nil || method == .get else {
                    throw UsageError(
                        "-O and --resume send GET; -o PATH and -P DIR save the response to any method")
                }
                return .request(try download(rest))
            }
            let request = try request(method, rest)
            if options.printsHeadOnly, request.method != .head, options.parts == nil {
                options.parts = .responseHead
                options.savesHeadOnly = true
            }
            return .request(request)
        case .upload:
            var upload = try request(options.uploadMethod ?? .post, rest)
            upload.purpose = .upload
            options.bodyFormat = .multipart
            return .request(upload)
        case .download:
            return .request(try download(rest))
        case .image:
            var picture = try request(.get, rest)
            picture.purpose = .picture
            return .request(picture)
        case .socket:
            return .socket(try socket(rest))
        case .trust:
            return .trust(authority: try authority(rest))
        case .cache:
            return .cache(try CacheCommand(rest))
        case .help:
            var topic: [String] = []
            for word in rest { topic.append(try word.text(of: "the topic")) }
            return .help(topic: topic.isEmpty ? nil : topic.joined(separator: " "))
        case .completions:
            guard let shell = rest.first.flatMap({ Completions.Shell(rawValue: $0.shown) }), rest.count == 1 else {
                throw UsageError("completions needs the name of a shell: bash, zsh or fish")
            }
            return .completions(shell: shell)
        case .demo:
            guard rest.isEmpty else { throw UsageError("demo takes no arguments") }
            return .demo
        }
    }

    /// Returns the method of a request; nil if it follows from the body.
    private func method(named method: HTTPMethod?, by name: String) throws(UsageError) -> HTTPMethod? {
        if let given = options.method {
            let option = self.given.last { $0.entry.id == .request }?.name ?? "-X"
            // Checked late: if a URL was taken for the method, the error about a missing URL is more helpful.
            let checked = try Argument.method(given.rawValue, of: option)
            guard method == nil || method == checked else {
                throw UsageError(
                    "\(option) \(checked.rawValue) can't be used with \(name.printable), which names the method"
                )
            }
            return checked
        }
        if options.putsFile { return method ?? .put }
        return options.printsHeadOnly ? .head : method
    }

    private mutating func socket(_ words: ArraySlice<RawText>) throws(UsageError) -> RequestCommand {
        var socket = try request(.get, words, isSocket: true)
        guard !socket.hasBodyItem else {
            throw UsageError("ws sends no body: the lines of standard input are messages")
        }
        if let scheme = ShortURL.scheme(of: socket.url), ["ws", "wss"].contains(scheme) {
            socket.url = (scheme == "ws" ? "http" : "https") + socket.url.dropFirst(scheme.count)
        }
        options.ignoresInput = true
        return socket
    }

    private static func isOfSocket(_ url: String) -> Bool {
        ShortURL.scheme(of: url).map(["ws", "wss"].contains) ?? false
    }

    private mutating func download(_ words: ArraySlice<RawText>) throws(UsageError) -> RequestCommand {
        guard !words.isEmpty else {
            throw missing("the URL", advice: "xargs swiftaf download -P DIR < FILE takes URLs from a file")
        }
        var more: [String] = []
        for word in words.dropFirst() where Self.isURL(word) { more.append(try word.text(of: "the URL")) }
        var download = try request(.get, words.prefix(1) + words.dropFirst().filter { !Self.isURL($0) })
        download.purpose = .download
        download.moreURLs = more.map { ShortURL.complete($0) }
        guard !download.hasBodyItem, options.data == nil else {
            throw UsageError("download sends no body; use request GET URL -o PATH")
        }
        try OptionConflicts(given: given, options: options).refuse(besideDownload: download)
        try checkNames(of: download)
        return download
    }

    /// An error about a missing word. The URL that an option has taken isn't shown: it may contain a password.
    private func missing(_ what: String, advice: String? = nil) -> UsageError {
        let taken = optionBeforeURL.map { "the URL behind \($0) is its value" }
        return UsageError("\(what) is missing" + ((taken ?? advice).map { "; \($0)" } ?? ""))
    }

    /// Whether the word is a URL rather than an item, which has a name and a separator.
    private static func isURL(_ word: RawText) -> Bool {
        guard !hasHTTPScheme(word) else { return true }
        guard let text = word.text else { return false }
        let canBeItem = word.bytes.dropFirst().contains { ":=@;".utf8.contains($0) }
        return word.hasPrefix(":") || !canBeItem ? ShortURL.looksLikeHost(text) : ShortURL.hasPort(text)
    }

    private static func hasHTTPScheme(_ word: RawText) -> Bool {
        ShortURL.scheme(of: word.bytes).map(["http", "https"].contains) ?? false
    }

    /// Checks that several downloads are named by their URLs or responses, and that all names differ. ``WrittenPaths``
    /// compares the files.
    private func checkNames(of download: RequestCommand) throws(UsageError) {
        guard !download.moreURLs.isEmpty else { return }
        guard !options.usesContentDisposition else { return }
        var names: Set<String> = []
        for one in download.each {
            let name = try FileName.of(url: one.url, isOneOfSeveral: true)
            guard names.insert(name).inserted else {
                throw UsageError("two downloads have the same file name '\(name.printable)'")
            }
        }
    }

    private mutating func moveData(to request: inout RequestCommand) throws(UsageError) {
        request.method = request.method ?? .get
        guard let data = options.data else { return }
        // The files are read when the request is built.
        if case .texts = data { return }
        guard case .text(let query) = data else { throw UsageError("-G takes text from -d, not a file") }
        request.url = CoreURL.append(query: try query.queryText(of: "the value of --data"), to: request.url)
        options.data = nil
    }

    /// Makes the fields of `-G` items of the query.
    private func moveFields(of request: inout RequestCommand) throws(UsageError) {
        guard options.bodyFormat != .multipart else { throw UsageError("-G can't be combined with a form of parts") }
        var items: [Item] = []
        for item in request.items { items.append(try item.inQuery) }
        request.items = items
    }

    /// Adds the name of the file of `-T` to a URL whose path is a folder's, as curl does.
    private static func complete(_ url: String, with path: RawText) -> String {
        let name = RawText(path.bytes.split(separator: UInt8(ascii: "/")).last ?? [])
        // A path that ends with a dot segment ends with a slash when it is sent (RFC 3986 5.2.4).
        guard ["", ".", ".."].contains(URLText(url).lastSegment) else { return url }
        let end = url.utf8.firstIndex { "?#".utf8.contains($0) } ?? url.endIndex
        let path = url[..<end]
        // An unescaped question mark would begin the query.
        let segment = name.percentEncoded.replacing("?", with: "%3F")
        return path + (path.hasSuffix("/") ? "" : "/") + segment + url[end...]
    }

    /// Parses HOST[:PORT], as in a URL.
    private func authority(_ words: ArraySlice<RawText>) throws(UsageError) -> String {
        guard let authority = try words.first?.text(of: "the host"), words.count == 1 else {
            throw UsageError("trust needs HOST[:PORT]")
        }
        guard !authority.isEmpty, !authority.utf8.contains(where: { "/?#@\\ ".utf8.contains($0) }) else {
            throw UsageError("trust needs HOST[:PORT], not a URL")
        }
        return authority
    }

    private mutating func request(
        _ method: HTTPMethod?, _ words: ArraySlice<RawText>, isSocket: Bool = false
    ) throws(UsageError) -> RequestCommand {
        try Item.refuseBeforeURL(words)
        guard let url = try words.first?.text(of: "the URL") else { throw missing("the URL") }
        guard isSocket || !Self.isOfSocket(url) else {
            throw UsageError("a URL with ws or wss is that of a WebSocket, which the command ws opens: swiftaf ws URL")
        }
        var request = RequestCommand(method: method, url: ShortURL.complete(url, isURL: true))
        if options.putsDataInQuery { try moveData(to: &request) }
        if options.putsFile, case .file(let path)? = options.data {
            request.url = Self.complete(request.url, with: path)
        }
        for word in words.dropFirst() {
            // A header named http would look the same, but doesn't exist in practice.
            guard !Self.hasHTTPScheme(word) else {
                throw UsageError("a second URL is given; only download takes several, and items come after the URL")
            }
            request.items.append(try Item(word))
        }
        request.items += options.items
        if options.putsDataInQuery { try moveFields(of: &request) }
        return request
    }
}
