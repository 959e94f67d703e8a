public import FoundationEssentials

/// Records a manager's requests as an HTTP archive (HAR 1.2), which the developer tools of browsers open.
///
/// ```swift
/// let recorder = HARRecorder(maximumBodySize: 64 << 10)
/// manager.eventMonitors = [recorder]
/// …
/// await manager.flushMonitors()     // the last events are reported after the calls return
/// try recorder.data().write(to: URL(filePath: "exchanges.har"))
/// ```
///
/// Each request that was sent has an entry: each redirect, each answered challenge and each attempt; the rounds of NTLM
/// and Negotiate share one. The fields of a request are those that were sent, with libcurl's own. Credentials are
/// redacted; bodies, and messages of WebSockets, are left out by default.
/// Requests under way and open WebSockets aren't included. Thread-safe.
public final class HARRecorder: EventMonitor {
    private let redaction: Redaction
    private let maximumBodySize: Int
    private let maximumMessages: Int
    private let log: Locked<HARLog>

    /// Creates a recorder without entries.
    ///
    /// - Parameters:
    ///   - maximumEntries: The maximum number of entries; the oldest are dropped.
    ///   - maximumBodySize: The maximum number of bytes recorded of each body in memory, and of each message of a
    ///     WebSocket. Neither is redacted.
    ///   - maximumMessages: The maximum number of messages recorded of each WebSocket, the first ones, in the member
    ///     `_webSocketMessages` that browsers write.
    ///   - redaction: What to hide.
    public init(
        maximumEntries: Int = 1000, maximumBodySize: Int = 0, maximumMessages: Int = 0,
        redaction: Redaction = .standard
    ) {
        self.redaction = redaction
        self.maximumBodySize = max(0, maximumBodySize)
        self.maximumMessages = max(0, maximumMessages)
        log = Locked(HARLog(capacity: max(0, maximumEntries)))
    }

    /// The archive: an object with the member `log`.
    public var document: JSONValue {
        let (entries, dropped) = log.withLock { ($0.inOrder, $0.dropped) }
        var log: JSONObject = [
            "version": "1.2",
            "creator": ["name": "SwiftAF", "version": .string(LibraryVersions.current.core)],
            "pages": [],
            "entries": .array(entries),
        ]
        if dropped > 0 { log["comment"] = .string("\(dropped) older entries were dropped") }
        return ["log": .object(log)]
    }

    /// The archive, encoded as a file.
    public func data() -> Data {
        // Encoding fails only for deep nesting and non-finite numbers, which an archive doesn't contain.
        (try? document.data(options: .withoutEscapingSlashes)) ?? Data()
    }

    /// The number of dropped entries.
    public var droppedEntries: Int { log.withLock { $0.dropped } }

    /// Removes all entries.
    public func removeAll() {
        log.withLock { $0.removeAll() }
    }

    // MARK: Events

    public var observesMessages: Bool { maximumMessages > 0 }

    public var tracesWire: Bool { true }

    public func requestTraced(_ request: MonitoredRequest, _ trace: WireTrace) {
        guard case .requestHead(let bytes) = trace.event, !trace.isTunnel else { return }
        log.withLock { log in
            guard let count = log.exchanges[request.id]?.count, count > 0 else { return }
            log.exchanges[request.id]?[count - 1].sentHead = bytes
        }
    }

    public func requestSent(_ request: MonitoredRequest, as sent: HTTPRequest, attempt: Int) {
        log.withLock { $0.exchanges[request.id] = [HARLeg(request: sent, start: request.date)] }
    }

    public func requestRedirected(
        _ request: MonitoredRequest, by proposal: RedirectProposal, decision: RedirectDecision
    ) {
        var next: HTTPRequest?
        switch decision {
        case .follow: next = proposal.request
        case .replace(let other): next = other
        case .stop, .fail: break
        }
        log.withLock { log in
            guard var legs = log.exchanges[request.id], let last = legs.last else { return }
            legs[legs.count - 1].response = proposal.response
            if var next {
                next.body = proposal.keepsBody ? last.request.body : .none
                legs.append(HARLeg(request: next, start: request.date))
            }
            log.exchanges[request.id] = legs
        }
    }

