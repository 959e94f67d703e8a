import FoundationEssentials

extension HTTPSessionManager {
    /// Returns the events that a server sends; reconnects as needed.
    ///
    /// ```swift
    /// for try await event in manager.events(from: "ticker") {
    ///     print(event.event, event.data)
    /// }
    /// ```
    ///
    /// Each connection uses the ``headers`` that the manager has at that time.
    ///
    /// - Parameters:
    ///   - url: An absolute URL, or one relative to ``baseURL``: a `String` or a `URL`.
    ///   - parameters: Added to the URL's query.
    ///   - headers: Headers that replace the manager's of the same names.
    ///   - options: When to reconnect, and the limits.
    ///   - onConnectionChange: Called when the server has sent the head of an event stream, and when the connection was
    ///     lost or couldn't be made and another one follows. Reading waits for it to return. The end of the sequence
    ///     isn't reported: the loop ends.
    public func events(
        from url: some URLConvertible, parameters: Parameters? = nil, headers: HTTPHeaders = [:],
        options: ServerSentEvents.Options = .init(),
        onConnectionChange: (@Sendable (ConnectionChange) async -> Void)? = nil
    ) -> ServerSentEvents {
        let url = url.urlText
        var headers = headers
        // Added before the manager's headers, whose `Accept` is meant for other calls and would take precedence.
        ServerSentEvents.addFields(to: &headers)
        let fields = headers
        // The request is built for each connection, because the manager's headers may have changed.
        return ServerSentEvents(manager: self, options: options, onConnectionChange: onConnectionChange) {
            () throws(SessionError) in
            try self.makeRequest(.get, url, parameters: parameters, headers: fields)
        }
    }

    /// Returns the events that a server sends in response to a request.
    ///
    /// ```swift
    /// let question = HTTPRequest(.post, "v1/answers", body: .json(["question": "Why?", "stream": true]))
    /// for try await event in manager.events(from: question) {
    ///     print(event.data)
    /// }
    /// ```
    ///
    /// A request whose method is not idempotent, such as POST, is sent once: the sequence ends with the response. Other
    /// requests are repeated, with their headers and body, when it reconnects. ``ServerSentEvents/Options/reconnects``
    /// changes this. `Accept` and `Cache-Control` are added unless the request has them. A `Last-Event-ID` of the
    /// request applies to the first connection. The other parameters are those of
    /// ``events(from:parameters:headers:options:onConnectionChange:)``.
    public func events(
        from request: HTTPRequest, options: ServerSentEvents.Options = .init(),
        onConnectionChange: (@Sendable (ConnectionChange) async -> Void)? = nil
    ) -> ServerSentEvents {
        ServerSentEvents(manager: self, options: options, onConnectionChange: onConnectionChange) { request }
    }
}

/// A sequence of server-sent events, by the HTML standard. Each iterator has its own connection.
///
/// The iterator reconnects when the server ends the response, when the connection is lost, or when connecting fails. It
/// sends the last id as `Last-Event-ID`, unless that is longer than 4096 bytes or has control characters: then the
/// field isn't sent. The delay is the server's `retry`. After failures a random time is added, whose maximum doubles
/// with each consecutive failure. Reaching the session's idle limit counts as a lost connection.
///
/// ``Options/reconnects`` says which requests are repeated; by default, those with an idempotent method. If the request
/// isn't repeated, the sequence ends with the response. It throws the error of the transfer if the connection can't be
/// made or is lost before the end of the response.
///
/// The sequence also ends at status 204. It fails at any other status than 200, 503 included, unless
/// ``Options/retriedStatusCodes`` lists it; the error has up to 1 MiB of the body. It fails at a type other than
/// `text/event-stream`, if a limit is exceeded (``SessionError/Code/tooLarge``), if the certificate isn't trusted, and
/// when the retries are exhausted. Cancelling the iterating task closes the connection and throws
/// ``SessionError/Code/cancelled``. Releasing the iterator closes the connection without an error.
public struct ServerSentEvents: AsyncSequence, Sendable {
    public typealias Element = ServerSentEvent
    public typealias Failure = SessionError

