import FoundationEssentials

extension HTTPRequest {
    /// Returns the curl command that sends this request, for a POSIX shell.
    ///
    /// Everything is quoted, so that neither the shell nor curl interprets any part of the request. A binary body is
    /// piped through `base64`; a file is named; a form becomes curl's form options. The body of a sequence is read from
    /// standard input.
    ///
    /// The command has the request's own settings for the version of HTTP, credentials, proxy, Unix-domain socket,
    /// redirects, compression, and the time limits to connect and in total. It lacks the request's other limits and its
    /// interceptors, and the settings of the session or the manager: cookies, credentials, proxies, trust, redirects.
    /// If a password is hidden, curl prompts for it. Without options, curl follows no redirects and requests no
    /// compression.
    ///
    /// - Parameter redaction: What to hide; bodies aren't redacted.
    public func curlCommand(redaction: Redaction = .standard) -> String {
        curlCommand(redaction: redaction, options: nil)
    }

    /// Returns the curl command with further options, such as those of the session. They are quoted, but not redacted.
    ///
    /// - Parameter options: curl's options for credentials, proxy, socket, redirects and compression; nil makes them
    ///   from the request.
    package func curlCommand(redaction: Redaction = .standard, options: [String]?) -> String {
        var request = self
        // Turns a JSON body into bytes, with a Content-Type. If it can't be encoded, the command has no body.
        try? request.encodeJSON(with: JSONCoder())
        return CurlCommand(request: request, redaction: redaction, options: options).text
    }
}

extension HTTPRequest {
    /// The options with which curl keeps the body after a 301 or 302 where this library does: curl drops it for every
    /// method, this library for POST only.
    package var curlRedirectOptions: [String] {
        method != .post && !body.isNone ? ["--post301", "--post302"] : []
    }
}

extension HTTPRequest {
    /// The name of the first part of a form that curl can't send, so that its command would send something else; nil if
    /// curl can send all parts.
    package var partUnknownToCurl: String? {
        guard case .form(let form) = body.content else { return nil }
        return form.parts.first { CurlCommand.part($0) == nil }.map { part in
            switch part {
            case .data(_, let heading), .file(_, let heading), .stream(_, let heading), .json(_, let heading):
                heading.name
            case .raw: ""
            }
        }
    }
}

/// Writes a request as a curl command line.
private struct CurlCommand {
    let request: HTTPRequest
    let redaction: Redaction
    /// The options that replace ``ownOptions``; nil for none.
    let options: [String]?

    var text: String {
        // Otherwise curl would expand brackets and braces in the URL.
        var words = ["curl", "--globoff"] + method
        words += headers
        let (source, body) = body
        words += body + connection + (options ?? ownOptions) + ["--url", redaction.url(Self.encoded(request.url))]
        return source + words.map(Self.quoted).joined(separator: " ")
    }

    /// Percent-encodes the characters after the host that the core encodes before it sends a URL (`must_escape()` in
    /// `message/url.c`): curl refuses spaces, and sends everything else unchanged.
    private static func encoded(_ url: String) -> String {
        let bytes = url.utf8
        let scheme = bytes.firstRange(of: "://".utf8)?.upperBound ?? bytes.startIndex
        guard let start = bytes[scheme...].firstIndex(where: { "/?#".utf8.contains($0) }) else { return url }
        return url[..<start]
            + bytes[start...].reduce(into: "") { text, byte in
                if byte >= 0x80 || encodedASCII.contains(byte) {
                    text += "%" + String(byte, radix: 16, uppercase: true)
                } else {
                    text.unicodeScalars.append(Unicode.Scalar(byte))
                }
            }
    }

