public import FoundationEssentials

/// An open WebSocket (RFC 6455): messages in both directions over one connection.
///
/// ```swift
/// let socket = try await manager.webSocket("wss://example.org/chat", protocols: ["v2.chat"])
/// try await socket.send("hello")
/// for try await message in socket {
///     print(message)
/// }
/// print(socket.closeCode ?? .abnormal)
/// ```
///
/// All members may be used from any task. Iterate over the messages in one task at a time. Without a reader, a
/// limited number of bytes is buffered; then reading stops, and the server has to wait. Releasing the socket
/// closes it with ``CloseCode/goingAway``.
public final class WebSocket: Sendable {
    let core: CoreWebSocket
    /// The result of the handshake.
    let opening: CoreWebSocket.Opening

    private let decoder: any DataDecoder

    /// - Parameter decoder: The decoder of the manager.
    init(_ core: CoreWebSocket, _ opening: CoreWebSocket.Opening, _ decoder: any DataDecoder) {
        self.core = core
        self.opening = opening
        self.decoder = decoder
    }

    deinit {
        core.abandon()
    }

    /// The head of the response that opened the socket, with status 101.
    public var response: HTTPResponse { opening.response }

    /// The subprotocol that the server chose; nil if none.
    public var subprotocol: String? { opening.subprotocol }

    /// Whether messages may be compressed (RFC 7692).
    public var isCompressed: Bool { opening.isCompressed }

    /// The code of the server's close frame; nil before one arrives, and ``CloseCode/abnormal`` if the connection ended
    /// without one, which is soon after ``cancel()``.
    public var closeCode: CloseCode? { core.end?.code }

    /// The reason in the server's close frame; empty before it arrives, or if it has none.
    public var closeReason: String { core.end?.reason ?? "" }

    /// The number of bytes that wait to be sent, including frame headers.
    public var queuedBytes: Int { core.queuedBytes }

    // MARK: Sending

    /// Sends a message. Returns when all of its bytes were handed to the connection; waits if the queue is full.
    /// Messages of concurrent calls are sent one after the other.
    ///
    /// - Throws: ``SessionError/Code/closed`` if the socket is closed or closing, ``SessionError/Code/tooLarge`` if the
    ///   message is larger than ``Options/sendQueueSize``, ``SessionError/Code/cancelled`` if the Swift task is
    ///   cancelled: a message that is already in the queue is sent all the same. Otherwise the error that ended the
    ///   socket.
    public func send(_ message: Message) async throws(SessionError) {
        try await core.send(message)
    }

    /// Sends a ``Message/text(_:)``.
    public func send(_ text: String) async throws(SessionError) {
        try await core.send(.text(text))
    }

    /// Sends a ``Message/binary(_:)``.
    public func send(_ bytes: Data) async throws(SessionError) {
        try await core.send(.binary(bytes))
    }

