import FoundationEssentials

extension HTTPSessionManager {
    /// Returns the messages that a server sends over a WebSocket; reconnects as needed.
    ///
    /// ```swift
    /// let trades = manager.messages(from: "wss://example.org/trades") { socket in
    ///     try await socket.send("subscribe SWFT")
    /// }
    /// for try await message in trades {
    ///     print(message)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - url: A ws, wss, http or https URL, or one relative to ``baseURL``.
    ///   - protocols: The subprotocols to offer, in the order of preference.
    ///   - parameters: Added to the query.
    ///   - headers: Replace the fields of ``headers`` with the same names.
    ///   - options: When to reconnect, and the options of each socket.
    ///   - onOpen: Called with each new socket before its messages are read, such as to subscribe again. The socket may
    ///     be kept to send messages; it is closed when the sequence leaves it or `onOpen` throws. An error that isn't a
    ///     ``SessionError`` ends the sequence as ``SessionError/underlying`` of ``SessionError/Code/interceptor``.
    ///   - onConnectionChange: Called when a socket is open, after `onOpen`, and when it was lost or couldn't be opened
    ///     and another one follows. Reading waits until it returns. The end of the sequence isn't reported: the loop
    ///     ends.
    public func messages(
        from url: some URLConvertible, protocols: [String] = [], parameters: Parameters? = nil,
        headers: HTTPHeaders = [:],
        options: WebSocketMessages.Options = .init(),
        onOpen: @escaping @Sendable (WebSocket) async throws -> Void = { _ in },
        onConnectionChange: (@Sendable (ConnectionChange) async -> Void)? = nil
    ) -> WebSocketMessages {
        WebSocketMessages(
            manager: self, url: url.urlText, protocols: protocols, parameters: parameters, headers: headers,
            options: options, onOpen: onOpen, onConnectionChange: onConnectionChange)
    }
}

/// A sequence of messages of a WebSocket that reconnects. Each iterator has its own connection.
///
/// The iterator reconnects when the connection is lost, when the server closes with one of
/// ``Options/reconnectingCodes``, and when a handshake fails for a transient reason: ``SessionError/Code/dns``,
/// ``SessionError/Code/connect``, ``SessionError/Code/connectionLost``, ``SessionError/Code/truncated``,
/// ``SessionError/Code/timeout``, ``SessionError/Code/tls``, or one of ``Options/retriedStatusCodes``, whose
/// `Retry-After` is obeyed; also when the token of a ``BearerAuthenticator`` couldn't be refreshed for such a reason. A
/// random time is added to the delay, at most as long as the delay; the maximum doubles with each consecutive failure.
/// Messages that the server sends meanwhile are lost.
///
/// The sequence ends when the server closes with 1000 or without a code. It fails with
///
/// - ``SessionError/Code/closed`` if the server closes with another code;
/// - the error of the last handshake if more than ``Options/maximumRetries`` failed in a row, by default ten;
/// - the error of a handshake that failed for another reason, such as ``SessionError/Code/status`` with 401 or
///   ``SessionError/Code/untrusted``;
/// - ``SessionError/Code/protocol`` or ``SessionError/Code/tooLarge`` if a message breaks a rule or a limit.
///
/// Every error has a URL. Cancelling the iterating task closes the socket and throws ``SessionError/Code/cancelled``.
/// Releasing the iterator closes the socket, also one that the program has kept.
public struct WebSocketMessages: AsyncSequence, Sendable {
    public typealias Element = WebSocket.Message
    public typealias Failure = SessionError

    /// Options for reconnecting.
    public struct Options: Sendable {
        /// The delay between connections, at least 100 ms. Default: 1 s.
        public var reconnectionTime: Duration = .seconds(1)
        /// The maximum delay, also if the server asks for more or many attempts failed. Default: 60 s.
        public var maximumDelay: Duration = .seconds(60)
        /// The maximum number of retries in a row after a failed handshake; nil for no limit. Default: 10, so that
        /// eleven failures end the sequence.
        public var maximumRetries: Int? = 10
        /// The close codes after which to reconnect. Default: 1001, and 1011 to 1014, which report problems of the
        /// server.
        public var reconnectingCodes: Set<WebSocket.CloseCode> = Set(
            [1001, 1011, 1012, 1013, 1014].map(WebSocket.CloseCode.init(rawValue:)))
        /// The status codes of a refused handshake after which it connects again. Default: 408, 425, 429, 500, 502, 503
        /// and 504.
        public var retriedStatusCodes: Set<Int> = TransientFailures.statusCodes
        /// The options of each socket. Unlike that of a single socket, ``WebSocket/Options/pingInterval`` is 30 s by
        /// default: without pings, a server that has vanished would not be noticed while nothing is sent, and the
        /// sequence would wait for ever. Keep it when you assign other options.
        public var socket: WebSocket.Options = {
            var options = WebSocket.Options()
            options.pingInterval = .seconds(30)
            return options
        }()