    private static let encodedASCII = Array(#" "<>\^`{|}"#.utf8)

    private var method: [String] {
        switch (request.method, request.body.isNone) {
        // `--head` is curl's option for HEAD, but curl refuses a body with it.
        case (.head, true): ["--head"]
        // The method that curl chooses by itself. As an option, it would also be used after a redirect.
        case (.get, true), (.post, false): []
        default: ["--request", request.method.rawValue]
        }
    }

    private var headers: [String] {
        let isForm = if case .form = request.body.content { true } else { false }
        var words: [String] = []
        for field in request.headers.fields where CoreField.isToken(field.name) {
            // curl sets the type of a form itself, with its own boundary.
            if isForm, field.isNamed(.contentType) { continue }
            let value = redaction.value(of: field)
            words += ["--header", value.isEmpty ? "\(field.name);" : "\(field.name): \(value)"]
        }
        for name in request.headers.suppressedDefaults where CoreField.isToken(name) {
            words += ["--header", "\(name):"]
        }
        if !isForm, !request.body.isNone, !request.headers.contains(named: .contentType) {
            // Without this, curl would add the Content-Type of a form.
            words += ["--header", "\(HTTPHeaders.Name.contentType):"]
        }
        return words
    }

    private var connection: [String] {
        var words: [String] = []
        switch request.httpVersion {
        case .http1_1?: words.append("--http1.1")
        // Over http, `--http2` makes curl ask for an upgrade (h2c), which the session doesn't do.
        case .http2? where !isSecure: break
        case .http2?: words.append("--http2")
        case .http2PriorKnowledge?: words.append("--http2-prior-knowledge")
        case .http3?: words.append("--http3")
        default: break
        }
        if let limit = request.timeouts.connect, limit > .zero { words += ["--connect-timeout", seconds(limit)] }
        if let limit = request.timeouts.total, limit > .zero { words += ["--max-time", seconds(limit)] }
        return words
    }

    // MARK: Settings that a session has, too

    private var ownOptions: [String] {
        var words = redirects
        if request.decompressesBody == true { words.append("--compressed") }
        if let credential = request.credential { words += authentication(credential) }
        if let credential = request.proxyCredential { words += authentication(credential, of: "proxy-") }
        switch request.proxy {
        case nil: break
        case .direct?: words += ["--noproxy", "*"]
        case .url(let url)?: words += ["--proxy", redaction.hidesCredentials ? "\(HTTPRequest.Proxy.url(url))" : url]
        }
        if let socket = request.unixSocket, !socket.isEmpty {
            let isAbstract = socket.utf8.first == UInt8(ascii: "@")
            words += isAbstract ? ["--abstract-unix-socket", String(socket.dropFirst())] : ["--unix-socket", socket]
        }
        return words
    }

    private var redirects: [String] {
        guard let policy = request.redirectPolicy, policy.followsRedirects else { return [] }
        // Passed explicitly, because curl's default limit differs, and curl follows redirects from https to http.
        let schemes = isSecure && !policy.allowsInsecureDowngrade ? ["--proto-redir", "=https"] : []
        return ["--location", "--max-redirs", "\(policy.maximumCount)"] + schemes + request.curlRedirectOptions
    }

    /// - Parameter peer: The prefix of option names for a proxy; empty for the server.
    private func authentication(_ credential: Credential, of peer: String = "") -> [String] {
        if let token = credential.token {
            // curl has no such option for proxies.
            return peer.isEmpty ? ["--oauth2-bearer", redaction.hidesCredentials ? Redaction.placeholder : token] : []
        }
        let scheme: [String] =
            switch credential.schemes {
            case _ where credential.isPreemptive && credential.schemes.contains(.basic): []
            case .basic: ["--\(peer)basic"]
            case .digest: ["--\(peer)digest"]
            case .ntlm: ["--\(peer)ntlm"]
            case .negotiate: ["--\(peer)negotiate"]
            default: ["--\(peer)anyauth"]
            }
        guard let user = credential.user else { return scheme }
        // curl takes the identity of the process from an empty user and password.
        let isOfProcess = user.isEmpty && credential.password?.isEmpty != false
        let isOpen = isOfProcess || !redaction.hidesCredentials
        return scheme + ["--\(peer)user", isOpen ? "\(user):\(credential.password ?? "")" : user]
    }

    private var isSecure: Bool { URLText(request.url).scheme.map { ASCII.lowercased($0) } == "https" }

    private func seconds(_ duration: Duration) -> String {
        let (seconds, rest) = duration.wholeMilliseconds.quotientAndRemainder(dividingBy: 1000)
        return "\(seconds).\(String(1000 + abs(rest)).dropFirst())"
    }

    // MARK: The body

    /// The command piped into curl, and curl's arguments.
    private var body: (source: String, words: [String]) {
        switch request.body.content {
        case .none, .json, .jsonParameters, .invalid:
            return ("", [])
        case .data(let data):
            if let text = Self.text(data) { return ("", ["--data-raw", text]) }
            let encoded = Self.quoted(data.base64EncodedString())
            return ("printf %s \(encoded) | base64 -d | ", ["--data-binary", "@-"])
        case .file(let path):
            return ("", ["--data-binary", "@\(Self.name(path))"])
        case .stream:
            return ("", ["--data-binary", "@-"])
        case .form(let form):
            let parts = form.parts.map(Self.part)
            guard let words = parts as? [[String]] else { return ("", ["--data-binary", "@-"]) }
            return ("", words.flatMap { $0 })
        }
    }

    /// A form part as a curl argument; nil if curl doesn't support it.
    fileprivate static func part(_ part: BodyForm.Part) -> [String]? {
        switch part {
        case .data(let data, let heading):
            guard let text = text(data), isPlain(heading) else { return nil }
            if heading.fileName == nil, heading.mediaType == nil {
                return ["--form-string", "\(heading.name)=\(text)"]
            }
            return ["--form", "\(heading.name)=\(inner(text))\(attributes(heading))"]
        case .file(let file, let heading):
            guard file.range == nil, isPlain(heading) else { return nil }
            return ["--form", "\(heading.name)=@\(inner(name(file.path)))\(attributes(heading))"]
        case .stream, .raw, .json:
            return nil
        }
    }

    /// Returns a file's path for curl, which takes `-` for standard input.
    private static func name(_ path: String) -> String { path == "-" ? "./-" : path }

    private static func isPlain(_ heading: BodyForm.Heading) -> Bool {
        heading.headers.isEmpty && !heading.name.utf8.contains(UInt8(ascii: "="))
            && isText(heading.rawName) && isText(heading.rawFileName)
            && !(heading.mediaType ?? "").utf8.contains(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: ",") })
    }

    /// Whether a file name is valid UTF-8, so that its text can be passed to curl.
    private static func isText(_ rawName: [UInt8]?) -> Bool {
        rawName.map { String(validating: $0, as: UTF8.self) != nil } ?? true
    }

    private static func attributes(_ heading: BodyForm.Heading) -> String {
        let type = heading.mediaType.map { ";type=\($0)" } ?? ""
        return type + (heading.fileName.map { ";filename=\(inner($0))" } ?? "")
    }

    /// Quotes a text for curl's own syntax of form parts, within the shell's quotes.
    private static func inner(_ text: String) -> String {
        "\"" + replacing([UInt8(ascii: "\\"): #"\\"#, UInt8(ascii: "\""): #"\""#], in: text) + "\""
    }

    /// Returns bytes as text; nil if they can't be an argument.
    private static func text(_ data: Data) -> String? {
        data.contains(0) ? nil : String(validating: data, as: UTF8.self)
    }

    /// Quotes a word for a POSIX shell. NUL, which arguments can't contain, is dropped.
    private static func quoted(_ word: String) -> String {
        let isHarmless = { (byte: UInt8) in
            ASCII.isLetter(byte) || ASCII.isDigit(byte) || "-_./:@%+,".utf8.contains(byte)
        }
        if !word.isEmpty, word.utf8.allSatisfy(isHarmless) { return word }
        return "'" + replacing([0: "", UInt8(ascii: "'"): #"'\''"#], in: word) + "'"
    }

    /// Replaces bytes, not characters: a quote before a combining mark is another `Character`, would not be replaced,
    /// and would end the quotes.
    private static func replacing(_ replacements: [UInt8: String], in text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if let replacement = replacements[byte] { bytes += replacement.utf8 } else { bytes.append(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