    /// Whether the request is repeated when the response has ended or the connection was lost.
    public enum Reconnection: Hashable, Sendable {
        /// Repeats requests with an idempotent method (RFC 9110 9.2.2), such as GET, and a body that can be replayed.
        /// Requests with another method, such as POST, are repeated only after a status in
        /// ``Options/retriedStatusCodes``.
        case automatic
        /// Repeats every request, also POST, until the server responds with 204. Each repetition may have side effects
        /// and costs. If the body can't be replayed, the sequence throws ``SessionError/Code/bodyNotReplayable``.
        case always
        /// Sends the request once.
        case never
    }

    /// Options for reconnecting, and limits on the size of events.
    public struct Options: Hashable, Sendable {
        /// Which requests are repeated. Default: ``Reconnection/automatic``.
        public var reconnects = Reconnection.automatic
        /// The delay between connections, unless the server sets another. Default: 3 s.
        public var reconnectionTime: Duration = .seconds(3)
        /// The minimum delay, also if the server asks for less. Default: 500 ms.
        public var minimumDelay: Duration = .milliseconds(500)
        /// The maximum delay, also if the server asks for more or many attempts failed. Default: 60 s.
        public var maximumDelay: Duration = .seconds(60)
        /// The maximum number of retries in a row after a failed attempt; nil for no limit. Default: 10, so that eleven
        /// failures end the sequence. A response with an event stream resets the count.
        public var maximumRetries: Int? = 10
        /// The status codes after which it connects again, like after a lost connection, unless ``reconnects`` is
        /// ``Reconnection/never``. Default: none, as the standard says. `[502, 503, 504]` suits a server behind a
        /// gateway.
        public var retriedStatusCodes: Set<Int> = []
        /// Limits on the size of events.
        public var limits = ServerSentEvent.Limits()

        /// Makes the default options.
        public init() {}
    }

    let manager: HTTPSessionManager
    let options: Options
    let onConnectionChange: ConnectionChangeHandler?
    private let makeRequest: @Sendable () throws(SessionError) -> HTTPRequest
    var pacing = ReconnectionPacing()

    /// - Parameter makeRequest: Called for each connection.
    init(
        manager: HTTPSessionManager, options: Options, onConnectionChange: ConnectionChangeHandler?,
        makeRequest: @escaping @Sendable () throws(SessionError) -> HTTPRequest
    ) {
        self.manager = manager
        self.options = options
        self.onConnectionChange = onConnectionChange
        self.makeRequest = makeRequest
    }

    /// Returns the request for the next connection.
    func request() throws(SessionError) -> HTTPRequest {
        var request = try makeRequest()
        Self.addFields(to: &request.headers)
        request.responseHandler = { _ in .allow }
        return request
    }

    /// Adds `Accept` and `Cache-Control`, unless they are present.
    fileprivate static func addFields(to headers: inout HTTPHeaders) {
        headers.fillGap(name: HTTPHeaders.Name.accept, value: "text/event-stream")
        headers.fillGap(name: HTTPHeaders.Name.cacheControl, value: "no-cache")
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(self)
    }
}

extension ServerSentEvents {
    /// Iterates over the events and reconnects as needed.
    public struct Iterator: AsyncIteratorProtocol {
        private var loop: ReconnectionLoop<EventStreamConnector>

        init(_ source: ServerSentEvents) {
            loop = ReconnectionLoop(EventStreamConnector(source))
        }

        /// Returns the next event; nil after the last one.
        public mutating func next() async throws(SessionError) -> ServerSentEvent? {
            try await next(isolation: nil)
        }

        /// Returns the next event; nil after the last one.
        public mutating func next(
            isolation: isolated (any Actor)?
        ) async throws(SessionError) -> ServerSentEvent? {
            try await loop.next(isolation: isolation)
        }
    }
}

