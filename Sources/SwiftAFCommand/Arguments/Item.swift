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
        guard let (name, separator, value) = Self.split(argument.bytes) else {
            if argument.bytes.last == UInt8(ascii: ";"), argument.bytes.count > 1 {
                let name = try RawText(argument.bytes.dropLast()).text(of: "the name of a header")
                self = .header(name: name, value: "")
                return
            }
            throw UsageError(
                """
                '\(argument.shown.printable)' isn't a valid item: expected Name:value, name==value, name=value, name:=json, name=@path or \
                name@path
                """)
        }
        guard !name.bytes.isEmpty else { throw UsageError("an item has no name before its '\(separator.rawValue)'") }
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
    static func curlHeader(_ line: RawText) throws(UsageError) -> Item {
        let parts = line.bytes.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        let isBare = parts.count == 1 && line.bytes.last == UInt8(ascii: ";")
        guard parts.count == 2 || isBare, let first = parts.first, !first.isEmpty else {
            throw UsageError("invalid value for --header: expected 'Name: value'")
        }
        let name = try RawText(isBare ? first.dropLast() : first).text(of: "the name of a header")
        let value = RawText((isBare ? [] : parts[1]).drop { $0 == 0x20 || $0 == 0x09 })
        return value.bytes.isEmpty && !isBare ? .removedHeader(name: name) : .header(name: name, value: value)
    }
}