    public func challengeAnswered(_ request: MonitoredRequest, _ challenge: AuthenticationChallenge) {
        log.withLock { log in
            guard var legs = log.exchanges[request.id], let last = legs.last else { return }
            legs[legs.count - 1].response = challenge.response
            legs[legs.count - 1].comment = "answered by \(challenge.protectionSpace.authenticationScheme)"
            legs.append(HARLeg(request: last.request, start: request.date))
            log.exchanges[request.id] = legs
        }
    }

    public func responseReceived(_ request: MonitoredRequest, _ response: HTTPResponse) {
        log.withLock { log in
            guard let count = log.exchanges[request.id]?.count, count > 0 else { return }
            log.exchanges[request.id]?[count - 1].response = response
        }
    }

    public func messageSent(_ request: MonitoredRequest, _ message: WebSocket.Message) {
        record(message, isSent: true, request)
    }

    public func messageReceived(_ request: MonitoredRequest, _ message: WebSocket.Message) {
        record(message, isSent: false, request)
    }

    private func record(_ message: WebSocket.Message, isSent: Bool, _ request: MonitoredRequest) {
        log.withLock { log in
            guard let count = log.exchanges[request.id]?.count, count > 0 else { return }
            if let recorded = log.exchanges[request.id]?[count - 1].messages.count, recorded < maximumMessages {
                let shown = writer.message(message, isSent: isSent, at: request.date)
                log.exchanges[request.id]?[count - 1].messages.append(shown)
            } else {
                log.exchanges[request.id]?[count - 1].droppedMessages += 1
            }
        }
    }

    private var writer: HARWriter { HARWriter(redaction: redaction, maximumBodySize: maximumBodySize) }

    public func requestRetried(_ request: MonitoredRequest, after outcome: AttemptOutcome, delay: Duration) {
        close(request.id, RequestResult(response: outcome.response, error: outcome.error))
    }

    public func requestFinished(_ request: MonitoredRequest, with result: RequestResult) {
        close(request.id, result)
    }

    private func close(_ id: UInt64, _ result: RequestResult) {
        guard var legs = log.withLock({ $0.exchanges.removeValue(forKey: id) }), !legs.isEmpty else { return }
        if let response = result.response { legs[legs.count - 1].response = response }
        let entries = writer.entries(legs, result)
        log.withLock { $0.append(entries) }
    }
}

/// A request that was sent, with its result.
struct HARLeg: Sendable {
    var request: HTTPRequest
    var start: Date
    /// The head as it was sent, with secrets hidden; nil if it isn't known.
    var sentHead: [UInt8]?
    var response: HTTPResponse?
    /// The first messages of a WebSocket, as they are written, and the number of later ones.
    var messages: [JSONValue] = []
    var droppedMessages = 0
    /// Additional remarks.
    var comment: String?
}

/// A ring buffer of entries, oldest first.
struct HARLog: Sendable {
    let capacity: Int
    /// The requests under way, by number.
    var exchanges: [UInt64: [HARLeg]] = [:]
    private var entries: [JSONValue] = []
    private var oldest = 0
    private(set) var dropped = 0

    init(capacity: Int) {
        self.capacity = capacity
    }

    var inOrder: [JSONValue] { Array(entries[oldest...] + entries[..<oldest]) }

    mutating func append(_ new: [JSONValue]) {
        for entry in new {
            if entries.count < capacity {
                entries.append(entry)
            } else {
                dropped += 1
                guard capacity > 0 else { continue }
                entries[oldest] = entry
                oldest = (oldest + 1) % capacity
            }
        }
    }

    mutating func removeAll() {
        (entries, oldest, dropped) = ([], 0, 0)
    }
}
