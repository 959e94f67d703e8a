public import FoundationEssentials

/// Adds trace headers to requests (W3C Trace Context), and reports a span for each attempt.
///
/// ```swift
/// manager.interceptors = [TraceContext { span in exporter.export(span) }]
/// try await TraceContext.$current.withValue(incoming) {
///     let user: User = try await manager.get("users/7")
///     print(user.name)
/// }
/// ```
///
/// Every attempt gets a `traceparent` with a span ID of its own. Its trace is that of ``current``, or a new one for
/// each request. A request with its own `traceparent` isn't changed. Event monitors find the span in the fields of
/// ``EventMonitor/requestSent(_:as:attempt:)`` with ``TracePosition/init(traceparent:tracestate:)``.
///
/// Put it last in ``HTTPSessionManager/interceptors``, so that spans don't include the work of other interceptors.
public struct TraceContext: RequestInterceptor {
    /// The span that requests of this task belong to, such as that of an incoming request.
    @TaskLocal public static var current: TracePosition?

    static let traceparent = "traceparent"
    static let tracestate = "tracestate"

    private let samples: Bool
    private let report: (@Sendable (RequestSpan) -> Void)?
    /// Random numbers that the trace IDs are derived from, so that they are unpredictable, and unique in the process.
    private let seed = (UInt64.random(in: 1 ... .max), UInt64.random(in: 1 ... .max))

    /// Creates an interceptor that adds trace headers.
    ///
    /// - Parameters:
    ///   - samples: Whether new traces are marked as sampled.
    ///   - report: Called with the span of each attempt when it has ended; for a stream, when its head has arrived, so
    ///     that its span lacks the address of the peer and the metrics. Must not block.
    public init(samples: Bool = true, reporting report: (@Sendable (RequestSpan) -> Void)? = nil) {
        self.samples = samples
        self.report = report
    }

    public func intercept(_ request: HTTPRequest, next: RequestSender) async throws -> Response<Data> {
        guard !request.headers.contains(named: Self.traceparent) else { return try await next(request) }
        let parent = Self.current
        let position = parent?.makeChild() ?? root(of: next.attempt)
        var request = request
        request.headers[Self.traceparent] = position.traceparent
        if let state = position.tracestate, !request.headers.contains(named: Self.tracestate) {
            request.headers[Self.tracestate] = state
        }
        guard let report else { return try await next(request) }
        var span = RequestSpan(position: position, parent: parent, request: request, attempt: next.attempt.number)
        do throws(SessionError) {
            let response = try await next(request)
            span.end(response.head, nil)
            report(span)
            return response
        } catch {
            span.end(error.response, error)
            report(span)
            throw error
        }
    }

    private func root(of attempt: RequestAttempt) -> TracePosition {
        // Adds the request's number times an odd constant, which is a different value for each number.
        let low = seed.1 &+ attempt.requestID &* 0x9E37_79B9_7F4A_7C15
        return TracePosition(trace: (seed.0, low), span: .random(in: 1 ... .max), isSampled: samples)
    }
}

/// The position of a span in a trace, which `traceparent` and `tracestate` contain.
public struct TracePosition: Hashable, Sendable {
    /// The ID of the trace: 32 hexadecimal digits in lower case, not all zero.
    public let traceID: String
    /// The ID of the span: 16 hexadecimal digits in lower case, not all zero.
    public let spanID: String
    /// Whether the trace is recorded.
    public let isSampled: Bool
    /// The value of `tracestate`, passed on unchanged; nil without one.
    public let tracestate: String?

    init(trace: (UInt64, UInt64), span: UInt64, isSampled: Bool) {
        traceID = Self.hex(trace.0) + Self.hex(trace.1)
        spanID = Self.hex(span)
        self.isSampled = isSampled
        tracestate = nil
    }

    private init(traceID: String, spanID: String, isSampled: Bool, tracestate: String?) {
        self.traceID = traceID
        self.spanID = spanID
        self.isSampled = isSampled
        self.tracestate = tracestate
    }

