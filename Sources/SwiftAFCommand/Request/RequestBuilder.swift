import FoundationEssentials
import Glibc
import SwiftAF

/// Builds the request of a command line.
struct RequestBuilder {
    private(set) var command: RequestCommand
    private(set) var options: Options
    /// The file descriptor for `--data @-`.
    let input: Int32
    /// Returns the environment variables. Called only if one is needed.
    var environment: @Sendable () -> [String: String] = { [:] }
    /// The passwords that were asked for before.
    var askedPasswords = AskedPasswords()
    /// The texts that were read before.
    var inputTexts = InputTexts()
    /// Writes a note to standard error.
    var note: @Sendable (String) -> Void = { _ in }
    /// Asks for a secret; nil if that isn't possible.
    var askSecret: (String) throws(Failure) -> String? = Prompt.secret
    /// The option or item that reads standard input for something other than the body; nil if none does.
    private(set) var inputConsumer: String?

    /// Returns a complete and valid request. Reads files; sends nothing.
    func build() throws(Failure) -> HTTPRequest {
        Interrupts.isPreparing.withLock { $0 = true }
        defer { Interrupts.isPreparing.withLock { $0 = false } }
        var builder = self
        builder.command.items = command.items.map { $0.expandingHome(environment()) }
        if case .file(let path)? = options.data {
            builder.options.data = .file(path: path.expandingHome(environment()))
        }
        builder.inputConsumer = InputConsumer.name(in: command, options, input: input, environment())
        try builder.refuseSecondReader()
        if case .texts(let texts)? = options.data { try builder.take(texts) }
        return try builder.buildExpanded()
    }

    /// Refuses standard input as the body if an option reads it, too: a pipe would then be empty, and a file would be
    /// sent twice.
    private func refuseSecondReader() throws(Failure) {
        guard let inputConsumer else { return }
        let isPart = command.items.contains { if case .filePart(_, let part) = $0 { part.readsInput } else { false } }
        let isBody =
            switch options.data {
            case .standardInput: true
            case .file(let path): FileStatus(input).map { InputConsumer.isSame(path, $0) } ?? false
            case .text, .texts, nil: false
            }
        guard isBody || isPart else { return }
        throw Failure(
            UsageError("standard input can't be the body: \(inputConsumer.printable) reads it; -d @FILE sends a file"))
    }

    /// Reads the files of `--data-urlencode`, for the body or with `-G` for the query.
    private mutating func take(_ texts: [DataArgument.Text]) throws(Failure) {
        var pieces: [[UInt8]] = []
        for text in texts {
            switch text {
            case .given(let text): pieces.append(text.bytes)
            case .encodedFile(let prefix, let path):
                let content = try Failure.naming("--data-urlencode") { () throws(Failure) in
                    try InputFile.bytes(path.expandingHome(environment()), as: .field)
                }
                pieces.append(prefix.bytes + RawText(Array(content)).percentEncoded.utf8)
            }
        }
        let data = RawText(Array(pieces.joined(separator: "&".utf8)))
        guard options.putsDataInQuery else {
            options.data = .text(data)
            return
        }
        do throws(UsageError) {
            command.url = CoreURL.append(query: try data.queryText(of: "the value of --data"), to: command.url)
        } catch {
            throw Failure(error)
        }
        options.data = nil
    }

    private func buildExpanded() throws(Failure) -> HTTPRequest {
        let body = try inputBody.ofCommand(command, options)
        let method = command.method ?? (options.sendsBody(of: command) || body != nil ? .post : .get)
        var request = HTTPRequest(method, CoreURL.append(query: try query(), to: command.url))
        request.headers = try headers()
        request.mergesCookies = true
        try addBody(to: &request, body)
        request.headers.fillGap(name: .accept, value: command.purpose == .picture ? "image/*" : "*/*")
        request.headers.fillGap(name: .userAgent, value: Versions.userAgent)
        request.credential = try credential(for: request)
        request.timeouts = options.timeouts
        request.limits = options.limits
        if let rate = options.rateLimit { request.rateLimit = .init(bytesPerSecond: rate) }
        request.redirectPolicy = options.redirects
        request.hints.cachePolicy = options.cache.policy
        request.httpVersion = options.httpVersion
        request.decompressesBody = options.decompresses
        do {
            try request.validate()
        } catch {
            throw Failure(error)
        }
        return request
    }

