import FoundationEssentials

extension HTTPSessionManager {
    /// The events that a server sends, over as many connections as it takes.
    ///
    /// ```swift
    /// for try await event in manager.events(from: "ticker") {
    ///     print(event.event, event.data)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - url: Absolute, or relative to ``baseURL``.
    ///   - parameters: Added to the URL's query.
    ///   - headers: Replace those of the request serializer.
    public func events(
        from url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:],
        options: ServerSentEvents.Options = .init()
    ) -> ServerSentEvents {
        let request = Result { () throws(SessionError) in try serialize(.get, url, parameters, headers, snapshot) }
        return ServerSentEvents(manager: self, request: request, options: options)
    }

    /// The events that a server sends in answer to a request, which is repeated for every connection: method, body and
    /// headers are yours. `Accept` and `Cache-Control` are added unless it has them. A `Last-Event-ID` in it is where
    /// the first connection begins.
    public func events(from request: HTTPRequest, options: ServerSentEvents.Options = .init()) -> ServerSentEvents {
        ServerSentEvents(manager: self, request: .success(request), options: options)
    }
}

/// Server-sent events as a sequence, after the HTML standard. Each iterator has a connection of its own.
///
/// When the server ends a connection, or it is lost, or none can be made, the iterator waits and connects again, with
/// the last id in `Last-Event-ID`. It waits as long as the server's `retry` says, and after failures up to twice as
/// long for each of them. A session's idle limit counts as a loss.
///
/// The sequence ends at status 204. It fails at any other status than 200, at 503 too, and at a type other than
/// `text/event-stream`, beyond a limit (``SessionError/Code/tooLarge``), at a certificate that is not trusted, and when
/// the attempts are used up. Cancelling the task that iterates closes the connection and throws
/// ``SessionError/Code/cancelled``; so does letting the iterator go, without an error.
public struct ServerSentEvents: AsyncSequence, Sendable {
    public typealias Element = ServerSentEvent
    public typealias Failure = SessionError

    /// How often and when to connect again, and how large events may be.
    public struct Options: Hashable, Sendable {
        /// The time between connections until the server sets another.
        public var reconnectionTime: Duration = .seconds(3)
        /// The least that counts, whatever the server sets.
        public var minimumDelay: Duration = .milliseconds(500)
        /// The most that is waited, whatever the server sets and however many attempts have failed.
        public var maximumDelay: Duration = .seconds(60)
        /// Failed attempts in a row after which one more is the error of the sequence; nil for no limit. A response
        /// with a stream of events begins the count again.
        public var maximumRetries: Int? = 10
        /// Sizes of events.
        public var limits = ServerSentEvent.Limits()

        public init() {}
    }

    /// How an iterator waits, and what it draws lots with.
    struct Pacing: Sendable {
        /// Returns early when its task is cancelled.
        var wait: @Sendable (Duration) async -> Void = { await $0.pause() }
        /// From 0 up to 1.
        var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
    }

    let manager: HTTPSessionManager
    let request: Result<HTTPRequest, SessionError>
    let options: Options
    var pacing = Pacing()

    init(manager: HTTPSessionManager, request: Result<HTTPRequest, SessionError>, options: Options) {
        self.manager = manager
        self.request = request.map { request in
            var request = request
            request.headers.fillGap(name: HTTPHeaders.Name.accept, value: "text/event-stream")
            request.headers.fillGap(name: HTTPHeaders.Name.cacheControl, value: "no-cache")
            request.responseHandler = { _ in .allow }
            return request
        }
        self.options = options
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(self)
    }
}

extension ServerSentEvents {
    /// Takes events, and connects as often as it must.
    public struct Iterator: AsyncIteratorProtocol {
        private let source: ServerSentEvents
        private var state: EventStreamState
        private var parser: EventStreamParser
        /// Nil between connections.
        private var body: StreamedResponse.Iterator?
        private var delay: Duration?
        private var isOver = false

        private static let lastEventID = "Last-Event-ID"

        init(_ source: ServerSentEvents) {
            self.source = source
            state = EventStreamState(options: source.options)
            let id = (try? source.request.get())?.headers.first(Self.lastEventID)
            parser = EventStreamParser(lastEventID: id ?? "", limits: source.options.limits)
        }

        /// The next event, nil after the last one.
        public mutating func next() async throws(SessionError) -> ServerSentEvent? {
            try await next(isolation: nil)
        }

        /// The next event, nil after the last one.
        public mutating func next(
            isolation: isolated (any Actor)?
        ) async throws(SessionError) -> ServerSentEvent? {
            do {
                while !isOver {
                    if let event = try parser.next() { return event }
                    if body == nil {
                        try await connect(isolation: isolation)
                    } else {
                        try await read(isolation: isolation)
                    }
                }
                return nil
            } catch {
                finish()
                var error = error
                error.url = error.url ?? (try? source.request.get())?.url
                throw error
            }
        }

        private mutating func connect(isolation: isolated (any Actor)?) async throws(SessionError) {
            if let delay {
                self.delay = nil
                await source.pacing.wait(delay)
            }
            var request = try source.request.get()
            request.headers[Self.lastEventID] = parser.lastEventID.isEmpty ? nil : parser.lastEventID
            let response: StreamedResponse
            do {
                response = try await source.manager.stream(request)
            } catch {
                return try connectionEnded(error)
            }
            switch state.judge(response.response) {
            case .read: body = response.bytes.makeAsyncIterator()
            case .end: finish()
            case .fail(let error): throw error
            }
        }

        private mutating func read(isolation: isolated (any Actor)?) async throws(SessionError) {
            do {
                if let chunk = try await body?.next(isolation: isolation) { return parser.append(chunk) }
            } catch {
                return try connectionEnded(error)
            }
            try connectionEnded(nil)
        }

        private mutating func connectionEnded(_ error: SessionError?) throws(SessionError) {
            body = nil
            let retry = parser.reconnectionTime
            switch state.ended(error, retry: retry, random: source.pacing.random()) {
            case .reconnect(let delay): self.delay = delay
            case .fail(let error): throw error
            }
            parser.restart()
        }

        private mutating func finish() {
            isOver = true
            body = nil
        }
    }
}
