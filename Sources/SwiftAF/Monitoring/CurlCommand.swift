import FoundationEssentials

extension HTTPRequest {
    /// The command that sends this request with curl, for a POSIX shell: to look at it, to try it again, to put it into
    /// a report.
    ///
    /// Every word is quoted, so that nothing in a URL, a header or a body means anything to the shell or to curl. A
    /// body of bytes that are no text goes through `base64`, one that is a file is named, a form is taken apart. A body
    /// that comes from a sequence can't be shown: the command then reads it from standard input.
    ///
    /// - Parameter redaction: What is hidden; bodies never are.
    public func curlCommand(redaction: Redaction = .standard) -> String {
        CurlCommand(request: self, redaction: redaction).text
    }
}

/// Writes a request as curl's command line.
private struct CurlCommand {
    let request: HTTPRequest
    let redaction: Redaction

    var text: String {
        // Otherwise curl would take brackets and braces in a URL for patterns.
        var words = ["curl", "--globoff"] + method
        words += headers
        let (source, body) = body
        words += body + connection + ["--url", redaction.url(request.url)]
        return source + words.map(Self.quoted).joined(separator: " ")
    }

    private var method: [String] {
        request.method == .head ? ["--head"] : ["--request", request.method.rawValue]
    }

    private var headers: [String] {
        let isForm = if case .form = request.body.content { true } else { false }
        var words: [String] = []
        for field in request.headers.fields where ASCII.isToken(field.name) {
            // curl writes that of a form by itself, with a boundary of its own.
            if isForm, field.isNamed(HTTPHeaders.Name.contentType) { continue }
            let value = redaction.value(of: field)
            words += ["--header", value.isEmpty ? "\(field.name);" : "\(field.name): \(value)"]
        }
        for name in request.headers.removedDefaults where ASCII.isToken(name) { words += ["--header", "\(name):"] }
        if !isForm, !request.body.isNone, !request.headers.contains(HTTPHeaders.Name.contentType) {
            // Otherwise curl would call it a form.
            words += ["--header", "\(HTTPHeaders.Name.contentType):"]
        }
        return words
    }

    private var connection: [String] {
        var words: [String] = []
        switch request.httpVersion {
        case .http1_1?: words.append("--http1.1")
        case .http2?: words.append("--http2")
        case .http2PriorKnowledge?: words.append("--http2-prior-knowledge")
        case .http3?: words.append("--http3")
        default: break
        }
        if let limit = request.timeouts.connect, limit > .zero { words += ["--connect-timeout", seconds(limit)] }
        if let limit = request.timeouts.total, limit > .zero { words += ["--max-time", seconds(limit)] }
        return words
    }

    private func seconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = String(attoseconds / 1_000_000_000_000_000)
        return "\(seconds).\(String(repeating: "0", count: 3 - milliseconds.count))\(milliseconds)"
    }

    // MARK: The body

    /// What runs before curl and feeds it, and curl's own words.
    private var body: (source: String, words: [String]) {
        switch request.body.content {
        case .none:
            return ("", [])
        case .data(let data):
            if let text = Self.text(data) { return ("", ["--data-raw", text]) }
            let encoded = Self.quoted(data.base64EncodedString())
            return ("printf %s \(encoded) | base64 -d | ", ["--data-binary", "@-"])
        case .file(let path):
            return ("", ["--data-binary", "@\(path)"])
        case .stream:
            return ("", ["--data-binary", "@-"])
        case .form(let form):
            let parts = form.parts.map(Self.part)
            guard let words = parts as? [[String]] else { return ("", ["--data-binary", "@-"]) }
            return ("", words.flatMap { $0 })
        }
    }

    /// A part of a form in curl's words; nil if it has none for it.
    private static func part(_ part: BodyForm.Part) -> [String]? {
        switch part {
        case .data(let data, let heading):
            guard let text = text(data), isPlain(heading) else { return nil }
            if heading.fileName == nil, heading.mediaType == nil {
                return ["--form-string", "\(heading.name)=\(text)"]
            }
            return ["--form", "\(heading.name)=\(inner(text))\(attributes(heading))"]
        case .file(let file, let heading):
            guard file.range == nil, isPlain(heading) else { return nil }
            return ["--form", "\(heading.name)=@\(inner(file.path))\(attributes(heading))"]
        case .stream, .raw:
            return nil
        }
    }

    private static func isPlain(_ heading: BodyForm.Heading) -> Bool {
        heading.headers.isEmpty && !heading.name.utf8.contains(UInt8(ascii: "="))
            && !(heading.mediaType ?? "").utf8.contains(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: ",") })
    }

    private static func attributes(_ heading: BodyForm.Heading) -> String {
        let type = heading.mediaType.map { ";type=\($0)" } ?? ""
        return type + (heading.fileName.map { ";filename=\(inner($0))" } ?? "")
    }

    /// Quotes of curl's own, inside of those of the shell.
    private static func inner(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    /// Nil for what can't be an argument.
    private static func text(_ data: Data) -> String? {
        data.contains(0) ? nil : String(validating: data, as: UTF8.self)
    }

    /// A word for a POSIX shell. NUL, which no argument can have, is left out.
    private static func quoted(_ word: String) -> String {
        let isHarmless = { (byte: UInt8) in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-_./:@%+,".utf8.contains(byte)
            }
        }
        if !word.isEmpty, word.utf8.allSatisfy(isHarmless) { return word }
        return "'" + word.replacing("\0", with: "").replacing("'", with: "'\\''") + "'"
    }
}
