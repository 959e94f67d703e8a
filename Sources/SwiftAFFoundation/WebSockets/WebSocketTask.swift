public import Foundation
public import FoundationNetworking
public import SwiftAF

/// A WebSocket with the methods of Foundation's `URLSessionWebSocketTask`, which can't connect on Linux.
///
/// ```swift
/// let task = manager.webSocketTask(with: URL(string: "wss://example.org/chat")!)
/// task.resume()
/// try await task.send(.string("hello"))
/// switch try await task.receive() {
/// case .string(let text): print(text)
/// case .data(let data): print(data.count)
/// }
/// task.cancel(with: .goingAway, reason: nil)
/// ```
///
/// All members may be used from any thread. Calls before ``resume()`` and during the handshake wait until the socket is
/// open. Sends are carried out in the order of the calls, and so are receives and pings; a closure is called before the
/// next one of its kind, on a thread of Swift's pool. A cancelled Swift task ends its call, not the socket. Releasing
/// the task closes the socket with ``CloseCode/goingAway``.
///
/// New code is simpler with `WebSocket`, a sequence of messages.
public final class WebSocketTask: Sendable {
    /// A message.
    public enum Message: Hashable, Sendable {
        /// Bytes.
        case data(Data)
        /// Text, sent as UTF-8.
        case string(String)
    }

    /// The code of a close frame, with the names of Foundation.
    public struct CloseCode: RawRepresentable, Hashable, Sendable {
        /// The number.
        public let rawValue: Int

        /// Creates a code with any number.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// 0: the socket isn't closed.
        public static let invalid = CloseCode(rawValue: 0)
        /// 1000: the purpose of the connection is fulfilled.
        public static let normalClosure = CloseCode(rawValue: 1000)
        /// 1001: the server goes down, or the client leaves.
        public static let goingAway = CloseCode(rawValue: 1001)
        /// 1002: the peer violated the protocol.
        public static let protocolError = CloseCode(rawValue: 1002)
        /// 1003: the peer sent a kind of data that isn't accepted.
        public static let unsupportedData = CloseCode(rawValue: 1003)
        /// 1005: the close frame had no code. Never sent.
        public static let noStatusReceived = CloseCode(rawValue: 1005)
        /// 1006: there was no close frame. Never sent.
        public static let abnormalClosure = CloseCode(rawValue: 1006)
        /// 1007: a message didn't have the format that it should have, such as UTF-8.
        public static let invalidFramePayloadData = CloseCode(rawValue: 1007)
        /// 1008: a message violated a policy.
        public static let policyViolation = CloseCode(rawValue: 1008)
        /// 1009: a message was too large.
        public static let messageTooBig = CloseCode(rawValue: 1009)
        /// 1010: the server didn't agree to an extension that is needed.
        public static let mandatoryExtensionMissing = CloseCode(rawValue: 1010)
        /// 1011: an unexpected condition on the server.
        public static let internalServerError = CloseCode(rawValue: 1011)
    }

    private enum Phase {
        case suspended
        case opening(Task<Void, Never>)
        case open(WebSocket)
        /// The handshake failed, or was cancelled.
        case failed(SessionError)
    }

    /// The time limit for the messages before the close frame, and for the server's close frame.
    @TaskLocal package static var closeDeadline = Duration.seconds(5)

    private let manager: HTTPSessionManager
    private let request: HTTPRequest
    private let protocols: [String]
    private let phase = Locked(Phase.suspended)
    private let messageLimit = Locked(1024 * 1024)
    private let observer = Locked<(any WebSocketTaskDelegate)?>(nil)
    /// The lines of calls. In each of them, the handshake has the first place until it has ended.
    private let (sends, receives, pings) = (CallLine(), CallLine(), CallLine())

    init(_ manager: HTTPSessionManager, _ request: HTTPRequest, _ protocols: [String]) {
        self.manager = manager
        self.request = request
        self.protocols = protocols
    }

    // MARK: State

    /// The maximum size of a received message in bytes. A larger one ends the socket. Default: 1 MiB. Read by
    /// ``resume()``.
    public var maximumMessageSize: Int {
        get { messageLimit.withLock { $0 } }
        set { messageLimit.withLock { $0 = newValue } }
    }

    /// The object that is notified when the socket opens and ends; kept until then, or until the task is released. Read
    /// by ``resume()``. Default: nil.
    public var delegate: (any WebSocketTaskDelegate)? {
        get { observer.withLock { $0 } }
        set { observer.exchange(newValue) }
    }

    /// The code of the server's close frame; ``CloseCode/invalid`` before one arrives, and
    /// ``CloseCode/abnormalClosure`` if the connection ended without one.
    public var closeCode: CloseCode {
        CloseCode(rawValue: (opened?.closeCode?.rawValue).map(Int.init) ?? CloseCode.invalid.rawValue)
    }