    /// Parses header values; nil if `traceparent` is invalid. Of later versions, the parts that version 00 has are
    /// read. An empty or too long `tracestate` (over 512 bytes) is dropped.
    public init?(traceparent: String, tracestate: String? = nil) {
        let parts = ASCII.trimmingBlanks(traceparent[...]).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 4, Self.isHex(parts[0], 2), parts[0] != "ff", parts[0] != "00" || parts.count == 4,
            Self.isHex(parts[1], 32), Self.isHex(parts[2], 16), Self.isHex(parts[3], 2),
            parts[1].utf8.contains(where: { $0 != 0x30 }), parts[2].utf8.contains(where: { $0 != 0x30 }),
            let flags = Int(parts[3], radix: 16)
        else { return nil }
        let state = tracestate.flatMap { $0.isEmpty || $0.utf8.count > 512 ? nil : $0 }
        self.init(traceID: String(parts[1]), spanID: String(parts[2]), isSampled: flags & 1 == 1, tracestate: state)
    }

    /// The value of `traceparent`.
    public var traceparent: String { "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")" }

    /// Returns a new span in the same trace.
    public func makeChild() -> TracePosition {
        TracePosition(
            traceID: traceID, spanID: Self.hex(.random(in: 1 ... .max)), isSampled: isSampled, tracestate: tracestate)
    }

    private static func hex(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func isHex(_ text: Substring, _ count: Int) -> Bool {
        text.utf8.count == count
            && text.utf8.allSatisfy { ASCII.isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
    }
}

/// The span of one attempt of a request. The names of ``attributes`` are those of OpenTelemetry.
public struct RequestSpan: Sendable {
    /// The span.
    public let position: TracePosition
    /// The span that the request belongs to; nil if the request began a trace.
    public let parent: TracePosition?
    /// The method, such as `GET`.
    public let name: String
    /// When the attempt began.
    public let start: Date
    /// When the attempt ended.
    public private(set) var end: Date
    /// The method, the URL without user information and with its query redacted, status, version, number of retries,
    /// the server's name and port by the URL, the peer's address, and the error's code.
    public private(set) var attributes: [String: String]
    /// The error of the attempt, if it failed.
    public private(set) var error: SessionError?
    /// The metrics of the attempt's hops.
    public private(set) var metrics = ResponseMetrics()

    /// Creates a span, for tests of an exporter.
    public init(
        position: TracePosition, parent: TracePosition? = nil, name: String, start: Date, end: Date,
        attributes: [String: String] = [:], error: SessionError? = nil, metrics: ResponseMetrics = ResponseMetrics()
    ) {
        self.position = position
        self.parent = parent
        self.name = name
        self.start = start
        self.end = end
        self.attributes = attributes
        self.error = error
        self.metrics = metrics
    }

    init(position: TracePosition, parent: TracePosition?, request: HTTPRequest, attempt: Int) {
        self.position = position
        self.parent = parent
        name = request.method.rawValue
        start = .now
        end = start
        attributes = [
            "http.request.method": request.method.rawValue,
            "url.full": URLText(request.url).redacted,
        ]
        attributes["server.address"] = request.host
        attributes["server.port"] = request.port.map { String($0) }
        if attempt > 1 { attributes["http.request.resend_count"] = String(attempt - 1) }
    }

    mutating func end(_ response: HTTPResponse?, _ failure: SessionError?) {
        end = .now
        error = failure
        metrics = response?.metrics ?? failure?.metrics ?? ResponseMetrics()
        if let response {
            attributes["http.response.status_code"] = String(response.status)
            attributes["network.protocol.version"] = response.version.number
        }
        if let address = metrics.hops.last?.remoteAddress {
            attributes["network.peer.address"] = address.ip
            attributes["network.peer.port"] = String(address.port)
        }
        if let failure {
            attributes["error.type"] = failure.code.rawValue
        } else if let status = response?.status, status >= 400 {
            attributes["error.type"] = String(status)
        }
    }
}
