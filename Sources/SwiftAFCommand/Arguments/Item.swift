import SwiftAF

/// One part of a request as it is written on the command line, in HTTPie's syntax.
enum Item: Sendable, Equatable {
    /// `Name:value`
    case header(name: String, value: String)
    /// `Name:`
    case removedHeader(name: String)
    /// `name==value`
    case query(name: String, value: String)
    /// `name=value`
    case field(name: String, value: JSONValue)
    /// `name=@path`
    case fieldFromFile(name: String, path: String)
    /// `name@path`, `name@path;type=image/png;filename=a.png`
    case filePart(name: String, FilePart)

    /// Reads an item: the first separator counts, and of several that start there the longest. A backslash makes
    /// an ordinary character of the separator after it; before anything else it is a backslash.
    init(_ argument: String) throws(UsageError) {
        guard let (name, separator, value) = Self.split(argument) else {
            throw UsageError(
                "'\(argument)' is no item: Name:value, name==value, name=value, name:=json, name=@path or name@path")
        }
        guard !name.isEmpty else { throw UsageError("an item has no name before its '\(separator.rawValue)'") }
        switch separator {
        case .header: self = value.isEmpty ? .removedHeader(name: name) : .header(name: name, value: value)
        case .query: self = .query(name: name, value: value)
        case .text: self = .field(name: name, value: .string(value))
        case .json: self = .field(name: name, value: try Self.json(value, of: name))
        case .textFile: self = .fieldFromFile(name: name, path: value)
        case .file: self = .filePart(name: name, try FilePart(value, of: name))
        }
    }

    private enum Separator: String, CaseIterable {
        // Longer ones first: ":=" is not a header that begins with "=".
        case json = ":="
        case query = "=="
        case textFile = "=@"
        case header = ":"
        case text = "="
        case file = "@"
    }

    private static func split(_ argument: String) -> (name: String, separator: Separator, value: String)? {
        let bytes = Array(argument.utf8)
        var name: [UInt8] = []
        var position = 0
        while position < bytes.count {
            let rest = bytes[position...]
            if let separator = Separator.allCases.first(where: { rest.starts(with: $0.rawValue.utf8) }) {
                let value = unescape(rest.dropFirst(separator.rawValue.utf8.count))
                return (String(decoding: name, as: UTF8.self), separator, value)
            }
            position += appendUnescaped(rest, to: &name)
        }
        return nil
    }

    private static func unescape(_ bytes: ArraySlice<UInt8>) -> String {
        var text: [UInt8] = []
        var position = bytes.startIndex
        while position < bytes.endIndex {
            position += appendUnescaped(bytes[position...], to: &text)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the first character and returns the number of bytes it took. A backslash takes the byte after it
    /// along, so that of two backslashes neither escapes what follows.
    private static func appendUnescaped(_ bytes: ArraySlice<UInt8>, to text: inout [UInt8]) -> Int {
        let pair = bytes.prefix(2)
        guard pair.first == UInt8(ascii: "\\"), pair.count == 2, let second = pair.last else {
            text += pair.prefix(1)
            return 1
        }
        text += ":=@".utf8.contains(second) ? pair.suffix(1) : pair
        return 2
    }

    private static func json(_ text: String, of name: String) throws(UsageError) -> JSONValue {
        do {
            return try JSONValue(parsing: text)
        } catch {
            throw UsageError("the value of '\(name)' is \(error)")
        }
    }
}
