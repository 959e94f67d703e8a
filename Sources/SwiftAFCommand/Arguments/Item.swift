import SwiftAF

/// A part of a request on the command line, in HTTPie's syntax.
enum Item: Sendable, Equatable {
    /// `Name:value`
    case header(name: String, value: RawText)
    /// `Name:`
    case removedHeader(name: String)
    /// `name==value`
    case query(name: String, value: String)
    /// `name=value`, `name:=json`
    case field(name: RawText, value: FieldValue)
    /// `name=@path`
    case fieldFromFile(name: RawText, path: RawText)
    /// `name@path`, `name@path;type=image/png;filename=a.png`
    case filePart(name: RawText, FilePart)

    /// Parses an item. The first separator applies; of several that start at the same position, the longest. A
    /// backslash escapes a separator; before anything else it is an ordinary character.
    init(_ argument: RawText) throws(UsageError) {
        guard let (name, separator, value) = Self.split(argument.bytes) else {
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
        case .json: self = .field(name: name, value: .json(try Self.json(value, of: name)))
        case .textFile: self = .fieldFromFile(name: name, path: value)
        case .file: self = .filePart(name: name, try FilePart(value, of: name))
        }
    }

    private enum Separator: String, CaseIterable {
        // Longer separators first, so that ":=" isn't parsed as a header whose value begins with "=".
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

    private static func json(_ text: RawText, of name: RawText) throws(UsageError) -> JSONText {
        do {
            return try JSONText(text.bytes)
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