    /// The reason in the server's close frame, UTF-8; nil before it arrives, or if it has none.
    public var closeReason: Data? {
        guard let reason = opened?.closeReason, !reason.isEmpty else { return nil }
        return Data(reason.utf8)
    }

    /// The socket; nil before the handshake has succeeded.
    private var opened: WebSocket? {
        phase.withLock { if case .open(let socket) = $0 { socket } else { nil } }
    }

    // MARK: Opening and closing

    /// Begins the handshake. Further calls have no effect. If it fails, the calls that wait throw its error.
    public func resume() {
        var options = WebSocket.Options()
        options.maximumMessageSize = maximumMessageSize
        let delegate = delegate
        phase.withLock { [options] phase in
            guard case .suspended = phase else { return }
            // The task retains this object until the handshake has ended.
            phase = .opening(Task { await open(options, delegate) })
        }
    }

    private func open(_ options: WebSocket.Options, _ delegate: (any WebSocketTaskDelegate)?) async {
        do throws(SessionError) {
            let socket = try await manager.webSocket(request, protocols: protocols, options: options)
            switch endOpening(.open(socket)) {
            case .suspended, .opening: break
            case .open, .failed: throw cancelled
            }
            // Called in the open phase, so that the delegate may cancel the task, but before the waiting calls begin.
            delegate?.webSocketTask(self, didOpenWithProtocol: socket.subprotocol)
            if let delegate { report(socket.ending, to: delegate) }
            startCalls()
        } catch {
            endOpening(.failed(error))
            startCalls()
            complete(delegate, error)
        }
    }

    /// Reports the end to the delegate, unless this object is released before.
    private func report(_ ending: WebSocket.Ending, to delegate: any WebSocketTaskDelegate) {
        Task { [weak self] in
            do throws(SessionError) {
                let (code, reason) = try await ending.wait()
                guard let self else { return }
                let closeCode = CloseCode(rawValue: Int(code.rawValue))
                delegate.webSocketTask(
                    self, didCloseWith: closeCode, reason: reason.isEmpty ? nil : Data(reason.utf8))
                complete(delegate, nil)
            } catch {
                self?.complete(delegate, error)
            }
        }
    }

    private func complete(_ delegate: (any WebSocketTaskDelegate)?, _ error: SessionError?) {
        self.delegate = nil
        delegate?.webSocketTask(self, didCompleteWithError: error)
    }

    /// Enters the next phase, unless the opening has already ended. A socket that is opened too late is then released,
    /// which closes it.
    ///
    /// - Returns: The former phase.
    @discardableResult
    private func endOpening(_ next: Phase) -> Phase {
        phase.withLock { phase in
            let former = phase
            switch former {
            case .suspended, .opening: phase = next
            case .open, .failed: break
            }
            return former
        }
    }

    /// Lets the calls that wait for the handshake begin.
    private func startCalls() {
        for line in [sends, receives, pings] { line.leave(CallLine.firstID) }
    }

    /// Ends the connection at once, without a close frame, or the handshake.
    public func cancel() {
        switch endOpening(.failed(cancelled)) {
        case .suspended:
            startCalls()
            Task { complete(delegate, cancelled) }
        case .opening(let opening):
            startCalls()
            opening.cancel()
        case .failed: break
        // Its calls have begun, or will when the delegate has returned.
        case .open(let socket): socket.cancel()
        }
    }

    /// Sends the messages that are being sent, then a close frame; ends the connection when the server has answered, at
    /// the latest after 5 s. Before the socket is open, ends the handshake.
    ///
    /// - Parameters:
    ///   - closeCode: Why the socket is closed: 1000 to 1003, 1007 to 1014 or 3000 to 4999. With others, the connection
    ///     ends without a close frame.
    ///   - reason: At most 123 bytes of UTF-8. If it is longer, the connection ends without a close frame.
    public func cancel(with closeCode: CloseCode, reason: Data?) {
        guard let socket = opened else { return cancel() }
        guard let code = UInt16(exactly: closeCode.rawValue), code > 0,
            let text = String(validating: reason ?? Data(), as: UTF8.self)
        else { return socket.cancel() }
        // Waits for the messages of earlier calls.
        let place = sends.join()
        Task { [sends] in
            let deadline = Task {
                await Self.closeDeadline.pause()
                if !Task.isCancelled { socket.cancel() }
            }
            await sends.waitForEarlierCalls(of: place)
            defer {
                deadline.cancel()
                sends.leave(place)
            }
            do throws(SessionError) {
                try await socket.close(WebSocket.CloseCode(rawValue: code), reason: text)
            } catch {
                // Ends a socket that couldn't send its close frame. Has no effect on one that has ended.
                socket.cancel()
            }
        }
    }

