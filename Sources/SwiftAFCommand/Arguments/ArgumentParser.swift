import SwiftAF

/// Reads a command line. Pure: looks at nothing but the arguments.
///
/// Options may stand anywhere, as `--name value`, `--name=value`, `-n value` or `-nvalue`, switches of one letter
/// also together; after `--` nothing is an option.
struct ArgumentParser {
    private var remaining: ArraySlice<String>
    private var words: [String] = []
    private var options = Options()
    private var firstError: UsageError?

    /// Reads the arguments after the program's name.
    static func parse(_ arguments: [String]) -> Invocation {
        var parser = ArgumentParser(remaining: arguments[...])
        parser.readAll()
        return Invocation(command: parser.command(), options: parser.options)
    }

    private init(remaining: ArraySlice<String>) {
        self.remaining = remaining
    }

    /// Goes on after an error, to find a `--json` that may come later.
    private mutating func readAll() {
        while let argument = remaining.popFirst() {
            do throws(UsageError) {
                try read(argument)
            } catch {
                firstError = firstError ?? error
            }
        }
    }

    private mutating func read(_ argument: String) throws(UsageError) {
        if argument == "--" {
            words += remaining
            remaining = []
        } else if argument.utf8.starts(with: "--".utf8) {
            try readLong(argument)
        } else if argument.utf8.first == UInt8(ascii: "-"), argument != "-" {
            try readShort(argument)
        } else {
            words.append(argument)
        }
    }

    private mutating func readLong(_ argument: String) throws(UsageError) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let entry = try entry(named: parts[0])
        switch (entry.placeholder, parts.dropFirst().first) {
        case (nil, nil): try entry.apply(&options, "")
        case (nil, _?): throw UsageError("\(parts[0]) takes no value")
        case (_?, let value?): try entry.apply(&options, value)
        case (_?, nil): try entry.apply(&options, try nextValue(of: parts[0]))
        }
    }

    private mutating func readShort(_ argument: String) throws(UsageError) {
        var letters = argument.dropFirst()
        while let letter = letters.popFirst() {
            let name = "-\(letter)"
            let entry = try entry(named: name)
            guard entry.placeholder != nil else {
                try entry.apply(&options, "")
                continue
            }
            let value = letters.isEmpty ? try nextValue(of: name) : String(letters)
            return try entry.apply(&options, value)
        }
    }

    private func entry(named name: String) throws(UsageError) -> OptionEntry {
        guard let entry = OptionTable.entry(named: name) else { throw UsageError("unknown option \(name)") }
        return entry
    }

    private mutating func nextValue(of name: String) throws(UsageError) -> String {
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
        guard let name = words.first else { throw UsageError("a command is missing") }
        let rest = words.dropFirst()
        guard options.certificatePath != nil || (options.keyPath == nil && options.keyPassword == nil) else {
            throw UsageError("--key and --key-password need --cert")
        }
        guard name == "upload" || options.uploadMethod == nil else {
            throw UsageError("--method is about upload only")
        }
        guard name == "download" || !(options.resumes || options.usesContentDisposition) else {
            throw UsageError("--resume and --content-disposition are about download only")
        }
        if let method = Self.methods[name] { return .request(try request(method, rest)) }
        switch name {
        case "request":
            guard let method = rest.first else { throw UsageError("request needs a method and a URL") }
            return .request(try request(HTTPMethod(method), rest.dropFirst()))
        case "upload":
            var upload = try request(options.uploadMethod ?? .post, rest)
            upload.isUpload = true
            return .request(upload)
        case "download":
            return .request(try download(rest))
        case "image":
            guard options.outputPath == nil else {
                throw UsageError("image shows a picture; get URL -o PATH keeps it")
            }
            var picture = try request(.get, rest)
            picture.showsPicture = true
            return .request(picture)
        case "trust":
            return .trust(authority: try authority(rest))
        case "demo":
            try expectNothing(rest, after: name)
            return .demo
        case "help":
            try expectNothing(rest, after: name)
            return .help
        default:
            throw UsageError("unknown command '\(name)'")
        }
    }

    private func download(_ words: ArraySlice<String>) throws(UsageError) -> RequestCommand {
        let more = words.dropFirst().filter(Self.isURL)
        var download = try request(.get, words.prefix(1) + words.dropFirst().filter { !Self.isURL($0) })
        download.isDownload = true
        download.moreURLs = more
        let hasBodyItem = download.items.contains { item in
            switch item {
            case .header, .removedHeader, .query: false
            case .field, .fieldFromFile, .filePart: true
            }
        }
        guard !hasBodyItem, options.data == nil, !options.sendsForm, !options.sendsParts else {
            throw UsageError("download sends no body; request GET URL -o PATH does")
        }
        if options.usesContentDisposition, options.outputPath != nil {
            throw UsageError("-o names the file or --content-disposition does, not both")
        }
        if options.usesContentDisposition, options.resumes {
            throw UsageError("--resume has to know the file before the answer names it; give it with -o")
        }
        try checkNames(of: download)
        return download
    }

    /// A header called http would look the same, and nobody sends one.
    private static func isURL(_ word: String) -> Bool {
        let scheme = word.prefix { $0 != ":" }.lowercased()
        return ["http", "https"].contains(scheme) && word.dropFirst(scheme.count).hasPrefix("://")
    }

    /// Several files are named by their URLs or by the answers, and no two of them are one.
    private func checkNames(of download: RequestCommand) throws(UsageError) {
        guard !download.moreURLs.isEmpty else { return }
        guard options.outputPath == nil else {
            throw UsageError("-o names one file; of several, each URL names its own")
        }
        guard !options.usesContentDisposition else { return }
        var names: Set<String> = []
        for one in download.each {
            let name = try FileName.of(url: one.url)
            guard names.insert(name).inserted else {
                throw UsageError("two of the downloads would be '\(name.printable)'")
            }
        }
    }

    /// HOST[:PORT], as it stands in a URL.
    private func authority(_ words: ArraySlice<String>) throws(UsageError) -> String {
        guard let authority = words.first, words.count == 1 else { throw UsageError("trust needs HOST[:PORT]") }
        guard !authority.isEmpty, !authority.utf8.contains(where: { "/?#@\\ ".utf8.contains($0) }) else {
            throw UsageError("trust needs HOST[:PORT], and no URL")
        }
        return authority
    }

    private func request(_ method: HTTPMethod, _ words: ArraySlice<String>) throws(UsageError) -> RequestCommand {
        guard let url = words.first else { throw UsageError("the URL is missing") }
        var request = RequestCommand(method: method, url: url)
        for word in words.dropFirst() { request.items.append(try Item(word)) }
        return request
    }

    /// The demonstration and the help are always the same; options other than about the output would do nothing.
    private func expectNothing(_ rest: ArraySlice<String>, after name: String) throws(UsageError) {
        guard rest.isEmpty else { throw UsageError("\(name) takes no arguments") }
        var allowed = Options()
        allowed.printsJSON = options.printsJSON
        guard options == allowed else { throw UsageError("\(name) takes no option but --json") }
    }
}
