internal import CAFCore
import FoundationEssentials

/// What a session does for every request that doesn't say otherwise, in the core's units.
struct CoreDefaults: Sendable {
    var connectMilliseconds: UInt32
    var idleMilliseconds: UInt32
    var totalMilliseconds: UInt32
    /// Of a body that is collected in memory.
    var bodyLimit: UInt64
    var headBytes: UInt32
    var headCount: UInt32
    var informational: UInt32
    var decodingRatio: UInt32
    var redirectPolicy: RedirectPolicy
    var version: HTTPVersionPreference
    var decompresses: Bool
    /// Bytes per second; zero is no limit.
    var sendRate: UInt64
    var receiveRate: UInt64
    var continueExpectation: HTTPRequest.ContinueExpectation
    var waitsForConnectivity: Bool
}

/// All that is needed to begin a task: the request, and what its session adds.
///
/// An object, because it is handed on from function to function and a request is large.
final class CoreOrder: Sendable {
    enum Sink: Equatable, Sendable {
        case memory
        case file(CoreFile)
        case events
    }

    /// Validated: no text in it contains NUL.
    let request: HTTPRequest
    let session: CoreSession
    let sink: Sink
    let interests: CoreTask.Interests
    /// Nil if nobody is to be asked about challenges.
    let responder: ChallengeResponder?

    init(
        request: consuming HTTPRequest, session: CoreSession, sink: Sink = .memory,
        interests: CoreTask.Interests = [], responder: ChallengeResponder? = nil
    ) {
        self.request = request
        self.session = session
        self.sink = sink
        self.interests = interests
        self.responder = responder
    }

    private var defaults: CoreDefaults { session.defaults }

    /// Of a download that is to go on.
    var resumeToken: ResumeToken? {
        if case .file(let file) = sink { file.token } else { nil }
    }

    /// The same with another priority and more to tell.
    func with(priority: Float?, interests more: CoreTask.Interests) -> CoreOrder {
        var request = request
        if request.priority != priority { request.priority = priority }
        return CoreOrder(
            request: request, session: session, sink: sink, interests: interests.union(more), responder: responder)
    }

    /// The same for another request.
    func with(request: HTTPRequest) throws(SessionError) -> CoreOrder {
        try request.validate()
        return CoreOrder(
            request: request, session: session, sink: sink, interests: interests, responder: responder)
    }

    /// The same once more. A download goes on with what has come of it, if that was kept.
    func resuming(after failure: SessionError?) -> CoreOrder {
        guard failure?.resumeToken != nil, case .file(var file) = sink, file.path != nil else { return self }
        file.options.insert(.resumes)
        return CoreOrder(
            request: request, session: session, sink: .file(file), interests: interests, responder: responder)
    }

    /// Nil without a limit.
    var totalTimeout: Duration? {
        let limit = request.timeouts.total ?? .milliseconds(defaults.totalMilliseconds)
        return limit > .zero ? limit : nil
    }

