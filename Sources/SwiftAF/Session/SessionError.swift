public import FoundationEssentials

/// Everything that can go wrong with a request, as one type.
///
/// ```swift
/// do {
///     let user: User = try await manager.get("users/7")
/// } catch SessionError.Code.untrusted {
///     …                                       // by what went wrong
/// } catch let error as SessionError {
///     print(error)                            // no password, query or token in it
///     let problem = try? error.decodeBody(as: Problem.self)
/// }
/// ```
///
/// A new ``Code`` may come with any version, so a `switch` over codes needs a `default`.
public struct SessionError: Error, Sendable {
    private var storage: Storage

    /// Makes an error of a code. Everything else can be set afterwards.
    ///
    /// - Parameters:
    ///   - message: What happened, in words that may be logged: no credentials, no queries. Nil for the code's.
    ///   - url: The URL concerned, as it is; descriptions hide its secrets.
    public init(
        _ code: Code,
        reason: Reason? = nil,
        message: String? = nil,
        url: String? = nil,
        response: HTTPResponse? = nil,
        body: Data? = nil,
        underlying: (any Error)? = nil
    ) {
        storage = Storage(
            Values(
                code: code, reason: reason, message: message, url: url ?? response?.url, response: response, body: body,
                underlying: underlying))
    }

    /// What went wrong, for `switch` and `catch`.
    public var code: Code {
        get { storage.values.code }
        set { update { $0.code = newValue } }
    }

    /// A finer distinction within the code: which time limit, why a chain was not trusted.
    public var reason: Reason? {
        get { storage.values.reason }
        set { update { $0.reason = newValue } }
    }

    /// What happened, in words that may be logged.
    public var message: String {
        get { storage.values.message ?? storage.values.code.explanation }
        set { update { $0.message = newValue } }
    }

    /// The URL concerned, complete with what descriptions hide.
    public var url: String? {
        get { storage.values.url }
        set { update { $0.url = newValue } }
    }

    /// The status of the response, if one came.
    public var status: Int? { storage.values.response?.status }

    /// The head of the response, if one came.
    public var response: HTTPResponse? {
        get { storage.values.response }
        set { update { $0.response = newValue } }
    }

    /// The body of the response, if one came and was collected in memory.
    public var body: Data? {
        get { storage.values.body }
        set { update { $0.body = newValue } }
    }

    /// What a response serializer made of ``body`` although the response is refused, such as a problem document's
    /// ``JSONValue``.
    public var parsedBody: (any Sendable)? {
        get { storage.values.parsedBody }
        set { update { $0.parsedBody = newValue } }
    }

    /// Times and sizes of the hops up to the failure, also where no response came.
    public var metrics: ResponseMetrics {
        get { storage.values.metrics ?? storage.values.response?.metrics ?? ResponseMetrics() }
        set { update { $0.metrics = newValue } }
    }

    /// What the server showed of itself and what the policy had to say about it, with ``Code/untrusted``.
    public var trust: TrustReport? {
        get { storage.values.trust }
        set { update { $0.trust = newValue } }
    }

    /// What is needed to go on with a download that kept its partial file; see
    /// ``HTTPSessionManager/download(resuming:headers:options:progress:)``.
    public var resumeToken: ResumeToken? {
        get { storage.values.resumeToken }
        set { update { $0.resumeToken = newValue } }
    }

    /// The error behind this one: a parser's, a sequence's, or the second of two validation errors.
    public var underlying: (any Error)? {
        get { storage.values.underlying }
        set { update { $0.underlying = newValue } }
    }

    /// The `errno` of a failed system call.
    public var systemError: Int32? {
        get { storage.values.systemError }
        set { update { $0.systemError = newValue } }
    }

    /// The `CURLcode` that libcurl ended with.
    public var curlCode: Int32? {
        get { storage.values.curlCode }
        set { update { $0.curlCode = newValue } }
    }

    /// Decodes the body of a failed response, such as a problem document, as JSON.
    ///
    /// - Throws: ``SessionError`` with code ``Code/serialization`` if there is no body, else the decoder's error.
    public func decodeBody<Value: Decodable>(
        as type: Value.Type,
        decoder: any DataDecoder = JSONCoder()
    ) throws -> Value {
        guard let body, !body.isEmpty else {
            throw SessionError(.serialization, message: "the failed response has no body", url: url)
        }
        return try decoder.decode(type, from: body)
    }

    /// Whether this error or one below it has the given code.
    public func contains(_ code: Code) -> Bool {
        self.code == code || (underlying as? SessionError)?.contains(code) ?? false
    }

    /// An error of a download that can go on with this token.
    init(_ code: Code, url: String?, resumeToken: ResumeToken?) {
        self.init(code, url: url)
        storage.values.resumeToken = resumeToken
    }

