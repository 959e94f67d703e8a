internal import CAFCore
import FoundationEssentials

/// Everything that a transfer needs: the request, its session, and the handlers that are called.
///
/// A class, because it is passed through many functions and a request is large.
final class CoreRequest: Sendable {
    enum Sink: Equatable, Sendable {
        case memory
        case file(CoreFile)
        case callback
        /// None: only a connection is made (`AFC_REQUEST_CONNECT_ONLY`).
        case connection
    }

    /// The validated request: its strings don't contain NUL.
    let http: HTTPRequest
    let session: CoreSession
    let sink: Sink
    let handlers: TransferHandlers

    init(_ http: consuming HTTPRequest, session: CoreSession, sink: Sink, handlers: TransferHandlers) {
        http.addCacheFields()
        self.http = http
        self.session = session
        self.sink = sink
        self.handlers = handlers
    }

    /// Returns a copy with changes. A different request must already be validated.
    func with(http: HTTPRequest? = nil, sink: Sink? = nil, handlers: TransferHandlers? = nil) -> CoreRequest {
        CoreRequest(
            http ?? self.http, session: session, sink: sink ?? self.sink, handlers: handlers ?? self.handlers)
    }

    /// The token of a resumed download.
    var resumeToken: ResumeToken? {
        if case .file(let file) = sink { file.token } else { nil }
    }

    /// The error of a request that begins after its session was closed.
    var closed: SessionError { SessionError(.closed, url: http.url, resumeToken: resumeToken) }

    /// Returns the request for a retry. A download resumes its partial file, if that was kept.
    func resuming(after failure: SessionError?) -> CoreRequest {
        guard failure?.resumeToken != nil, case .file(var file) = sink, file.path != nil else { return self }
        file.options.insert(.resumes)
        return with(sink: .file(file))
    }

    /// The limit on the total time; nil for no limit.
    var totalTimeout: Duration? {
        guard let limit = http.timeouts.total ?? session.configuration.timeouts.total, limit > .zero else { return nil }
        return limit
    }

