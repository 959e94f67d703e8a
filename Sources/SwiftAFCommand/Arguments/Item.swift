import SwiftAF

/// A part of a request on the command line, in HTTPie's syntax.
enum Item: Sendable, Equatable {
    /// `Name:value`, `Name;` for an empty value
    case header(name: String, value: RawText)
    /// `Name:@path`
    case headerFromFile(name: String, path: RawText)
    /// `Name:`
    case removedHeader(name: String)
    /// `name==value`
    case query(name: String, value: String)
    /// `name==@path`
    case queryFromFile(name: String, path: RawText)
    /// `name=value`, `name:=json`
    case field(name: RawText, value: FieldValue)
    /// `name=@path`
    case fieldFromFile(name: RawText, path: RawText)
    /// `name:=@path`
    case jsonFromFile(name: RawText, path: RawText)
    /// `name@path`, `name@path;type=image/png;filename=a.png`
    case filePart(name: RawText, FilePart)

    /// Parses an item. The first separator applies; of several that start at the same position, the longest. A
    /// backslash escapes a separator; before anything else it is an ordinary character.
    init(_ argument: RawText) throws(UsageError) {
        try Self.refuseJSON(argument)
        guard let (name, separator, value) = Self.split(argument.bytes) else {
            if argument.bytes.last == UInt8(ascii: ";"), argument.bytes.count > 1 {
                let name = try RawText(argument.bytes.dropLast()).text(of: "the name of a header")
                self = .header(name: name, value: "")
                return
            }
            throw UsageError(
                """
                '\(argument.shown.printable)' isn't a valid item: expected Name:value, name==value, name=value, \
                name:=json, name=@path or name@path
                """)
        }
        guard !name.bytes.isEmpty else { throw UsageError("an item has no name before its '\(separator.rawValue)'") }
        if value == "-" { try Self.refuseStandardInput(of: name, separator) }
        switch separator {
        case .header:
            let name = try name.text(of: "the name of a header")
            self = value.bytes.isEmpty ? .removedHeader(name: name) : .header(name: name, value: value)
        case .query:
            self = .query(
                name: try name.text(of: "the name of a query item"),
                value: try value.text(of: "the value of the query item '\(name.shown)'"))
        case .text: self = .field(name: name, value: .text(value))
        case .json: self = .field(name: name, value: .json(try JSONText(value, of: name)))
        case .jsonFile: self = .jsonFromFile(name: name, path: value)
        case .headerFile:
            self = .headerFromFile(name: try name.text(of: "the name of a header"), path: value)
        case .queryFile:
            self = .queryFromFile(name: try name.text(of: "the name of a query item"), path: value)
        case .textFile: self = .fieldFromFile(name: name, path: value)
        case .file: self = .filePart(name: name, try FilePart(value, of: name))
        }
    }

    private enum Separator: String, CaseIterable {
        // Longer separators first, so that ":=" isn't parsed as a header whose value begins with "=".
        case jsonFile = ":=@"
        case queryFile = "==@"
        case headerFile = ":@"
        case json = ":="
        case query = "=="
        case textFile = "=@"
        case header = ":"
        case text = "="
        case file = "@"
    }

    /// Refuses `-` as the file of an item: that would be a file of this name.
    private static func refuseStandardInput(of name: RawText, _ separator: Separator) throws(UsageError) {
        let name = name.shown.printable
        let use: String
        switch separator {
        case .header, .json, .query, .text: return
        case .file: use = "-F '\(name)=@-' sends it as a part"
        case .textFile: use = "-d @- sends it as the body, -F '\(name)=<-' as a field of a form"
        case .jsonFile, .queryFile, .headerFile: use = "-d @- sends it as the body"
        }
        throw UsageError("'\(name)\(separator.rawValue)-' doesn't take standard input: \(use); ./- is a file")
    }

    /// Refuses JSON as an item: by its first colon it would be a header. It isn't shown, because it may contain a
    /// secret.
    private static func refuseJSON(_ word: RawText) throws(UsageError) {
        guard let first = word.bytes.first, "{[".utf8.contains(first) else { return }
        // `[]=value` is an item.
        let isObject =
            first == UInt8(ascii: "{") && word.bytes.dropFirst().first.map { " \n\"".utf8.contains($0) } == true
        guard isObject || (try? JSONText(word.bytes)) != nil else { return }
        throw UsageError(
            "JSON isn't an item: -d DATA Content-Type:application/json sends it; --json takes no value")
    }

    /// Refuses words whose first one is an item, or JSON, if a URL follows.
    static func refuseBeforeURL(_ words: ArraySlice<RawText>) throws(UsageError) {
        guard let first = words.first else { return }
        try refuseJSON(first)
        guard words.dropFirst().contains(where: { $0.text.map(ShortURL.looksLikeHost) ?? false }) else { return }
        try refuse(first)
    }

