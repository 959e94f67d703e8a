public import FoundationEssentials

/// The error of a request. All functions of this module that send requests throw this type.
///
/// ```swift
/// do {
///     let user: User = try await manager.get("users/7")
/// } catch SessionError.Code.untrusted {
///     …                                       // by what went wrong
/// } catch {
///     print(error)                            // no password, query or token in it
///     let problem = try? error.decodeBody(as: Problem.self)
/// }
/// ```
///
/// Any version may add a ``Code``, so a `switch` over codes needs a `default`.
public struct SessionError: Error, Sendable {
    private var storage: Storage

    /// Creates an error with a code. All other properties can be set afterwards.
    ///
    /// - Parameters:
    ///   - code: The kind of the error.
    ///   - reason: The reason within the code; nil for none.
    ///   - message: What happened, in words that may be logged: no credentials, no queries. Nil uses the general
    ///     message of the code.
    ///   - url: The URL concerned, complete; descriptions hide its secrets.
    ///   - response: The head of the response, if there is one.
    ///   - body: The body of the response, if there is one.
    ///   - underlying: The error that caused this one.
    // Not inlined, because more than a hundred places create errors, and inlining would not make them faster.
    @inline(never)
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
        set { ownStorage().values.code = newValue }
    }

    /// A finer distinction within the code, such as which time limit passed, or why a chain was not trusted.
    public var reason: Reason? {
        get { storage.values.reason }
        set { ownStorage().values.reason = newValue }
    }

    /// The party that the error is about, if it is known: with ``Code/dns``, ``Code/connect``, ``Code/tls``,
    /// ``Code/untrusted`` and ``Code/authentication``. With ``Code/bodyNotReplayable``, the party that asks for
    /// credentials. Nil if the error is about this machine.
    public var party: Party? {
        get { storage.values.party }
        set { ownStorage().values.party = newValue }
    }

    /// What happened, in words that may be logged.
    public var message: String {
        get { storage.values.message ?? explanation }
        set { ownStorage().values.message = newValue }
    }

    /// The complete URL, with the parts that descriptions hide.
    public var url: String? {
        get { storage.values.url }
        set { ownStorage().values.url = newValue }
    }

    /// The status code of the response, if there is one.
    public var status: Int? { storage.values.response?.status }

    /// The head of the response, if there is one.
    public var response: HTTPResponse? {
        get { storage.values.response }
        set { ownStorage().values.response = newValue }
    }

    /// The body of the response, if there is one and it was collected in memory. If the body was cut short
    /// (``Code/truncated``, ``Code/connectionLost``, ``Code/protocol``, ``Code/timeout``) or the request was cancelled
    /// (``Code/cancelled``), these are the decoded bytes received until then. Of a response that refuses a WebSocket,
    /// at most 64 KiB are kept; ``message`` says if the body was cut.
    public var body: Data? {
        get { storage.values.body }
        set { ownStorage().values.body = newValue }
    }

    /// The value that the response serializer made from ``body`` although the response was refused, such as the
    /// ``JSONValue`` of a problem document.
    public var parsedBody: (any Sendable)? {
        get { storage.values.parsedBody }
        set { ownStorage().values.parsedBody = newValue }
    }

    /// The metrics of the hops up to the failure, also without a response.
    public var metrics: ResponseMetrics {
        get { storage.values.metrics ?? storage.values.response?.metrics ?? ResponseMetrics() }
        set { ownStorage().values.metrics = newValue }
    }

    /// The server's certificates and their evaluation, with ``Code/untrusted``.
    public var trust: TrustReport? {
        get { storage.values.trust }
        set { ownStorage().values.trust = newValue }
    }

    /// The token to resume a download whose partial file was kept; see
    /// `download(_:to:options:progress:)`.
    public var resumeToken: ResumeToken? {
        get { storage.values.resumeToken }
        set { ownStorage().values.resumeToken = newValue }
    }

    /// The size of a download's file in bytes when the transfer failed, whether or not the file was kept; nil if no
    /// response was received.
    package var partialFileSize: Int64? {
        get { storage.values.partialFileSize }
        set { ownStorage().values.partialFileSize = newValue }
    }

    /// The underlying error: of a parser, of a sequence, or the second of two validation errors.
    public var underlying: (any Error)? {
        get { storage.values.underlying }
        set { ownStorage().values.underlying = newValue }
    }

    /// The `errno` of the failed system call; nil if the cause was another one.
    public var systemError: Int32? {
        get { storage.values.systemError }
        set { ownStorage().values.systemError = newValue }
    }

    /// The `CURLcode` that libcurl returned; nil if the error isn't libcurl's.
    public var curlCode: Int32? {
        get { storage.values.curlCode }
        set { ownStorage().values.curlCode = newValue }
    }

    /// Decodes the body of a failed response, such as a problem document.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - decoder: Nil uses the ``HTTPSessionManager/decoder`` of the manager whose call failed, else a ``JSONCoder``.
    /// - Throws: ``Code/serialization`` if there is no body, or if it can't be decoded; ``underlying`` is then the
    ///   error of the decoder.
    public func decodeBody<Value: Decodable>(
        as type: Value.Type = Value.self,
        decoder: (any DataDecoder)? = nil
    ) throws(SessionError) -> Value {
        guard let body, !body.isEmpty else {
            throw SessionError(.serialization, message: "the failed response has no body", url: url)
        }
        do {
            return try (decoder ?? storage.values.decoder ?? JSONCoder()).decodeReceived(type, from: body)
        } catch {
            throw SessionError(
                .serialization, message: "the body of the failed response \(DecodingFailure.text(error, of: type))",
                url: url, response: response, body: body, underlying: error)
        }
    }

    /// Whether this error or one of its underlying errors has the given code.
    public func contains(_ code: Code) -> Bool {
        self.code == code || (underlying as? SessionError)?.contains(code) ?? false
    }

    /// Returns this error with the decoder for ``decodeBody(as:decoder:)``, unless it has one.
    func decoded(by decoder: any DataDecoder) -> SessionError {
        var error = self
        if error.storage.values.decoder == nil { error.ownStorage().values.decoder = decoder }
        return error
    }

    /// Creates the error of a download that can be resumed with this token.
    init(_ code: Code, url: String?, resumeToken: ResumeToken?) {
        self.init(code, url: url)
        storage.values.resumeToken = resumeToken
    }

    /// The error if the total time limit passes between two transfers, or before the first one. Its message is that of
    /// the core, which reports the limit within a transfer.
    static func totalTimeout(url: String? = nil) -> SessionError {
        SessionError(.timeout, reason: .total, message: "total timeout: not complete in time", url: url)
    }

    /// Whether a time limit of the whole request has passed, so that another attempt would have no time.
    var hasNoTimeLeft: Bool { reason == .total || reason == .notOpen }

    /// Returns the storage, after it has been copied if another error shares it (copy on write).
    // Not inlined, because each setter would contain the code that copies all values.
    @inline(never)
    private mutating func ownStorage() -> Storage {
        if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.values) }
        return storage
    }
}