    /// Calls `use` with the request as a core value. The value and its strings are valid only until `use` returns;
    /// afc_task_begin() copies them.
    ///
    /// - Parameter body: The source of a body that the core reads through callbacks.
    // Short, because it is compiled again for each closure that it is called with.
    func withRequest<Result>(
        body source: CoreBodySource?, _ use: (UnsafePointer<afc_request>) -> Result
    ) -> Result {
        // Only credentials need an arena, which erases its memory. They are already validated, so copying them can't
        // fail.
        let arena = http.credential == nil && http.proxyCredential == nil ? nil : CoreArena()
        defer { withExtendedLifetime(arena) {} }
        let fields = http.headers.fields.count + http.headers.suppressedDefaults.count
        return withUnsafeTemporaryAllocation(of: afc_header.self, capacity: fields) { headers in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: textSize) { memory in
                var texts = CStringArena(memory)
                var core = coreRequest(source, headers, &texts, arena)
                return use(&core)
            }
        }
    }

    /// Returns the source of a body that the core reads through callbacks; nil for a body that the core reads from
    /// memory or a file.
    ///
    /// - Throws: The error of a form part, such as a missing file.
    func makeBodySource(for task: CoreTask) throws(SessionError) -> CoreBodySource? {
        switch http.body.content {
        case .none, .data, .file, .json, .jsonParameters, .invalid: nil
        case .stream(let stream): CoreStreamSource(stream, for: task)
        case .form(let form): try CoreFormSource(form, for: task)
        }
    }

    /// Whether the core decodes the response body if it is encoded. False for HEAD, whose response has no body.
    var decodesBody: Bool {
        http.method != .head && (http.decompressesBody ?? session.configuration.decompressesBodies)
    }

    /// The number of bytes of all strings that `coreRequest` puts into its arena. Must include each of them.
    private var textSize: Int {
        var size = CStringArena.size(of: http.method.rawValue) + CStringArena.size(of: http.url)
        size += CStringArena.size(of: http.headers) + copiedBodySize
        if let proxy = http.proxy { size += CStringArena.size(of: proxy.coreText) }
        if let document = http.mainDocumentURL { size += CStringArena.size(of: document) }
        if let socket = http.unixSocket { size += CStringArena.size(of: socket) }
        if let path = http.body.filePath { size += CStringArena.size(of: path) }
        if case .file(let file) = sink { size += file.textSize }
        return size
    }

    /// Returns the request as a core value, with its fields in `headers` and its strings in `texts`. `arena` is nil
    /// without credentials.
    private func coreRequest(
        _ source: CoreBodySource?, _ headers: UnsafeMutableBufferPointer<afc_header>, _ texts: inout CStringArena,
        _ arena: CoreArena?
    ) -> afc_request {
        var core = afc_request()
        core.size = MemoryLayout<afc_request>.stride
        core.method = texts.put(http.method.rawValue)
        core.url = texts.put(http.url)
        switch sink {
        case .memory: core.sink.kind = AFC_SINK_MEMORY
        case .connection: core.flags |= UInt32(AFC_REQUEST_CONNECT_ONLY)
        case .callback: core.sink.kind = AFC_SINK_CALLBACK
        case .file(let file): core.sink = file.sink(&texts)
        }
        if http.collapsesRequests ?? session.configuration.collapsesRequests {
            core.flags |= UInt32(AFC_REQUEST_COLLAPSE)
        }
        if http.mergesCookies { core.flags |= UInt32(AFC_REQUEST_MERGE_COOKIES) }
        core.timeouts = timeouts
        core.limits = limits
        core.memory_limit = max(1, UInt64(clamping: session.configuration.limits.maximumBodySize))
        core.version = afc_http_version_preference(http.httpVersion ?? session.configuration.httpVersion)
        core.keep_encoding = !(http.decompressesBody ?? session.configuration.decompressesBodies)
        core.allow_downgrade = redirectPolicy.allowsInsecureDowngrade
        core.priority = http.priority.map(corePriority) ?? 0
        core.max_send_bytes_per_s = UInt64(
            clamping: http.rateLimit.sendBytesPerSecond ?? session.configuration.rateLimit.sendBytesPerSecond ?? 0)
        core.max_receive_bytes_per_s = UInt64(
            clamping: http.rateLimit.receiveBytesPerSecond ?? session.configuration.rateLimit.receiveBytesPerSecond ?? 0
        )
        core.expect = afc_expect(http.continueExpectation ?? session.configuration.continueExpectation)
        core.proxy = http.proxy.flatMap { texts.put($0.coreText) }
        core.ignore_cookies = !http.handlesCookies
        core.cache_policy = afc_http_cache_policy(http.hints.cachePolicy)
        core.main_document_url = http.mainDocumentURL.flatMap { texts.put($0) }
        core.unix_socket = http.unixSocket.flatMap { texts.put($0) }
        core.wait_for_network = http.waitsForConnectivity ?? session.configuration.waitsForConnectivity
        core.header_count = texts.put(http.headers, into: headers)
        core.headers = UnsafePointer(headers.baseAddress)
        core.body = makeBody(source, &texts)
        core.credentials = http.credential.flatMap { try? arena?.copy($0) }
        core.proxy_credentials = http.proxyCredential.flatMap { try? arena?.copy($0) }
        return core
    }

    /// Maps 0...1 to the core's 1...255, so that 0.5 becomes 16, the core's default.
    private func corePriority(_ priority: HTTPRequest.Priority) -> UInt8 {
        let priority = priority.rawValue
        return UInt8(priority < 0.5 ? 1 + priority * 30 : 16 + (priority - 0.5) * 478)
    }

    private var timeouts: afc_timeouts {
        var timeouts = session.timeouts
        timeouts.replace(by: http.timeouts)
        return timeouts
    }

    private var limits: afc_limits {
        let (own, defaults) = (http.limits, session.configuration.limits)
        var limits = afc_limits()
        // For the core, 0 means its default, which is unlimited for files and callbacks.
        if let body = own.maximumBodySize { limits.body_bytes = max(1, UInt64(clamping: body)) }
        limits.head_bytes = UInt32(coreLimit: own.maximumHeaderBytes ?? defaults.maximumHeaderBytes)
        limits.head_count = UInt32(coreLimit: own.maximumHeaderCount ?? defaults.maximumHeaderCount)
        limits.informational = UInt32(coreLimit: defaults.maximumInformationalResponses)
        limits.decoding_ratio = UInt32(coreLimit: defaults.maximumDecodingRatio)
        limits.redirects = redirectPolicy.followsRedirects ? Int32(clamping: redirectPolicy.maximumCount) : -1
        return limits
    }

    private var redirectPolicy: RedirectPolicy { http.redirectPolicy ?? session.configuration.redirectPolicy }

    /// Whether every redirect is an error: a maximum of 0. The core can't express that, because its limits start at 1.
    var refusesRedirects: Bool { redirectPolicy.followsRedirects && redirectPolicy.maximumCount == 0 }
}

extension afc_timeouts {
    /// Replaces the time limits by those of `limits` that aren't nil.
    mutating func replace(by limits: HTTPRequest.Timeouts) {
        if let connect = limits.connect { connect_ms = connect.coreMilliseconds }
        if let idle = limits.idle { idle_ms = idle.coreMilliseconds }
        if let total = limits.total { total_ms = total.coreMilliseconds }
    }
}

extension afc_http_version_preference {
    fileprivate init(_ preference: HTTPVersionPreference) {
        self =
            switch preference {
            case .http1_1: AFC_HTTP_PREFER_1_1
            case .http2: AFC_HTTP_PREFER_2
            case .http2PriorKnowledge: AFC_HTTP_PREFER_2_PRIOR_KNOWLEDGE
            case .http3: AFC_HTTP_PREFER_3
            default: AFC_HTTP_PREFER_AUTOMATIC
            }
    }
}

extension afc_expect {
    fileprivate init(_ expectation: HTTPRequest.ContinueExpectation) {
        self =
            switch expectation {
            case .automatic: AFC_EXPECT_AUTOMATIC
            case .always: AFC_EXPECT_ALWAYS
            case .never: AFC_EXPECT_NEVER
            }
    }
}

extension HTTPRequest.Proxy {
    /// The proxy for `afc_request.proxy`, where "" means none. An empty URL becomes an invalid one, so that the core
    /// refuses it.
    fileprivate var coreText: String {
        switch self {
        case .direct: ""
        case .url(let text): text.isEmpty ? "http://" : text
        }
    }
}

extension UInt32 {
    /// Creates a limit for the core. At least 1, because 0 stands for the core's default.
    init(coreLimit: Int) {
        self = Swift.max(1, UInt32(clamping: coreLimit))
    }
}

extension Duration {
    /// The duration in milliseconds, rounded up, because 0 would mean no limit.
    var coreMilliseconds: UInt32 {
        UInt32(clamping: wholeMillisecondsRoundedUp)
    }
}
