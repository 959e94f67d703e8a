import SwiftAF

/// A part of a form that isn't a plain field: a file, or text with metadata of its own.
struct FilePart: Sendable, Equatable {
    /// The source of the part's content.
    enum Source: Sendable, Equatable {
        case file(RawText)
        /// curl's `-F name=@-`
        case standardInput
        /// The text of standard input: curl's `-F 'name=<-'`
        case textOfInput
        /// The text of a file: curl's `-F 'name=<path;type=…'`
        case textOfFile(RawText)
        /// curl's `-F 'name=text;type=…'`
        case text(RawText)
    }

    var source: Source
    /// Nil uses the type of the file name's extension.
    var mediaType: String?
    /// Nil uses the last component of a file's path; text has none.
    var fileName: RawText?

    /// Whether the content of the part is read from standard input.
    var readsInput: Bool { source == .standardInput || source == .textOfInput }

    /// Parses the text after `name@`: `path`, `path;type=image/png`, `path;filename=a.png` or both.
    init(_ text: RawText, of name: RawText) throws(UsageError) {
        let words = PartWords(text, isQuoted: false)
        self.init(source: .file(words.content))
        try read(words, shown: "\(name.shown.printable)@…")
        guard !words.content.bytes.isEmpty else {
            throw UsageError("'\(name.shown.printable)@' needs the path of a file")
        }
    }

    init(source: Source, mediaType: String? = nil, fileName: RawText? = nil) {
        self.source = source
        self.mediaType = mediaType
        self.fileName = fileName
    }

    /// Reads the metadata.
    ///
    /// - Parameter subject: The part, for error messages.
    fileprivate mutating func read(_ words: PartWords, shown subject: String) throws(UsageError) {
        for (key, value) in words.metadata {
            switch key {
            case .type:
                let value = try value.text(of: "the type of '\(subject)'")
                guard mediaType == nil else { throw UsageError("the type of '\(subject)' is given twice") }
                guard MediaType(value) != nil else { throw UsageError("invalid media type of '\(subject)'") }
                mediaType = value
            case .fileName:
                guard fileName == nil else { throw UsageError("the file name of '\(subject)' is given twice") }
                guard !value.bytes.isEmpty else { throw UsageError("the file name of '\(subject)' is empty") }
                fileName = value
            }
        }
    }
}

extension Item {
    /// Parses the value of curl's `-F`: `name=text`, `name=@path` for a file part, or `name=<path` for the text of a
    /// file; each with `;type=…` and `;filename=…`. The path `-` is standard input. The content and the file name can
    /// be in double quotes.
    static func curlPart(_ text: RawText) throws(UsageError) -> Item {
        let parts = text.bytes.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else {
            throw UsageError("invalid value for -F: expected name=value, name=@path or name=<path")
        }
        let name = RawText(parts[0])
        let mark = parts[1].first.flatMap { "@<".utf8.contains($0) ? $0 : nil }
        let words = PartWords(RawText(parts[1].dropFirst(mark == nil ? 0 : 1)), isQuoted: true)
        guard mark == nil || !words.content.bytes.isEmpty else {
            throw UsageError("'\(name.shown.printable)=' needs the path of a file")
        }
        var part: FilePart
        switch mark {
        case UInt8(ascii: "@"):
            part = FilePart(source: words.content == "-" ? .standardInput : .file(words.content))
        case nil where words.metadata.isEmpty: return .field(name: name, value: .text(words.content))
        case nil: part = FilePart(source: .text(words.content))
        case _ where words.content == "-": part = FilePart(source: .textOfInput)
        case _ where words.metadata.isEmpty: return .fieldFromFile(name: name, path: words.content)
        default: part = FilePart(source: .textOfFile(words.content))
        }
        try part.read(words, shown: "\(name.shown.printable)=…")
        return .filePart(name: name, part)
    }
}

/// The text of a part, split at `;type=` and `;filename=`. Any other semicolon belongs to the words, and so does one
/// escaped with a backslash.
private struct PartWords {
    enum Key: String, CaseIterable {
        case type = ";type="
        case fileName = ";filename="
    }

    let content: RawText
    let metadata: [(key: Key, value: RawText)]

    /// - Parameter isQuoted: Whether words can be in double quotes, as in curl.
    init(_ text: RawText, isQuoted: Bool) {
        var rest = text.bytes[...]
        content = Self.popWord(&rest, isQuoted)
        var metadata: [(Key, RawText)] = []
        while let key = Self.key(rest) {
            rest = rest.dropFirst(key.rawValue.utf8.count)
            metadata.append((key, Self.popWord(&rest, isQuoted && key == .fileName)))
        }
        self.metadata = metadata
    }

    private static func key(_ text: ArraySlice<UInt8>) -> Key? {
        Key.allCases.first { text.starts(with: $0.rawValue.utf8) }
    }

    /// Removes the text before the next key, or before the end.
    private static func popWord(_ rest: inout ArraySlice<UInt8>, _ isQuoted: Bool) -> RawText {
        if isQuoted, let word = popQuoted(&rest) { return word }
        var word: [UInt8] = []
        while key(rest) == nil, let byte = rest.popFirst() {
            let isEscape = byte == UInt8(ascii: "\\") && key(rest) != nil
            word.append(isEscape ? rest.removeFirst() : byte)
        }
        return RawText(word)
    }

    /// Removes a word in double quotes, in which a backslash escapes a quote or a backslash; nil without an end quote,
    /// or if more follows than a key.
    private static func popQuoted(_ text: inout ArraySlice<UInt8>) -> RawText? {
        let (quote, backslash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
        var rest = text
        guard rest.popFirst() == quote else { return nil }
        var word: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == quote {
                guard rest.isEmpty || key(rest) != nil else { return nil }
                text = rest
                return RawText(word)
            }
            let isEscape = byte == backslash && (rest.first == quote || rest.first == backslash)
            word.append(isEscape ? rest.removeFirst() : byte)
        }
        return nil
    }
}