extension SessionError {
    /// The kind of an error. Later versions may add codes.
    public struct Code: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
        /// The name, such as `timeout`, which stays the same in later versions. The command line program groups some of
        /// them; see docs/cli.md.
        public let rawValue: String

        /// Creates a value with any name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        public var description: String { rawValue }

        /// An input is invalid: nothing was sent, unless it concerns the response, such as the request that a redirect
        /// handler returns, or the path of a download that is named by its response.
        public static let invalidInput = Code(rawValue: "invalidInput")
        /// The status code isn't acceptable.
        public static let status = Code(rawValue: "status")
        /// The content type isn't acceptable.
        public static let contentType = Code(rawValue: "contentType")
        /// The host name couldn't be resolved.
        public static let dns = Code(rawValue: "dns")
        /// The connection to the server or proxy failed.
        public static let connect = Code(rawValue: "connect")
        /// The connection was lost before the response, or reset within its body.
        public static let connectionLost = Code(rawValue: "connectionLost")
        /// The response body ended early.
        public static let truncated = Code(rawValue: "truncated")
        /// The server or proxy violated HTTP.
        public static let `protocol` = Code(rawValue: "protocol")
        /// Too many redirects, or a redirect that isn't allowed.
        public static let redirect = Code(rawValue: "redirect")
        /// The request timed out; ``SessionError/reason`` names the limit.
        public static let timeout = Code(rawValue: "timeout")
        /// The server's certificate was refused; ``SessionError/reason`` says why.
        public static let untrusted = Code(rawValue: "untrusted")
        /// TLS failed for a reason other than trust.
        public static let tls = Code(rawValue: "tls")
        /// A size limit was exceeded.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// Credentials are required or were refused.
        public static let authentication = Code(rawValue: "authentication")
        /// A local file couldn't be read or written.
        public static let file = Code(rawValue: "file")
        /// The parameters couldn't be encoded, or the response couldn't be decoded.
        public static let serialization = Code(rawValue: "serialization")
        /// The request was cancelled.
        public static let cancelled = Code(rawValue: "cancelled")
        /// The request body can't be replayed.
        public static let bodyNotReplayable = Code(rawValue: "bodyNotReplayable")
        /// The sequence of the request body failed, or produced a different number of bytes than declared.
        public static let bodySource = Code(rawValue: "bodySource")
        /// This build or this libcurl doesn't support the request.
        public static let unsupported = Code(rawValue: "unsupported")
        /// Out of memory, or too many open files.
        public static let outOfMemory = Code(rawValue: "outOfMemory")
        /// The manager was invalidated, or the WebSocket is closed.
        public static let closed = Code(rawValue: "closed")
        /// An interceptor refused the request or failed; ``SessionError/underlying`` is its error.
        public static let interceptor = Code(rawValue: "interceptor")
        /// Any other error.
        public static let unknown = Code(rawValue: "unknown")
    }

    /// The reason within a code. Later versions may add reasons.
    public struct Reason: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
        /// The name, such as `expired`, which stays the same in later versions. The command line program groups some of
        /// them; see docs/cli.md.
        public let rawValue: String

        /// Creates a value with any name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        public var description: String { rawValue }

        // Reasons of `timeout`.
        /// The time limit to connect was exceeded.
        public static let connect = Reason(rawValue: "connect")
        /// The idle time limit was exceeded.
        public static let idle = Reason(rawValue: "idle")
        /// The total time limit was exceeded.
        public static let total = Reason(rawValue: "total")

        // Reasons of `untrusted`.
        /// A certificate has expired.
        public static let expired = Reason(rawValue: "expired")
        /// A certificate isn't valid yet.
        public static let notYetValid = Reason(rawValue: "notYetValid")
        /// The certificate is for other host names.
        public static let wrongHost = Reason(rawValue: "wrongHost")
        /// The certificate is self-signed.
        public static let selfSigned = Reason(rawValue: "selfSigned")
        /// No path to a trusted root was found: an intermediate wasn't sent, or the root is unknown.
        public static let unknownIssuer = Reason(rawValue: "unknownIssuer")
        /// The server sent a root that isn't trusted.
        public static let untrustedRoot = Reason(rawValue: "untrustedRoot")
        /// The chain has no pinned key or certificate.
        public static let pin = Reason(rawValue: "pin")
        /// A certificate was revoked.
        public static let revoked = Reason(rawValue: "revoked")
        /// A key or signature is too weak.
        public static let weak = Reason(rawValue: "weak")
        /// A name constraint of an authority was violated.
        public static let nameConstraint = Reason(rawValue: "nameConstraint")
        /// A certificate isn't valid for TLS servers.
        public static let purpose = Reason(rawValue: "purpose")
        /// A path length constraint was violated.
        public static let pathLength = Reason(rawValue: "pathLength")
        /// A certificate was signed by one that isn't an authority.
        public static let notAnAuthority = Reason(rawValue: "notAnAuthority")
        /// A signature is invalid.
        public static let badSignature = Reason(rawValue: "badSignature")
        /// The revocation status was required but unknown.
        public static let unknownRevocation = Reason(rawValue: "unknownRevocation")
        /// A certificate is malformed.
        public static let malformed = Reason(rawValue: "malformed")
        /// The handler of the policy refused the chain.
        public static let handler = Reason(rawValue: "handler")
        /// Another fault of the chain.
        public static let other = Reason(rawValue: "other")

        // With other codes.

        /// With ``Code/invalidInput``: the URL has no scheme, such as `example.org/a`.
        public static let noScheme = Reason(rawValue: "noScheme")
        /// With ``Code/invalidInput``: the URL names an IPv6 zone, which URLs can't (RFC 9844).
        public static let ipv6Zone = Reason(rawValue: "ipv6Zone")
        /// With ``Code/invalidInput``: an entry of ``NetworkOptions/hostOverrides`` is invalid.
        public static let hostOverride = Reason(rawValue: "hostOverride")
        /// With ``Code/invalidInput``: a client certificate or its key can't be read, perhaps for lack of its password.
        public static let keyPassword = Reason(rawValue: "keyPassword")
        /// With ``Code/invalidInput``: the bytes of a client certificate aren't a valid certificate.
        public static let clientCertificate = Reason(rawValue: "clientCertificate")
        /// With ``Code/invalidInput``: the key of a client certificate isn't valid, or belongs to another
        /// certificate.
        public static let clientKey = Reason(rawValue: "clientKey")
        /// With ``Code/invalidInput``: a proxy in ``SessionConfiguration/proxies`` is invalid.
        public static let proxyURL = Reason(rawValue: "proxyURL")
        /// With ``Code/invalidInput``: ``SecurityPolicy/anchors`` are invalid.
        public static let anchors = Reason(rawValue: "anchors")
        /// With ``Code/invalidInput``: a pin or a pinned certificate of a ``SecurityPolicy`` is invalid.
        public static let pinning = Reason(rawValue: "pinning")
        /// With ``Code/invalidInput``: ``TLSOptions/ciphers`` or ``TLSOptions/cipherSuites`` names none
        /// that OpenSSL supports.
        public static let ciphers = Reason(rawValue: "ciphers")
        /// With ``Code/invalidInput`` and ``Code/unsupported``: ``NetworkOptions/dnsOverHTTPS`` is invalid, or can't be
        /// used with other options.
        public static let dnsOverHTTPSURL = Reason(rawValue: "dnsOverHTTPSURL")
        /// With ``Code/dns`` and ``Code/connect``: this machine has no route to the internet, and the failure is that
        /// of a missing route, or of a name that wasn't found.
        public static let offline = Reason(rawValue: "offline")
        /// With ``Code/dns``: the server of DNS over HTTPS didn't find the name, or couldn't be reached.
        public static let dnsOverHTTPS = Reason(rawValue: "dnsOverHTTPS")
        /// With ``Code/connect``: ``NetworkOptions/interface`` isn't an interface or an address of this machine.
        public static let interface = Reason(rawValue: "interface")
        /// With ``Code/redirect``: ``RedirectPolicy/maximumCount`` was exceeded.
        public static let redirectLimit = Reason(rawValue: "redirectLimit")
        /// With ``Code/tooLarge``: ``SessionConfiguration/Limits/maximumBodySize`` or that of
        /// ``HTTPRequest/Limits`` was exceeded. ``StreamedResponse/collect(upTo:)`` has no reason.
        public static let bodyLimit = Reason(rawValue: "bodyLimit")
        /// With ``Code/tooLarge``: ``SessionConfiguration/Limits/maximumHeaderBytes`` or
        /// ``SessionConfiguration/Limits/maximumHeaderCount`` was exceeded.
        public static let headLimit = Reason(rawValue: "headLimit")
        /// With ``Code/tooLarge``: libcurl's own limit for a line, 100 KiB in the head and 4 KiB in trailers.
        public static let lineLimit = Reason(rawValue: "lineLimit")
        /// With ``Code/tooLarge``: a compressed body decodes to more than
        /// ``SessionConfiguration/Limits/maximumDecodingRatio`` times its size, perhaps to exhaust the memory. Raise
        /// the limit only for servers that you trust.
        public static let decodedLimit = Reason(rawValue: "decodedLimit")
        /// With ``Code/tooLarge``: a message of a WebSocket exceeds its limit.
        public static let messageLimit = Reason(rawValue: "messageLimit")
        /// With ``Code/protocol``: the body can't be decoded. Its `Content-Encoding` isn't known, or it isn't encoded
        /// like that. ``HTTPRequest/decompressesBody`` `= false` gives it as it is.
        public static let contentCoding = Reason(rawValue: "contentCoding")
        /// With ``Code/protocol``: the body doesn't match the digest in a field of its response (RFC 9530).
        public static let declaredDigest = Reason(rawValue: "declaredDigest")
        /// With ``Code/protocol``: the file has another digest than ``DownloadDestination/verified(by:)`` expects.
        public static let digest = Reason(rawValue: "digest")
        /// With ``Code/authentication``: the proxy of a tunnel needs credentials, or refused them.
        public static let proxyCredentials = Reason(rawValue: "proxyCredentials")
        /// With ``Code/bodyNotReplayable``: credentials are asked for, but the body can't be sent again with them.
        public static let credentials = Reason(rawValue: "credentials")
        /// With ``Code/tls``: the server doesn't use TLS on this port.
        public static let notTLS = Reason(rawValue: "notTLS")
        /// With ``Code/tls``: the server and this client have no TLS version in common.
        public static let tlsVersion = Reason(rawValue: "tlsVersion")
        /// With ``Code/tls``: the server requires a client certificate.
        public static let certificateRequired = Reason(rawValue: "certificateRequired")
        /// With ``Code/tls``: the server refused the client certificate.
        public static let certificateRefused = Reason(rawValue: "certificateRefused")
        /// With ``Code/tls``: the server ended the handshake without a reason. With TLS 1.2 it may require a client
        /// certificate.
        public static let handshakeRefused = Reason(rawValue: "handshakeRefused")
        /// With ``Code/timeout``: the peer of a WebSocket sent no pong in time.
        public static let noPong = Reason(rawValue: "noPong")
        /// With ``Code/timeout``: the peer of a WebSocket didn't finish the closing handshake in time.
        public static let noCloseFrame = Reason(rawValue: "noCloseFrame")
        /// With ``Code/timeout``: a WebSocket wasn't open after ``WebSocket/Options/openTimeout``, or the request's
        /// total time limit.
        public static let notOpen = Reason(rawValue: "notOpen")
    }

    /// The party that an error is about. Later versions may add parties.
    public struct Party: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
        /// The name, such as `proxy`, which stays the same in later versions.
        public let rawValue: String

        /// Creates a value with any name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        public var description: String { rawValue }

        /// The server, or the connection to it.
        public static let server = Party(rawValue: "server")
        /// The proxy, its name, or the connection to it.
        public static let proxy = Party(rawValue: "proxy")
        /// The system's resolver, a DNS server, or the server of DNS over HTTPS.
        public static let resolver = Party(rawValue: "resolver")
    }
}

