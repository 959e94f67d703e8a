import SwiftAF

/// The text after `name@`: a path, with optional metadata for the part.
struct FilePart: Sendable, Equatable {
    var path: RawText
    /// Nil uses the type of the path's extension.
    var mediaType: String?
    /// Nil uses the last component of the path.
    var fileName: RawText?
    /// Whether the part is standard input: curl's `-F name=@-`.
    var isStandardInput = false

    /// Parses `path`, `path;type=image/png`, `path;filename=a.png` or both. Any other semicolon belongs to the path,
    /// and so does one escaped with a backslash.
    init(_ text: RawText, of name: RawText) throws(UsageError) {
        let (bytes, name) = (text.bytes, name.shown.printable)
        var words: [(key: Key?, value: [UInt8])] = [(nil, [])]
        var place = 0
        while place < bytes.count {
            let rest = bytes[place...]
            if let key = Key.allCases.first(where: { rest.starts(with: $0.rawValue.utf8) }) {
                words.append((key, []))
                place += key.rawValue.utf8.count
                continue
            }
            let isEscaped = Key.allCases.contains { rest.starts(with: "\\\($0.rawValue)".utf8) }
            words[words.count - 1].value.append(bytes[isEscaped ? place + 1 : place])
            place += isEscaped ? 2 : 1
        }
        path = RawText(words[0].value)
        guard !path.bytes.isEmpty else { throw UsageError("'\(name)@' needs the path of a file") }
        for (key, value) in words.dropFirst() {
            switch key {
            case .type:
                let value = try RawText(value).text(of: "the type of '\(name)@…'")
                guard mediaType == nil else { throw UsageError("the type of '\(name)@…' is given twice") }
                guard MediaType(value) != nil else { throw UsageError("the type of '\(name)@…' is no media type") }
                mediaType = value
            case .fileName, nil:
                guard fileName == nil else { throw UsageError("the file name of '\(name)@…' is given twice") }
                guard !value.isEmpty else { throw UsageError("the file name of '\(name)@…' is empty") }
                fileName = RawText(value)
            }
        }
    }

    init(path: RawText, mediaType: String? = nil, fileName: RawText? = nil) {
        self.path = path
        self.mediaType = mediaType
        self.fileName = fileName
    }

    private enum Key: String, CaseIterable {
        case type = ";type="
        case fileName = ";filename="
    }
}
