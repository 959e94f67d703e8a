/// The value of `--data`.
enum DataArgument: Sendable, Equatable {
    case text(RawText)
    case file(path: RawText)
    case standardInput
    /// Texts that are joined by `&`, some of which are in files.
    case texts([Text])

    enum Text: Sendable, Equatable {
        case given(RawText)
        /// A file whose content is percent-encoded, and the text before it.
        case encodedFile(prefix: RawText, path: RawText)
    }

    /// Percent-encodes a text, except for a name before a `=`. As in curl, an `@` means a file only if no `=` is before
    /// it.
    init(encoding text: RawText) throws(UsageError) {
        let bytes = text.bytes
        if let end = bytes.firstIndex(of: UInt8(ascii: "=")) {
            let name = end == 0 ? [] : Array(bytes[...end])
            self = .text(RawText(name + RawText(Array(bytes[(end + 1)...])).percentEncoded.utf8))
        } else if let end = bytes.firstIndex(of: UInt8(ascii: "@")) {
            let path = RawText(Array(bytes[(end + 1)...]))
            guard !path.bytes.isEmpty else { throw UsageError("--data-urlencode @ needs the path of a file") }
            guard path != "-" else {
                throw UsageError("--data-urlencode doesn't take standard input: -d @- sends it as it is; ./- is a file")
            }
            let prefix = end == 0 ? [] : Array(bytes[..<end]) + [UInt8(ascii: "=")]
            self = .texts([.encodedFile(prefix: RawText(prefix), path: path)])
        } else {
            self = .text(RawText(text.percentEncoded))
        }
    }

    /// The texts, if the value consists of them; otherwise nil.
    var texts: [Text]? {
        switch self {
        case .text(let text): [.given(text)]
        case .texts(let texts): texts
        case .file, .standardInput: nil
        }
    }

    /// `@-` is standard input, `@PATH` a file, anything else the body itself.
    init(_ argument: RawText) throws(UsageError) {
        guard argument.hasPrefix("@") else {
            self = .text(argument)
            return
        }
        let path = RawText(argument.bytes.dropFirst())
        guard !path.bytes.isEmpty else {
            throw UsageError("--data @ needs the path of a file, or - for standard input")
        }
        self = path == "-" ? .standardInput : .file(path: path)
    }
}
