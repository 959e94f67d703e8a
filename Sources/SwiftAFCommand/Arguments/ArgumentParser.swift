import SwiftAF

/// Parses a command line. A pure function of the arguments.
///
/// Options can be anywhere, as `--name value`, `--name=value`, `-n value` or `-nvalue`. One-letter flags can be
/// combined. After `--`, nothing is parsed as an option.
struct ArgumentParser {
    private var remaining: ArraySlice<RawText>
    private var words: [RawText] = []
    private var options = Options()
    /// The options that were given, as spelled on the command line.
    private var given: [(name: String, entry: OptionEntry)] = []
    private var firstError: UsageError?

    /// Parses the arguments after the program's name.
    static func parse(_ arguments: [String]) -> Invocation {
        parse(arguments.map { RawText($0) })
    }

    /// Parses arguments that may contain invalid UTF-8.
    static func parse(_ arguments: [RawText]) -> Invocation {
        var parser = ArgumentParser(remaining: arguments[...])
        parser.readAll()
        return Invocation(command: parser.command(), options: parser.options)
    }

    private init(remaining: ArraySlice<RawText>) {
        self.remaining = remaining
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
            words += remaining
            remaining = []
        } else if argument.hasPrefix("--") {
            try readLong(argument)
        } else if argument.hasPrefix("-"), argument != "-" {
            try readShort(argument)
        } else {
            words.append(argument)
        }
    }

    private mutating func readLong(_ argument: RawText) throws(UsageError) {
        let parts = argument.bytes.split(
            separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        let name = RawText(parts[0]).shown
        let entry = try take(name)
        switch (entry.placeholder, parts.dropFirst().first) {
        case (nil, nil): try entry.apply(&options, "")
        case (nil, _?): throw UsageError("\(name) takes no value")
        case (_?, let value?): try entry.apply(&options, RawText(value))
        case (_?, nil): try entry.apply(&options, try nextValue(of: name))
        }
    }

    private mutating func readShort(_ argument: RawText) throws(UsageError) {
        var letters = argument.bytes.dropFirst()
        while let letter = letters.popFirst() {
            // Options are ASCII. For any other letter, the error shows the whole argument.
            let name = letter < 0x80 ? "-\(Character(UnicodeScalar(letter)))" : argument.shown
            let entry = try take(name)
            guard entry.placeholder != nil else {
                try entry.apply(&options, "")
                continue
            }
            let value = letters.isEmpty ? try nextValue(of: name) : RawText(letters)
            return try entry.apply(&options, value)
        }
    }

    private mutating func take(_ name: String) throws(UsageError) -> OptionEntry {
        guard let entry = OptionTable.entry(named: name) else { throw UsageError("unknown option \(name.printable)") }
        given.append((name, entry))
        return entry
    }

    private mutating func nextValue(of name: String) throws(UsageError) -> RawText {
        guard let value = remaining.popFirst() else { throw UsageError("\(name) needs a value") }
        return value
    }
}

// MARK: - Words

extension ArgumentParser {
    private static let methods: [String: HTTPMethod] = [
        "get": .get, "head": .head, "delete": .delete, "post": .post, "put": .put, "patch": .patch,
        "options": .options,
    ]

    private func command() -> Result<Command, UsageError> {
        do throws(UsageError) {
            if let firstError { throw firstError }
            return .success(try commandOfWords())
        } catch {
            return .failure(error)
        }
    }

    private func commandOfWords() throws(UsageError) -> Command {
        switch options.information {
        case .help: return .help
        case .version: return .version
        case nil: break
        }
        guard let name = try words.first?.text(of: "the command") else { throw UsageError("a command is missing") }
        guard let kind = CommandKinds(command: name) else { throw UsageError("unknown command '\(name.printable)'") }
        for option in given where !option.entry.commands.isSuperset(of: kind) {
            throw UsageError("\(option.name) can't be used with \(name)")
        }
        guard options.certificatePath != nil || (options.keyPath == nil && options.keyPassword == nil) else {
            throw UsageError("--key and --key-password need --cert")
        }
        return try command(name, words.dropFirst())
    }

    private func command(_ name: String, _ rest: ArraySlice<RawText>) throws(UsageError) -> Command {
        if let method = Self.methods[name] { return .request(try request(method, rest)) }
        switch name {
        case "request":
            guard let method = try rest.first?.text(of: "the method") else {
                throw UsageError("request needs a method and a URL")
            }
            return .request(try request(HTTPMethod(method), rest.dropFirst()))
        case "upload":
            var upload = try request(options.uploadMethod ?? .post, rest)
            upload.isUpload = true
            return .request(upload)
        case "download":
            return .request(try download(rest))
        case "image":
            var picture = try request(.get, rest)
            picture.showsPicture = true
            return .request(picture)
        case "trust":
            return .trust(authority: try authority(rest))
        default:
            guard rest.isEmpty else { throw UsageError("\(name) takes no arguments") }
            return name == "demo" ? .demo : .help
        }
    }

    private func download(_ words: ArraySlice<RawText>) throws(UsageError) -> RequestCommand {
        var more: [String] = []
        for word in words.dropFirst() where Self.isURL(word) { more.append(try word.text(of: "the URL")) }
        var download = try request(.get, words.prefix(1) + words.dropFirst().filter { !Self.isURL($0) })
        download.isDownload = true
        download.moreURLs = more
        let hasBodyItem = download.items.contains { item in
            switch item {
            case .header, .removedHeader, .query: false
            case .field, .fieldFromFile, .filePart: true
            }
        }
        guard !hasBodyItem else { throw UsageError("download sends no body; use request GET URL -o PATH") }
        if options.usesContentDisposition, options.outputPath != nil {
            throw UsageError("-o and --content-disposition can't be combined")
        }
        if options.usesContentDisposition, options.resumes {
            throw UsageError("--resume needs a file name from -o; it can't be combined with --content-disposition")
        }
        try checkNames(of: download)
        return download
    }

    /// Whether the word is a URL rather than a header item. A header named http would look the same, but isn't used.
    private static func isURL(_ word: RawText) -> Bool {
        let scheme = String(decoding: word.bytes.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self).lowercased()
        return ["http", "https"].contains(scheme) && word.bytes.dropFirst(scheme.utf8.count).starts(with: "://".utf8)
    }

    /// Checks that several downloads are named by their URLs or responses, and that all names differ.
    private func checkNames(of download: RequestCommand) throws(UsageError) {
        guard !download.moreURLs.isEmpty else { return }
        guard options.outputPath == nil else {
            throw UsageError("-o can't be used with several URLs")
        }
        guard !options.usesContentDisposition else { return }
        var names: Set<String> = []
        for one in download.each {
            let name = try FileName.of(url: one.url)
            guard names.insert(name).inserted else {
                throw UsageError("two downloads have the same file name '\(name.printable)'")
            }
        }
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

    private func request(_ method: HTTPMethod, _ words: ArraySlice<RawText>) throws(UsageError) -> RequestCommand {
        guard let url = try words.first?.text(of: "the URL") else { throw UsageError("the URL is missing") }
        var request = RequestCommand(method: method, url: url)
        for word in words.dropFirst() { request.items.append(try Item(word)) }
        return request
    }
}