    private var cancelled: SessionError { SessionError(.cancelled, url: request.url) }

    // MARK: Messages

    /// Sends a message. Returns when libcurl has taken all of its bytes.
    ///
    /// - Throws: The error of the handshake or of the socket; `closed` if the socket is closed; `cancelled`.
    public func send(_ message: Message) async throws(SessionError) {
        let place = sends.join()
        defer { sends.leave(place) }
        try await send(message, place)
    }

    /// Sends a message, and calls the closure with nil when libcurl has taken all of its bytes, otherwise with a
    /// `SessionError`. The message stays in memory until then.
    public func send(_ message: Message, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        let place = sends.join()
        Task {
            defer { sends.leave(place) }
            do throws(SessionError) {
                try await send(message, place)
                completionHandler(nil)
            } catch {
                completionHandler(error)
            }
        }
    }

    /// Waits for the next message.
    ///
    /// - Throws: The error of the handshake or of the socket; `closed` if the server has closed it; `cancelled`.
    public func receive() async throws(SessionError) -> Message {
        let place = receives.join()
        defer { receives.leave(place) }
        return try await receive(place)
    }

    /// Waits for the next message, and calls the closure with it or with a `SessionError`.
    public func receive(completionHandler: @escaping @Sendable (Result<Message, any Error>) -> Void) {
        let place = receives.join()
        Task {
            defer { receives.leave(place) }
            do throws(SessionError) {
                completionHandler(.success(try await receive(place)))
            } catch {
                completionHandler(.failure(error))
            }
        }
    }

    /// Sends a ping, and calls the closure with nil when its pong has arrived, otherwise with a `SessionError`.
    public func sendPing(pongReceiveHandler: @escaping @Sendable ((any Error)?) -> Void) {
        let place = pings.join()
        Task {
            defer { pings.leave(place) }
            do throws(SessionError) {
                try await ping(place)
                pongReceiveHandler(nil)
            } catch {
                pongReceiveHandler(error)
            }
        }
    }

    private func send(_ message: Message, _ place: UInt64) async throws(SessionError) {
        let socket = try await socket(for: place, in: sends)
        switch message {
        case .data(let data): try await socket.send(data)
        case .string(let text): try await socket.send(text)
        }
    }

    private func receive(_ place: UInt64) async throws(SessionError) -> Message {
        var messages = try await socket(for: place, in: receives).makeAsyncIterator()
        switch try await messages.next() {
        case .text(let text): return .string(text)
        case .binary(let data): return .data(data)
        case nil: throw SessionError(.closed, message: "the WebSocket is closed", url: request.url)
        }
    }

    private func ping(_ place: UInt64) async throws(SessionError) {
        try await socket(for: place, in: pings).ping()
    }

    /// Waits for the earlier calls of a line, and returns the open socket.
    private func socket(for place: UInt64, in line: CallLine) async throws(SessionError) -> WebSocket {
        await line.waitForEarlierCalls(of: place)
        guard !Task.isCancelled else { throw cancelled }
        switch phase.withLock({ $0 }) {
        case .open(let socket): return socket
        case .failed(let error): throw error
        // The handshake leaves the line only when it has ended.
        case .suspended, .opening: throw cancelled
        }
    }
}

extension HTTPSessionManager {
    /// Creates a WebSocket with the methods of `URLSessionWebSocketTask`. Call ``WebSocketTask/resume()`` to begin.
    ///
    /// - Parameters:
    ///   - url: A ws, wss, http or https URL.
    ///   - protocols: The subprotocols to offer, in the order of preference.
    public func webSocketTask(with url: URL, protocols: [String] = []) -> WebSocketTask {
        WebSocketTask(self, HTTPRequest(.get, url.absoluteString), protocols)
    }

    /// Creates a WebSocket with a request, which describes the handshake. Its field Sec-WebSocket-Protocol has the
    /// subprotocols to offer. See ``webSocketTask(with:protocols:)``.
    public func webSocketTask(with request: URLRequest) -> WebSocketTask {
        var handshake = HTTPRequest(request)
        let name = "Sec-WebSocket-Protocol"
        // Split as Unicode scalars, because a comma followed by a combining mark is another `Character`.
        let protocols = (handshake.headers[name] ?? "").unicodeScalars.split(separator: ",").map {
            String($0).trimmingCharacters(in: .whitespaces)
        }
        handshake.headers.remove(named: name)
        return WebSocketTask(self, handshake, protocols)
    }
}