extension SessionError {
    /// The message of an error that was created without one.
    private var explanation: String {
        if code == .status, let response { return "unacceptable status \(response.status)" }
        return code.explanation
    }
}

extension SessionError.Code {
    /// A general message, used if there is no specific one.
    var explanation: String { coreExplanation ?? Self.explanations[self] ?? "the request failed" }

    /// Messages of the codes that the core doesn't have.
    private static let explanations: [Self: String] = [
        .status: "the status of the response is not acceptable",
        .contentType: "the content type of the response is not acceptable",
        .serialization: "the data could not be encoded or decoded",
        .interceptor: "an interceptor ended the request",
    ]
}

extension Error {
    /// The error as a ``SessionError``; nil if it has another type. For `catch` in places where the type of errors
    /// isn't known, such as task groups.
    ///
    /// ```swift
    /// Task {
    ///     do { … } catch { print(error.asSessionError?.status ?? 0) }
    /// }
    /// ```
    public var asSessionError: SessionError? { self as? SessionError }

    /// Whether the work was cancelled, which programs usually don't show as a failure: `CancellationError`, or a
    /// ``SessionError`` with code ``SessionError/Code/cancelled``, which requests throw instead.
    ///
    /// ```swift
    /// catch where error.isCancellation { return }
    /// ```
    public var isCancellation: Bool { self is CancellationError || asSessionError?.code == .cancelled }
}