    /// Sends a value as JSON, in a ``Message/text(_:)``.
    ///
    /// - Parameters:
    ///   - value: The value, encoded where the caller runs.
    ///   - encoder: Encodes it; nil uses the manager's.
    /// - Throws: ``SessionError/Code/serialization`` if the value can't be encoded.
    nonisolated(nonsending) public func send<Value: Encodable>(
        json value: Value, encoder: (any DataEncoder)? = nil
    ) async throws(SessionError) {
        let encoder = encoder ?? core.request.handlers.encoder
        let message = try Message.json { try encoder.encode(value) }
        // Caught and thrown again, so that the caller's actor is resumed before the error is thrown: see
        // AwaitedTransfer.
        do throws(SessionError) { try await core.send(message) } catch { throw error }
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    nonisolated(nonsending) public func send(
        json: Parameters, encoder: (any DataEncoder)? = nil
    ) async throws(SessionError) {
        let encoder = encoder ?? core.request.handlers.encoder
        let message = try Message.json { try json.jsonData(encoder: encoder) }
        do throws(SessionError) { try await core.send(message) } catch { throw error }
    }

    /// Waits for the next message, for a protocol of questions and answers. Many messages are read in a loop: the
    /// socket is a sequence.
    ///
    /// ```swift
    /// try await socket.send("time?")
    /// let answer = try await socket.receive()
    /// ```
    ///
    /// - Returns: The message; nil once the server has closed the socket with a close frame.
    /// - Throws: The error that ended the socket, once; ``SessionError/Code/cancelled`` if the Swift task is cancelled,
    ///   which leaves the socket open.
    public func receive() async throws(SessionError) -> Message? {
        try await core.next(isolation: nil)
    }

    /// Waits for the next message, and decodes it.
    ///
    /// ```swift
    /// try await socket.send(json: Question(text: "time?"))
    /// let answer = try await socket.receive(as: Answer.self)
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type of the value, which is decoded where the caller runs.
    ///   - decoder: Decodes it; nil uses the manager's.
    /// - Returns: The value; nil once the server has closed the socket with a close frame.
    /// - Throws: ``SessionError/Code/serialization`` if the message isn't a value of the type, which leaves the socket
    ///   open; otherwise as ``receive()``.
    nonisolated(nonsending) public func receive<Value: Decodable>(
        as type: Value.Type = Value.self, decoder: (any DataDecoder)? = nil
    ) async throws(SessionError) -> Value? {
        guard let message = try await core.next(isolation: #isolation) else { return nil }
        return try message.value(as: type, decoder: decoder ?? self.decoder)
    }

    /// Sends a ping and waits for its pong.
    ///
    /// - Returns: The time between them.
    /// - Throws: ``SessionError/Code/invalidInput`` if eight pings are unanswered, ``SessionError/Code/closed``,
    ///   ``SessionError/Code/cancelled``; otherwise the error that ended the socket.
    @discardableResult
    public func ping() async throws(SessionError) -> Duration {
        try await core.ping()
    }

    // MARK: Ending

    /// The end of a socket. Holding this doesn't keep the socket open.
    package struct Ending: Sendable {
        let core: CoreWebSocket

        /// Waits for the end.
        ///
        /// - Throws: The error that ended the socket; ``SessionError/Code/cancelled`` if the Swift task is cancelled.
        /// - Returns: The code and the reason of the server's close frame.
        package func wait() async throws(SessionError) -> (code: CloseCode, reason: String) {
            try await core.waitForEnd()
            return (core.end?.code ?? .abnormal, core.end?.reason ?? "")
        }
    }

    /// The end of this socket.
    package var ending: Ending { Ending(core: core) }

    /// Sends the messages that wait, then a close frame, and waits until the server has closed, at most for
    /// ``Options/closeTimeout``. Messages that arrive meanwhile can still be read. Has no effect on a closed socket.
    ///
    /// Unread messages can keep the close frame from arriving: continue reading, or use ``cancel()``.
    ///
    /// - Parameters:
    ///   - code: Why the socket is closed.
    ///   - reason: At most 123 bytes of UTF-8.
    /// - Throws: ``SessionError/Code/invalidInput`` for a longer reason, and for a code that can't be sent: others than
    ///   1000 to 1003, 1007 to 1014 and 3000 to 4999. The error that ended the socket, such as
    ///   ``SessionError/Code/timeout`` if the server didn't close.
    public func close(_ code: CloseCode = .normal, reason: String = "") async throws(SessionError) {
        try core.close(code, reason: reason)
        try await core.waitForEnd()
    }

    /// Ends the connection at once, without a close frame. Calls that wait, and later ones, throw
    /// ``SessionError/Code/cancelled``, unless the socket had ended before: after this method has returned nothing more
    /// is sent.
    public func cancel() {
        core.cancel()
    }
}

// MARK: - Messages

extension WebSocket: AsyncSequence {
    public typealias Element = Message
    public typealias Failure = SessionError

    /// A message that was received, or is to be sent.
    public enum Message: Hashable, Sendable {
        /// Text, sent as UTF-8.
        case text(String)
        /// Bytes.
        case binary(Data)

        /// The bytes of the message; those of a text are UTF-8.
        public var data: Data {
            switch self {
            case .text(let text): Data(text.utf8)
            case .binary(let data): data
            }
        }

        /// The text of a ``text(_:)``; nil for bytes.
        public var string: String? {
            if case .text(let text) = self { text } else { nil }
        }

        fileprivate static func json(_ encode: () throws -> Data) throws(SessionError) -> Message {
            do {
                return .text(String(decoding: try encode(), as: UTF8.self))
            } catch let error as SessionError {
                throw error
            } catch {
                throw SessionError(
                    .serialization, message: "the value can't be encoded as JSON\(EncodingFailure.text(error))",
                    underlying: error)
            }
        }

        /// Decodes the bytes of the message, by default as JSON.
        ///
        /// ```swift
        /// let move = try message.value(as: Move.self)
        /// let other = try message.value(as: Move.self, decoder: manager.decoder)
        /// ```
        ///
        /// - Parameters:
        ///   - type: The type of the value.
        ///   - decoder: Pass the manager's if you have changed it; ``WebSocket/receive(as:decoder:)`` uses
        ///     it.
        /// - Throws: ``SessionError/Code/serialization``.
        public func value<Value: Decodable>(
            as type: Value.Type = Value.self, decoder: any DataDecoder = JSONCoder()
        ) throws(SessionError) -> Value {
            do {
                return try decoder.decodeReceived(type, from: data)
            } catch {
                throw SessionError(
                    .serialization, message: "the message \(DecodingFailure.text(error, of: type))", body: data,
                    underlying: error)
            }
        }
    }

    /// Returns an iterator over the messages that haven't been read. It ends when the server has closed the socket with
    /// a close frame.
    public func makeAsyncIterator() -> Iterator {
        Iterator(socket: self)
    }

    /// Iterates over the messages of a socket, and keeps it open.
    public struct Iterator: AsyncIteratorProtocol {
        let socket: WebSocket

        /// Returns the next message; nil after the last one.
        ///
        /// - Throws: The error that ended the socket, once; ``SessionError/Code/cancelled`` if the Swift task is
        ///   cancelled, which leaves the socket open.
        public mutating func next() async throws(SessionError) -> Message? {
            try await socket.core.next(isolation: nil)
        }

        /// Returns the next message; nil after the last one.
        public mutating func next(isolation: isolated (any Actor)?) async throws(SessionError) -> Message? {
            try await socket.core.next(isolation: isolation)
        }
    }
}

// MARK: - Codes and options

extension WebSocket {
    /// The code of a close frame (RFC 6455 7.4). 3000 to 4999 are for applications.
    public struct CloseCode: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
        /// The number.
        public let rawValue: UInt16

        /// Creates a code with any number.
        public init(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// The number as text.
        public var description: String { String(rawValue) }

        /// 1000: the purpose of the connection is fulfilled.
        public static let normal = CloseCode(rawValue: 1000)
        /// 1001: the server goes down, or the client leaves.
        public static let goingAway = CloseCode(rawValue: 1001)
        /// 1002: the peer violated the protocol.
        public static let protocolError = CloseCode(rawValue: 1002)
        /// 1003: the peer sent a kind of data that isn't accepted.
        public static let unsupportedData = CloseCode(rawValue: 1003)
        /// 1005: the close frame had no code. Never sent.
        public static let noCode = CloseCode(rawValue: 1005)
        /// 1006: there was no close frame. Never sent.
        public static let abnormal = CloseCode(rawValue: 1006)
        /// 1007: a message didn't have the format that it should have, such as UTF-8.
        public static let invalidPayload = CloseCode(rawValue: 1007)
        /// 1008: a message violated a policy.
        public static let policyViolation = CloseCode(rawValue: 1008)
        /// 1009: a message was too large.
        public static let messageTooBig = CloseCode(rawValue: 1009)
        /// 1011: an unexpected condition on the server.
        public static let internalError = CloseCode(rawValue: 1011)
    }

    /// Options of a socket.
    public struct Options: Sendable {
        /// The maximum size of a received message in bytes, after decoding. A larger one ends the socket with
        /// ``CloseCode/messageTooBig``. Zero counts as 1. Default: 16 MiB.
        public var maximumMessageSize = 16 * 1024 * 1024
        /// The maximum number of frames of a received message. Default: 16384.
        public var maximumFragments = 16384
        /// The maximum number of bytes that wait to be sent, including frame headers. Zero counts as 1. Default: 16
        /// MiB.
        public var sendQueueSize = 16 * 1024 * 1024
        /// The size in bytes of the received messages that wait for their reader, above which reading from the
        /// connection pauses. Default: 1 MiB.
        public var receiveBufferSize = 1024 * 1024
        /// The time limit for the whole handshake, redirects included; nil or zero for no limit. Default: 30 s.
        public var openTimeout: Duration? = .seconds(30)
        /// The time limit from a close frame to the end of the connection. While messages are sent before our close
        /// frame, this time is allowed for each 64 KiB of them, or part of that. Also the limit for the body of a
        /// response that refuses the handshake, within ``openTimeout``. Zero counts as 1 ms, not as no limit. Default:
        /// 5 s.
        public var closeTimeout: Duration = .seconds(5)
        /// The time between automatic pings; nil or zero for none. Default: nil.
        public var pingInterval: Duration?
        /// The time limit from an automatic ping to its pong. If it is reached, the socket ends with
        /// ``SessionError/Code/timeout``. Zero counts as 1 ms, not as no limit. Default: 20 s.
        public var pongTimeout: Duration = .seconds(20)
        /// Compresses messages, if the server agrees (RFC 7692). Default: nil, compression isn't offered.
        public var compression: (any WebSocketCompression)?
        /// The size of messages in bytes from which they are compressed. Default: 64.
        public var compressionThreshold = 64

        /// Creates the default options.
        public init() {}
    }
}

/// Compresses messages with raw DEFLATE (RFC 1951). Keeps the library independent of zlib.
///
/// The product `SwiftAFCompression` has an implementation.
public protocol WebSocketCompression: Sendable {
    /// Makes a stream.
    ///
    /// - Parameters:
    ///   - isCompressing: False for decompression.
    ///   - windowBits: The base-two logarithm of the window size, 8 to 15.
    /// - Returns: The stream; nil if the window size isn't supported, or there is too little memory. A socket that
    ///   can't compress sends messages as they are; one that can't decompress isn't opened.
    func makeStream(isCompressing: Bool, windowBits: Int) -> (any WebSocketCompressionStream)?
}

/// One direction of a socket. Used by one thread at a time.
public protocol WebSocketCompressionStream: AnyObject {
    /// Converts as many bytes of `input` as fit into `output`, removes them from its front, and returns the number of
    /// bytes written. At the end of the input, everything is flushed (Z_SYNC_FLUSH): if fewer bytes are written than
    /// fit, all input was converted. Returns nil if the input is invalid.
    func convert(_ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int?
    /// Resets the stream, as if no bytes had been converted (no context takeover, RFC 7692 7.1.1).
    func reset()
}