    /// Refuses an item in place of a URL.
    static func refuse(_ word: RawText) throws(UsageError) {
        guard let (name, separator, _) = split(word.bytes), !name.bytes.isEmpty,
            !(word.text.map(ShortURL.looksLikeHost) ?? false)
        else { return }
        // The value may be a secret.
        throw UsageError("'\(name.shown.printable)\(separator.rawValue)…' isn't a URL: items come after the URL")
    }

    private static func split(_ bytes: [UInt8]) -> (name: RawText, separator: Separator, value: RawText)? {
        var name: [UInt8] = []
        var position = 0
        while position < bytes.count {
            let rest = bytes[position...]
            if let separator = Separator.allCases.first(where: { rest.starts(with: $0.rawValue.utf8) }) {
                let value = unescape(rest.dropFirst(separator.rawValue.utf8.count))
                return (RawText(name), separator, value)
            }
            position += appendUnescaped(rest, to: &name)
        }
        return nil
    }

    private static func unescape(_ bytes: ArraySlice<UInt8>) -> RawText {
        var text: [UInt8] = []
        var position = bytes.startIndex
        while position < bytes.endIndex {
            position += appendUnescaped(bytes[position...], to: &text)
        }
        return RawText(text)
    }

    /// Appends the first character and returns the number of bytes consumed. A backslash consumes the next byte as
    /// well, so the second of two backslashes doesn't escape anything.
    private static func appendUnescaped(_ bytes: ArraySlice<UInt8>, to text: inout [UInt8]) -> Int {
        let pair = bytes.prefix(2)
        guard pair.first == UInt8(ascii: "\\"), pair.count == 2, let second = pair.last else {
            text += pair.prefix(1)
            return 1
        }
        text += ":=@".utf8.contains(second) ? pair.suffix(1) : pair
        return 2
    }
}

extension Item {
    /// The same item in the query, if it is a field.
    var inQuery: Item {
        get throws(UsageError) {
            switch self {
            case .header, .headerFromFile, .removedHeader, .query, .queryFromFile: return self
            case .field(let name, .text(let value)):
                let name = try name.text(of: "the name of a query item")
                return .query(name: name, value: try value.text(of: "the value of the query item '\(name)'"))
            case .fieldFromFile(let name, let path):
                return .queryFromFile(name: try name.text(of: "the name of a query item"), path: path)
            case .field(let name, .json), .jsonFromFile(let name, _), .filePart(let name, _):
                throw UsageError(
                    "-G sends fields in the query, which takes text only: '\(name.shown.printable)' is JSON or a file")
            }
        }
    }

    /// The same item with the home folder in place of a `~/` that its path begins with.
    func expandingHome(_ environment: @autoclosure () -> [String: String]) -> Item {
        switch self {
        case .header, .removedHeader, .query, .field: return self
        case .headerFromFile(let name, let path):
            return .headerFromFile(name: name, path: path.expandingHome(environment()))
        case .queryFromFile(let name, let path):
            return .queryFromFile(name: name, path: path.expandingHome(environment()))
        case .fieldFromFile(let name, let path):
            return .fieldFromFile(name: name, path: path.expandingHome(environment()))
        case .jsonFromFile(let name, let path):
            return .jsonFromFile(name: name, path: path.expandingHome(environment()))
        case .filePart(let name, var part):
            switch part.source {
            case .file(let path): part.source = .file(path.expandingHome(environment()))
            case .textOfFile(let path): part.source = .textOfFile(path.expandingHome(environment()))
            case .standardInput, .textOfInput, .text: break
            }
            return .filePart(name: name, part)
        }
    }
}

extension JSONText {
    /// Parses the value of a body field.
    init(_ text: RawText, of name: RawText) throws(UsageError) {
        do {
            try self.init(text.bytes)
        } catch {
            throw UsageError("the value of '\(name.shown.printable)' is \(error)")
        }
    }
}

/// The value of a body field.
enum FieldValue: Sendable, Equatable, ExpressibleByStringLiteral {
    case text(RawText)
    case json(JSONText)

    init(stringLiteral text: String) {
        self = .text(RawText(text))
    }
}

// MARK: - curl's spellings

extension Item {
    /// Parses the value of `-H`: `Name: value`, `Name:` to remove a default header, or `Name;` for an empty value.
    static func curlHeader(_ line: RawText, of option: String) throws(UsageError) -> Item {
        guard line.bytes.first != UInt8(ascii: "@") else {
            throw UsageError(
                "invalid value for \(option): a file of headers isn't read; 'Name:@PATH' reads one header's value")
        }
        let parts = line.bytes.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        let isBare = parts.count == 1 && line.bytes.last == UInt8(ascii: ";")
        guard parts.count == 2 || isBare, let first = parts.first, !first.isEmpty else {
            throw UsageError("invalid value for \(option): expected 'Name: value'")
        }
        let name = try RawText(isBare ? first.dropLast() : first).text(of: "the name of a header")
        let value = RawText((isBare ? [] : parts[1]).drop { $0 == 0x20 || $0 == 0x09 })
        return value.bytes.isEmpty && !isBare ? .removedHeader(name: name) : .header(name: name, value: value)
    }
}