/// Lets `catch SessionError.Code.untrusted` match any error of that code.
public func ~= (code: SessionError.Code, error: any Error) -> Bool {
    (error as? SessionError)?.code == code
}

extension SessionError: CustomStringConvertible, CustomDebugStringConvertible {
    /// Code, reason, message, and the URL without user information, query and fragment. Underlying errors of this
    /// module are included, because their texts contain no secrets; of others, only the type is.
    public var description: String {
        var text = code.rawValue
        if let reason { text += " (\(reason))" }
        text += ": \(message)"
        if let url, !url.isEmpty { text += " [\(URLText(url).redacted)]" }
        switch underlying {
        case let error as SessionError: text += "; \(error)"
        case let error as JSONParseError: text += "; \(error)"
        case let error?: text += "; \(type(of: error))"
        case nil: break
        }
        return text
    }

    public var debugDescription: String { description }

    /// All details: the complete URL, the response's fields, the start of the body. May contain secrets.
    public var fullDescription: String {
        var lines = ["\(code.rawValue)\(reason.map { " (\($0))" } ?? ""): \(message)"]
        if let party { lines.append("party: \(party)") }
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

/// Replaces the default mirror, which would show what ``SessionError/description`` hides, in `dump` and in test
/// failures.
extension SessionError: CustomReflectable {
    public var customMirror: Mirror {
        Mirror(self, children: ["description": description])
    }
}

extension SessionError {
    fileprivate struct Values {
        var code: Code
        var reason: Reason?
        var party: Party?
        var message: String?
        var url: String?
        var response: HTTPResponse?
        var body: Data?
        var parsedBody: (any Sendable)?
        var metrics: ResponseMetrics?
        var trust: TrustReport?
        var resumeToken: ResumeToken?
        var partialFileSize: Int64?
        var underlying: (any Error)?
        var systemError: Int32?
        var curlCode: Int32?
        /// The decoder of the manager whose call failed.
        var decoder: (any DataDecoder)?
    }

    /// The values, in an object so that ``SessionError`` is one word. Sendable, because only ``SessionError`` uses it,
    /// and writes to it only while no other error shares it.
    fileprivate final class Storage: @unchecked Sendable {
        var values: Values

        init(_ values: Values) {
            self.values = values
        }
    }
}