    // MARK: Items

    /// The query items, percent-encoded.
    private func query() throws(Failure) -> String {
        var pairs: [String] = []
        for item in command.items {
            switch item {
            case .query(let name, let value):
                pairs.append("\(ParameterEncoder.escape(name))=\(ParameterEncoder.escape(value))")
            case .queryFromFile(let name, let path):
                let value = try inputTexts.value(path)
                pairs.append("\(ParameterEncoder.escape(name))=\(ParameterEncoder.escape(value))")
            default: break
            }
        }
        // Without pairs, `joined` only makes the runtime look up metadata: 1 % of a start (Benchmarks/first-byte).
        return pairs.isEmpty ? "" : pairs.joined(separator: "&")
    }

    private func fields() throws(Failure) -> [(name: RawText, value: FieldValue)] {
        var fields: [(RawText, FieldValue)] = []
        for item in command.items {
            switch item {
            case .field(let name, let value): fields.append((name, value))
            case .fieldFromFile(let name, let path):
                fields.append((name, .text(RawText(try InputFile.text(path, as: .field)))))
            case .jsonFromFile(let name, let path): fields.append((name, .json(try InputFile.json(path, of: name))))
            default: break
            }
        }
        return fields
    }

    private func headers() throws(Failure) -> HTTPHeaders {
        var headers: HTTPHeaders = [:]
        for item in command.items {
            try refuseInvalidName(of: item)
            switch item {
            case .header(let name, let value): headers.add(HTTPHeaders.Field(name: name, value: value))
            case .headerFromFile(let name, let path):
                let value = try inputTexts.value(path)
                guard !value.contains(where: \.isNewline) else {
                    throw Failure(
                        .input, .invalidInput, "the value of '\(name)' in \(path.shown.printable) has a line break")
                }
                headers.add(HTTPHeaders.Field(name: name, value: RawText(value)))
            case .removedHeader(let name): headers.suppressDefault(name)
            default: break
            }
        }
        addCookies(to: &headers)
        if let secret = options.bearerToken {
            // A curl command hides the token.
            let token =
                options.printsCurlCommand
                ? "TOKEN" : try secret.value(of: "--bearer", environment: environment(), files: inputTexts)
            guard token.contains(where: { !$0.isWhitespace }) else {
                throw Failure(UsageError("--bearer: the token is empty"))
            }
            // In a field, tabs are allowed (RFC 9110, section 5.5).
            try Self.refuseControls(token, "--bearer: the token", allowsTabs: true)
            headers.authorization = .bearer(token)
        }
        return headers
    }

    /// Refuses control characters in a credential, which isn't shown. The errors of the library wouldn't name its
    /// option.
    ///
    /// - Parameters:
    ///   - subject: The credential, as the error names it.
    ///   - allowsTabs: False for users and passwords, which have no tabs either (RFC 7617, section 2).
    static func refuseControls(_ text: String, _ subject: String, allowsTabs: Bool = false) throws(Failure) {
        guard text.utf8.contains(where: { $0 < 0x20 && !(allowsTabs && $0 == 0x09) || $0 == 0x7F }) else { return }
        throw Failure(.input, .invalidInput, "\(subject) has a control character")
    }

    /// Refuses a header whose name isn't a token (RFC 9110, section 5.6.2). The error of the library wouldn't name it.
    private func refuseInvalidName(of item: Item) throws(Failure) {
        switch item {
        case .header(let name, _), .headerFromFile(let name, _), .removedHeader(let name):
            guard !CoreField.isToken(name) else { return }
            // The text behind a space isn't shown: it may be a secret, as in 'Authorization Basic eDp5:'.
            let first = name.prefix { !$0.isWhitespace }
            let shown = first.count < name.count ? "\(first) …" : name
            throw Failure(
                .input, .invalidInput,
                "the header name '\(shown.printable)' is not a token: expected letters, digits, - and _ only")
        default: return
        }
    }