        /// Creates the default options.
        public init() {}
    }

    let manager: HTTPSessionManager
    let url: String
    let protocols: [String]
    let parameters: Parameters?
    let headers: HTTPHeaders
    let options: Options
    let onOpen: @Sendable (WebSocket) async throws -> Void
    let onConnectionChange: ConnectionChangeHandler?
    var pacing = ReconnectionPacing()

    public func makeAsyncIterator() -> Iterator {
        Iterator(self)
    }
}

extension WebSocketMessages {
    /// Iterates over the messages and reconnects as needed.
    public struct Iterator: AsyncIteratorProtocol {
        private var loop: ReconnectionLoop<WebSocketConnector>

        init(_ source: WebSocketMessages) {
            loop = ReconnectionLoop(WebSocketConnector(source))
        }

        /// The socket that is open, to send messages; nil while no socket is open.
        public var socket: WebSocket? { loop.connection?.socket }

        /// Returns the next message; nil after the last one.
        public mutating func next() async throws(SessionError) -> WebSocket.Message? {
            try await next(isolation: nil)
        }

        /// Returns the next message; nil after the last one.
        public mutating func next(isolation: isolated (any Actor)?) async throws(SessionError) -> WebSocket.Message? {
            try await loop.next(isolation: isolation)
        }
    }
}

/// Closes a socket when it is released, that is, when the sequence has left it. The program may keep the socket itself.
private final class ReadSocket: Sendable {
    let socket: WebSocket

    init(_ socket: WebSocket) {
        self.socket = socket
    }

    deinit {
        socket.core.abandon()
    }
}

/// Opens the sockets of ``WebSocketMessages``, and reads their messages.
private struct WebSocketConnector: ReconnectionConnector {
    private let source: WebSocketMessages
    private var reconnection: WebSocketReconnection
    /// The URL of the last socket that was opened; the given URL before the first one.
    private(set) var url: String?

    init(_ source: WebSocketMessages) {
        self.source = source
        reconnection = WebSocketReconnection(options: source.options)
        url = source.url
    }

    var manager: HTTPSessionManager { source.manager }
    var pacing: ReconnectionPacing { source.pacing }
    var onConnectionChange: ConnectionChangeHandler? { source.onConnectionChange }

    mutating func connect(
        isolation: isolated (any Actor)?
    ) async throws(SessionError) -> ConnectionAttempt<ReadSocket> {
        do throws(SessionError) {
            let socket = try await source.manager.webSocket(
                source.url, protocols: source.protocols, parameters: source.parameters, headers: source.headers,
                options: source.options.socket)
            let connection = ReadSocket(socket)
            url = socket.response.url
            try await greet(socket)
            reconnection.opened()
            return .connected(connection, socket.response)
        } catch {
            return .over(reconnection.failedToOpen(error, now: .now, random: pacing.random()), after: error)
        }
    }

    mutating func read(
        _ connection: ReadSocket, isolation: isolated (any Actor)?
    ) async throws(SessionError) -> ConnectionReading<WebSocket.Message> {
        let socket = connection.socket
        do throws(SessionError) {
            if let message = try await socket.core.next(isolation: isolation) { return .element(message) }
        } catch {
            return .over(reconnection.lost(error, random: pacing.random()), after: error)
        }
        let code = socket.closeCode ?? .abnormal
        return .over(
            reconnection.closed(code, reason: socket.closeReason, random: pacing.random()),
            after: WebSocketReconnection.error(code, socket.closeReason))
    }

    private func greet(_ socket: WebSocket) async throws(SessionError) {
        do {
            try await source.onOpen(socket)
        } catch SessionError.Code.closed {
            // Not handled here: reading from the socket reports the same end.
        } catch {
            throw SessionError(intercepting: error, url: socket.response.url)
        }
    }
}