    /// Gives the request to `body` in the core's form. Texts live only until `body` returns; the core copies them.
    ///
    /// - Parameter body: The source of a body that is pulled.
    func withRequest<Result>(
        body source: CoreBodySource?, _ use: (UnsafePointer<af_request>) -> Result
    ) -> Result {
        // Valid, so that nothing is lost here.
        let credentials = request.credential.flatMap { try? CoreCredentials($0) }
        let proxyCredentials = request.proxyCredential.flatMap { try? CoreCredentials($0) }
        defer { withExtendedLifetime((credentials, proxyCredentials)) {} }
        let fields = request.headers.fields.count + request.headers.removedDefaults.count
        return withUnsafeTemporaryAllocation(of: af_header.self, capacity: fields) { headers in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: textSize) { memory in
                var texts = CoreTexts(memory)
                var core = coreRequest(&texts)
                core.header_count = texts.put(request.headers, into: headers)
                core.headers = UnsafePointer(headers.baseAddress)
                core.body = makeBody(source, &texts)
                core.credentials = credentials.map { UnsafePointer($0.raw) }
                core.proxy_credentials = proxyCredentials.map { UnsafePointer($0.raw) }
                return use(&core)
            }
        }
    }

    /// The source of a body that the core pulls; nil if it takes the body by itself.
    ///
    /// - Throws: What is wrong with a part of a form, such as a file that has vanished.
    func makeBodySource(for task: CoreTask) throws(SessionError) -> CoreBodySource? {
        switch request.body.content {
        case .none, .data, .file: nil
        case .reader(let reader): CoreReaderSource(reader)
        case .stream(let stream): CoreStreamSource(stream, for: task)
        case .form(let form): try CoreFormSource(form, for: task)
        }
    }

    private var textSize: Int {
        var size = CoreTexts.size(of: request.method.rawValue) + CoreTexts.size(of: request.url)
        size += CoreTexts.size(of: request.headers) + copiedBodySize
        if let proxy = request.proxy { size += CoreTexts.size(of: proxy.coreText) }
        if let document = request.mainDocumentURL { size += CoreTexts.size(of: document) }
        if let socket = request.unixSocket { size += CoreTexts.size(of: socket) }
        if let path = request.body.filePath { size += CoreTexts.size(of: path) }
        if case .file(let file) = sink { size += file.textSize }
        return size
    }

    private func coreRequest(_ texts: inout CoreTexts) -> af_request {
        var core = af_request()
        core.size = MemoryLayout<af_request>.stride
        core.method = texts.put(request.method.rawValue)
        core.url = texts.put(request.url)
        switch sink {
        case .memory: core.sink.kind = AF_SINK_MEMORY
        case .events: core.sink.kind = AF_SINK_CALLBACK
        case .file(let file): core.sink = file.sink(&texts)
        }
        core.timeouts = timeouts
        core.limits = limits
        core.version = af_http_version_preference(request.httpVersion ?? defaults.version)
        core.keep_encoding = !(request.decompressesBody ?? defaults.decompresses)
        core.allow_downgrade = redirectPolicy.allowsInsecureDowngrade
        core.priority = request.priority.map { UInt8(1 + $0 * 254) } ?? 0
        core.max_send_rate = request.rateLimit.sending.map(UInt64.init(clamping:)) ?? defaults.sendRate
        core.max_receive_rate = request.rateLimit.receiving.map(UInt64.init(clamping:)) ?? defaults.receiveRate
        core.expect = af_expect(request.continueExpectation ?? defaults.continueExpectation)
        core.proxy = request.proxy.flatMap { texts.put($0.coreText) }
        core.ignore_cookies = !request.handlesCookies
        core.main_document_url = request.mainDocumentURL.flatMap { texts.put($0) }
        core.unix_socket = request.unixSocket.flatMap { texts.put($0) }
        core.wait_for_network = request.waitsForConnectivity ?? defaults.waitsForConnectivity
        return core
    }

    private var timeouts: af_timeouts {
        af_timeouts(
            connect_ms: request.timeouts.connect?.coreMilliseconds ?? defaults.connectMilliseconds,
            idle_ms: request.timeouts.idle?.coreMilliseconds ?? defaults.idleMilliseconds,
            total_ms: request.timeouts.total?.coreMilliseconds ?? defaults.totalMilliseconds)
    }

    private var limits: af_limits {
        var limits = af_limits()
        limits.body = bodyLimit
        limits.head_bytes = request.limits.maximumHeaderBytes.map(UInt32.init(coreLimit:)) ?? defaults.headBytes
        limits.head_count = request.limits.maximumHeaderCount.map(UInt32.init(coreLimit:)) ?? defaults.headCount
        limits.informational = defaults.informational
        limits.decoding_ratio = defaults.decodingRatio
        limits.redirects = redirectPolicy.followsRedirects ? Int32(clamping: redirectPolicy.maximumCount) : -1
        return limits
    }

    /// To the core 0 is its default, which for files and events is none.
    private var bodyLimit: UInt64 {
        if let limit = request.limits.maximumBodySize { return max(1, UInt64(clamping: limit)) }
        return sink == .memory ? defaults.bodyLimit : 0
    }

    var redirectPolicy: RedirectPolicy { request.redirectPolicy ?? defaults.redirectPolicy }
}

extension af_http_version_preference {
    fileprivate init(_ preference: HTTPVersionPreference) {
        self =
            switch preference {
            case .http1_1: AF_HTTP_PREFER_1_1
            case .http2: AF_HTTP_PREFER_2
            case .http2PriorKnowledge: AF_HTTP_PREFER_2_PRIOR_KNOWLEDGE
            case .http3: AF_HTTP_PREFER_3
            default: AF_HTTP_PREFER_AUTOMATIC
            }
    }
}

extension af_expect {
    fileprivate init(_ expectation: HTTPRequest.ContinueExpectation) {
        self =
            switch expectation {
            case .automatic: AF_EXPECT_AUTOMATIC
            case .always: AF_EXPECT_ALWAYS
            case .never: AF_EXPECT_NEVER
            }
    }
}

extension UInt32 {
    /// A limit that the core would take for "the default" if it were 0.
    init(coreLimit: Int) {
        self = Swift.max(1, UInt32(clamping: coreLimit))
    }
}

extension Duration {
    /// Whole milliseconds, rounded up so that a short limit does not become none.
    var coreMilliseconds: UInt32 {
        let (seconds, attoseconds) = components
        guard seconds < Int64(UInt32.max / 1000) else { return .max }
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        return UInt32(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