    /// Adds the cookies of `-b`. A request has one Cookie field (RFC 6265, section 5.4), so those of items are in it,
    /// too.
    private func addCookies(to headers: inout HTTPHeaders) {
        guard !options.cookies.isEmpty else { return }
        let name = HTTPHeaders.Name.cookie.text
        let all = headers.fields.filter { $0.isNamed(name) }.map { RawText($0.rawValue) } + options.cookies
        headers.remove(named: name)
        headers.add(HTTPHeaders.Field(name: name, value: GivenCookies.join(all)))
    }

    // MARK: The body

    private var inputBody: InputBody { InputBody(input: input, consumer: inputConsumer, note: note) }

    private func addBody(to request: inout HTTPRequest, _ given: HTTPBody?) throws(Failure) {
        switch options.data {
        case .text(let text): request.body = .data(Data(text.bytes))
        case .file(let path):
            request.body = try Failure.naming(options.putsFile ? "-T" : "-d") { () throws(Failure) in
                try InputFile.body(path)
            }
        case .standardInput:
            if !options.printsCurlCommand { try InputFile.refuseUnreadable(input) }
            request.body = inputBody.ofOption
        case .texts: break
        case nil where options.bodyFormat == .multipart: try addForm(to: &request)
        case nil where command.hasFields: try addFields(to: &request)
        case nil:
            guard let given else { return }
            request.body = given
            if options.bodyFormat == .form {
                request.headers.fillGap(name: .contentType, value: MediaType.form.essence)
            }
        }
    }

    /// Adds a form. A Content-Type of the command line gets the boundary, or decides it.
    private func addForm(to request: inout HTTPRequest) throws(Failure) {
        let name = HTTPHeaders.Name.contentType
        let given = request.headers.fields.filter { $0.isNamed(name) }
        var boundary: String?
        for field in given {
            guard let type = MediaType(field.value), type.type == "multipart" else {
                throw Failure(
                    UsageError(
                        """
                        a form is sent as multipart/form-data or another multipart type, not as \
                        '\(field.value.printable)'; --form sends fields URL-encoded, -d any body
                        """))
            }
            boundary = boundary ?? type.parameter("boundary")
        }
        let form = try FormBuilder.form(
            of: command.items, input: input, boundary: boundary, isPrintedOnly: options.printsCurlCommand)
        request.body = .multipart(form)
        guard !given.isEmpty else { return }
        request.headers.remove(named: name)
        for field in given {
            let isComplete = MediaType(field.value)?.parameter("boundary") != nil
            let value = isComplete ? field.value : "\(field.value); boundary=\(form.boundary)"
            request.headers.add(HTTPHeaders.Field(name: field.name, value: value))
        }
    }

    private func addFields(to request: inout HTTPRequest) throws(Failure) {
        let fields = try fields()
        let isForm = options.bodyFormat == .form
        if !isForm, options.usesFailLetter {
            note("the fields are sent as JSON: -f is --fail, and --form sends them as a form")
        }
        let type = isForm ? MediaType.form : MediaType.json
        request.headers.fillGap(name: .contentType, value: type.essence)
        do throws(UsageError) {
            request.body = isForm ? .text(form(fields)) : .data(Data(try json(fields).bytes))
        } catch {
            throw Failure(error)
        }
    }

    private func json(_ fields: [(name: RawText, value: FieldValue)]) throws(UsageError) -> JSONText {
        var object = NestedFields()
        for (name, value) in fields {
            let name = try name.text(of: "the name of a JSON field")
            switch value {
            case .text(let text):
                try object.add(
                    name, .string(try text.text(of: "the value of '\(name.printable)', which goes into JSON,")))
            case .json(let json): try object.add(name, json)
            }
        }
        return object.json
    }

    private func form(_ fields: [(name: RawText, value: FieldValue)]) -> String {
        fields.map { name, value in
            switch value {
            case .text(let text): "\(name.percentEncoded)=\(text.percentEncoded)"
            case .json(let json): "\(name.percentEncoded)=\(RawText(json.textInForm).percentEncoded)"
            }
        }.joined(separator: "&")
    }
}
