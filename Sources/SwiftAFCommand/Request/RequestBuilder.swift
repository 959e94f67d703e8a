import FoundationEssentials
import SwiftAF

/// Makes the request that a command line describes.
struct RequestBuilder {
    let command: RequestCommand
    let options: Options
    /// The descriptor that `--data @-` reads.
    let input: Int32

    /// The request, complete and valid. Reads files; sends nothing.
    func build() throws(Failure) -> HTTPRequest {
        try refuseContradictions()
        var request = HTTPRequest(command.method, URLQuery.append(queryItems, to: command.url))
        request.headers = try headers()
        try addBody(to: &request)
        request.headers.fillGaps(from: [
            HTTPHeaders.Name.accept: command.showsPicture ? "image/*" : "*/*",
            HTTPHeaders.Name.userAgent: Versions.userAgent,
        ])
        request.credential = try credential(for: request)
        request.timeouts = options.timeouts
        request.limits = options.limits
        if let rate = options.rateLimit { request.rateLimit = .init(bytesPerSecond: rate) }
        request.redirectPolicy = options.redirects
        request.httpVersion = options.httpVersion
        request.decompressesBody = options.decompresses
        do {
            try request.validate()
        } catch {
            throw Failure(error)
        }
        return request
    }

    private func refuseContradictions() throws(Failure) {
        for case .filePart(let name, _) in command.items where !sendsParts {
            throw Failure(UsageError("'\(name)@…' is a file part, which needs --multipart or upload"))
        }
        if sendsParts, options.sendsForm {
            throw Failure(UsageError("a form is sent as parts or with --form, not both"))
        }
        if sendsParts, options.data != nil {
            throw Failure(UsageError("--data and a form of parts can't be sent together"))
        }
        if options.data != nil, hasFields {
            throw Failure(UsageError("--data and body fields can't be sent together"))
        }
        if options.data != nil, options.sendsForm {
            throw Failure(UsageError("--form is about body fields, not about --data"))
        }
    }

    private var sendsParts: Bool { command.isUpload || options.sendsParts }

    // MARK: Items

    private var queryItems: [(name: String, value: String)] {
        command.items.compactMap { item in
            if case .query(let name, let value) = item { (name, value) } else { nil }
        }
    }

    private var hasFields: Bool {
        command.items.contains { item in
            switch item {
            case .field, .fieldFromFile: true
            default: false
            }
        }
    }

    private func fields() throws(Failure) -> [(String, JSONValue)] {
        var fields: [(String, JSONValue)] = []
        for item in command.items {
            switch item {
            case .field(let name, let value): fields.append((name, value))
            case .fieldFromFile(let name, let path): fields.append((name, .string(try InputFile.text(path))))
            default: break
            }
        }
        return fields
    }

    private func headers() throws(Failure) -> HTTPHeaders {
        var headers: HTTPHeaders = [:]
        for item in command.items {
            switch item {
            case .header(let name, let value): headers.add(name: name, value: value)
            case .removedHeader(let name): headers.removeDefault(name)
            default: break
            }
        }
        if let token = options.bearerToken {
            guard !headers.contains(HTTPHeaders.Name.authorization) else {
                throw Failure(UsageError("--bearer and an Authorization header can't be sent together"))
            }
            headers.setBearerAuthorization(token: token)
        }
        return headers
    }

    // MARK: The body

    private func addBody(to request: inout HTTPRequest) throws(Failure) {
        switch options.data {
        case .text(let text): request.body = .text(text)
        case .file(let path): request.body = try InputFile.body(path)
        case .standardInput: request.body = .stream(once: ByteStream(descriptor: input))
        case nil where sendsParts: request.body = .multipart(try FormBuilder.form(of: command.items))
        case nil: if hasFields || options.sendsForm { try addFields(to: &request) }
        }
    }

    private func addFields(to request: inout HTTPRequest) throws(Failure) {
        let fields = try fields()
        let type = options.sendsForm ? MediaType.form : MediaType.json
        request.headers.fillGaps(from: [HTTPHeaders.Name.contentType: type.essence])
        do {
            request.body = options.sendsForm ? .text(try form(fields)) : .data(try json(fields))
        } catch {
            throw Failure(.input, .invalidInput, "the body fields can't be written: \(error)")
        }
    }

    private func json(_ fields: [(String, JSONValue)]) throws -> Data {
        try JSONValue.object(JSONObject(fields)).data(options: .withoutEscapingSlashes)
    }

    /// Field by field, because the encoder sorts what it gets at once.
    private func form(_ fields: [(String, JSONValue)]) throws -> String {
        try fields
            .map { name, value in try ParameterEncoder().encode(Parameters([(name, Parameters(value))])) }
            .filter { !$0.isEmpty }
            .joined(separator: "&")
    }
}