    private mutating func update(_ change: (inout Values) -> Void) {
        if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.values) }
        change(&storage.values)
    }
}

extension SessionError {
    /// The kind of an error. Open: more may come.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name, as the command line program prints it.
        public let rawValue: String

        /// Makes a value of any name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        public var description: String { rawValue }

        /// An input is wrong; nothing was sent.
        public static let invalidInput = Code(rawValue: "invalidInput")
        /// The response has a status that is not acceptable.
        public static let status = Code(rawValue: "status")
        /// The response has a content type that is not acceptable.
        public static let contentType = Code(rawValue: "contentType")
        /// The host name was not found.
        public static let dns = Code(rawValue: "dns")
        /// No connection to the server or proxy.
        public static let connect = Code(rawValue: "connect")
        /// The connection broke before an answer.
        public static let connectionLost = Code(rawValue: "connectionLost")
        /// The answer ended before its announced end.
        public static let truncated = Code(rawValue: "truncated")
        /// The peer does not speak HTTP as it should.
        public static let `protocol` = Code(rawValue: "protocol")
        /// Too many redirects, or one that is refused.
        public static let redirect = Code(rawValue: "redirect")
        /// A time limit passed; ``SessionError/reason`` says which.
        public static let timeout = Code(rawValue: "timeout")
        /// The server's certificate was not accepted; ``SessionError/reason`` says why.
        public static let untrusted = Code(rawValue: "untrusted")
        /// TLS failed for another reason than trust.
        public static let tls = Code(rawValue: "tls")
        /// A declared limit was passed.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// Credentials are needed or were refused.
        public static let authentication = Code(rawValue: "authentication")
        /// A local file or the disk.
        public static let file = Code(rawValue: "file")
        /// Parameters could not be encoded, or the answer not be parsed as what was asked for.
        public static let serialization = Code(rawValue: "serialization")
        /// The caller cancelled.
        public static let cancelled = Code(rawValue: "cancelled")
        /// The body had to be sent again and can't be.
        public static let bodyNotReplayable = Code(rawValue: "bodyNotReplayable")
        /// The sequence that the request's body comes from failed, or gave another number of bytes than announced.
        public static let bodySource = Code(rawValue: "bodySource")
        /// This build or this libcurl can't do what was asked.
        public static let unsupported = Code(rawValue: "unsupported")
        /// No memory.
        public static let outOfMemory = Code(rawValue: "outOfMemory")
        /// The session was invalidated.
        public static let closed = Code(rawValue: "closed")
        /// An interceptor of the program refused the request, or failed; ``SessionError/underlying`` is its error.
        public static let interceptor = Code(rawValue: "interceptor")
        /// None of the above.
        public static let unknown = Code(rawValue: "unknown")
    }

    /// A finer distinction within a code. Open: more may come.
    public struct Reason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name, as the command line program prints it.
        public let rawValue: String

        /// Makes a value of any name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        public var description: String { rawValue }

        // Of `timeout`.
        /// No connection stood in time.
        public static let connect = Reason(rawValue: "connect")
        /// No byte came or went for too long.
        public static let idle = Reason(rawValue: "idle")
        /// The whole took too long.
        public static let total = Reason(rawValue: "total")

        // Of `untrusted`.
        /// A certificate is past its end.
        public static let expired = Reason(rawValue: "expired")
        /// A certificate is before its beginning.
        public static let notYetValid = Reason(rawValue: "notYetValid")
        /// The certificate is for other names.
        public static let wrongHost = Reason(rawValue: "wrongHost")
        /// The chain is a certificate that signed itself.
        public static let selfSigned = Reason(rawValue: "selfSigned")
        /// The chain leads to no trusted root: one of its certificates was not sent, or the root is unknown.
        public static let unknownIssuer = Reason(rawValue: "unknownIssuer")
        /// The chain leads to a root, sent by the server, that is not trusted.
        public static let untrustedRoot = Reason(rawValue: "untrustedRoot")
        /// No pinned key or certificate is in the chain.
        public static let pin = Reason(rawValue: "pin")
        /// A certificate was revoked.
        public static let revoked = Reason(rawValue: "revoked")
        /// A key or signature is too weak.
        public static let weak = Reason(rawValue: "weak")
        /// An authority signed for names that it is not allowed to.
        public static let nameConstraint = Reason(rawValue: "nameConstraint")
        /// A certificate is not made for TLS servers.
        public static let purpose = Reason(rawValue: "purpose")
        /// More authorities stand in a row than one of them allows.
        public static let pathLength = Reason(rawValue: "pathLength")
        /// A certificate was signed by one that may not sign others.
        public static let notAnAuthority = Reason(rawValue: "notAnAuthority")
        /// A signature is wrong.
        public static let badSignature = Reason(rawValue: "badSignature")
        /// Whether a certificate was revoked had to be known, and was not.
        public static let unknownRevocation = Reason(rawValue: "unknownRevocation")
        /// A certificate breaks the rules of its format.
        public static let malformed = Reason(rawValue: "malformed")
        /// A hook of the policy refused the chain.
        public static let hook = Reason(rawValue: "hook")
        /// Something else is wrong with the chain.
        public static let other = Reason(rawValue: "other")
    }
}