/// Makes the connections of ``ServerSentEvents``, and reads their events.
private struct EventStreamConnector: ReconnectionConnector {
    private let source: ServerSentEvents
    private var state: EventStreamState
    private var parser: EventStreamParser
    /// The URL of the last request; nil before the first one.
    private(set) var url: String?
    /// The decoder that the manager had when the connection was made.
    private var decoder: (any DataDecoder)?

    private static let lastEventID = "Last-Event-ID"

    /// The maximum length of a `Last-Event-ID` in bytes. Many servers accept 8 KiB for all fields of a request, and
    /// respond to more with a 431.
    private static let longestSentID = 4096

    init(_ source: ServerSentEvents) {
        self.source = source
        state = EventStreamState(options: source.options)
        parser = EventStreamParser(limits: source.options.limits)
    }

    var manager: HTTPSessionManager { source.manager }
    var pacing: ReconnectionPacing { source.pacing }
    var onConnectionChange: ConnectionChangeHandler? { source.onConnectionChange }

    /// The value of `Last-Event-ID`; nil if there is no id, if it contains control characters, which the HTML standard
    /// allows but header fields can't have, or if it is longer than `longestSentID`.
    private var sentEventID: String? {
        let id = parser.lastEventID
        guard !id.isEmpty, id.utf8.count <= Self.longestSentID else { return nil }
        return id.utf8.contains(where: ASCII.isForbiddenInField) ? nil : id
    }

    /// Initialises the state and the parser from the first request: its method, its body, and its `Last-Event-ID`.
    private mutating func begin(with request: HTTPRequest) {
        state = EventStreamState(
            options: source.options, method: request.method, isReplayable: request.body.isReplayable)
        let id = request.headers.first(named: Self.lastEventID)
        parser = EventStreamParser(lastEventID: id ?? "", limits: source.options.limits)
    }

    mutating func connect(
        isolation: isolated (any Actor)?
    ) async throws(SessionError) -> ConnectionAttempt<StreamedResponse.Iterator> {
        var request = try source.request()
        if url == nil { begin(with: request) }
        url = request.url
        request.headers[Self.lastEventID] = sentEventID
        decoder = source.manager.decoder
        let response: StreamedResponse
        do {
            response = try await source.manager.stream(request)
        } catch {
            return .over(connectionEnded(error), after: error)
        }
        switch state.decide(response.head) {
        case .read:
            return .connected(response.bytes.makeAsyncIterator(), response.head)
        case .end:
            return .over(.end, after: nil)
        case .lost(let error):
            let decision = connectionEnded(error)
            if case .fail(let failure) = decision { try await Self.refuse(response, failure) }
            return .over(decision, after: error)
        case .fail(let error):
            try await Self.refuse(response, error)
            return .over(.fail(error), after: error)
        }
    }

    /// Throws the error of a response that ends the sequence.
    private static func refuse(_ response: StreamedResponse, _ error: SessionError) async throws(SessionError) {
        // The body of an error status explains it, so it is read. The body of a response with another content type may
        // never end.
        if error.code == .status { try await response.validated(by: EventStreamState.validation) }
        throw error
    }

    mutating func read(
        _ body: StreamedResponse.Iterator, isolation: isolated (any Actor)?
    ) async throws(SessionError) -> ConnectionReading<ServerSentEvent> {
        if var event = try parser.next() {
            event.decoder = decoder
            return .element(event)
        }
        var body = body
        do {
            guard let chunk = try await body.next(isolation: isolation) else {
                return .over(connectionEnded(nil), after: nil)
            }
            parser.append(chunk)
            return .more
        } catch {
            return .over(connectionEnded(error), after: error)
        }
    }

    private mutating func connectionEnded(_ error: SessionError?) -> ReconnectionDecision {
        let asked = error?.delayAsked(now: .now)
        let retry = parser.reconnectionTime
        parser.restart()
        return state.ended(error, retry: retry, asked: asked, random: source.pacing.random())
    }
}