extension SessionError.Code {
    /// A sentence for people, used where nothing more precise is known.
    var explanation: String { Self.explanations[self] ?? "the request failed" }

    private static let explanations: [Self: String] = [
        .invalidInput: "an input of the request is wrong",
        .status: "the status of the response is not acceptable",
        .contentType: "the content type of the response is not acceptable",
        .dns: "the host name was not found",
        .connect: "no connection could be made",
        .connectionLost: "the connection was lost",
        .truncated: "the response ended too early",
        .protocol: "the peer broke the protocol",
        .redirect: "a redirect was refused, or there were too many",
        .timeout: "a time limit passed",
        .untrusted: "the server's certificate was not accepted",
        .tls: "TLS failed",
        .tooLarge: "a size limit was passed",
        .authentication: "credentials are needed or were refused",
        .file: "a file could not be read or written",
        .serialization: "the data could not be encoded or decoded",
        .cancelled: "the request was cancelled",
        .bodyNotReplayable: "the body had to be sent again and can't be",
        .bodySource: "the source of the request body failed",
        .unsupported: "not supported here",
        .outOfMemory: "out of memory",
        .closed: "the session was invalidated",
        .interceptor: "an interceptor ended the request",
    ]
}

/// Lets `catch SessionError.Code.untrusted` match any error of that code.
public func ~= (code: SessionError.Code, error: any Error) -> Bool {
    (error as? SessionError)?.code == code
}

extension SessionError: CustomStringConvertible, CustomDebugStringConvertible {
    /// Code, reason, message and URL without user information, query and fragment. Of errors below, only those
    /// whose texts are known to be clean are shown in words; of others, the type.
    public var description: String {
        var text = code.rawValue
        if let reason { text += " (\(reason))" }
        text += ": \(message)"
        if let url { text += " [\(URLText(url).redacted)]" }
        switch underlying {
        case let error as SessionError: text += "; \(error)"
        case let error as JSONParseError: text += "; \(error)"
        case let error?: text += "; \(type(of: error))"
        case nil: break
        }
        return text
    }

    public var debugDescription: String { description }

    /// Everything: the complete URL, the response's headers, the body's start. For your own eyes only.
    public var fullDescription: String {
        var lines = ["\(code.rawValue)\(reason.map { " (\($0))" } ?? ""): \(message)"]
        if let url { lines.append("url: \(url)") }
        if let systemError { lines.append("errno: \(systemError)") }
        if let curlCode { lines.append("curl: \(curlCode)") }
        if let response {
            lines.append("response: \(response.version) \(response.status) \(response.reason)")
            if !response.headers.isEmpty { lines.append(response.headers.fullDescription) }
        }
        if let body {
            lines.append("body (\(body.count) bytes): \(String(decoding: body.prefix(1024), as: UTF8.self))")
        }
        switch underlying {
        case let error as SessionError: lines.append("underlying: \(error.fullDescription)")
        case let error?: lines.append("underlying: \(error)")
        case nil: break
        }
        return lines.joined(separator: "\n")
    }
}

extension SessionError: LocalizedError {
    /// ``description``: code that only knows `Error` shows it too.
    public var errorDescription: String? { description }
}

/// A mirror would show what ``SessionError/description`` hides, in `dump` and in test failures.
extension SessionError: CustomReflectable {
    public var customMirror: Mirror {
        Mirror(self, children: ["description": description])
    }
}

extension SessionError {
    fileprivate struct Values {
        var code: Code
        var reason: Reason?
        var message: String?
        var url: String?
        var response: HTTPResponse?
        var body: Data?
        var parsedBody: (any Sendable)?
        var metrics: ResponseMetrics?
        var trust: TrustReport?
        var resumeToken: ResumeToken?
        var underlying: (any Error)?
        var systemError: Int32?
        var curlCode: Int32?
    }

    /// Keeps the struct one word. Only ``SessionError`` touches it, and writes only what it holds alone.
    fileprivate final class Storage: @unchecked Sendable {
        var values: Values

        init(_ values: Values) {
            self.values = values
        }
    }
}
