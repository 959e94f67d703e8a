internal import CAFCore
import FoundationEssentials
import Synchronization

/// Owns a WebSocket of the core and receives its events.
///
/// The core retains this object until its last event. This object holds a reference to the core's socket until it is
/// freed.
final class CoreWebSocket: @unchecked Sendable {
    /// What the server agreed to.
    struct Opening: Sendable {
        var response: HTTPResponse
        var subprotocol: String?
        var isCompressed: Bool
    }

    private struct State {
        /// Nil until the core has created the socket.
        var raw: OpaquePointer?
        var isCancelled = false
        var socket: WebSocketState
    }

    private let request: CoreRequest
    private let options: WebSocket.Options
    private let codec: CompressionBox?
    private let state: Locked<State>
    private let lastID = Atomic<UInt64>(0)

    init(_ request: CoreRequest, _ options: WebSocket.Options) {
        self.request = request
        self.options = options
        codec = options.compression.map(CompressionBox.init)
        state = Locked(State(socket: WebSocketState(capacity: max(0, options.receiveBufferSize))))
    }

    deinit {
        state.withLock { state in
            if let raw = state.raw { afc_websocket_release(raw) }
        }
    }

    private func newID() -> UInt64 {
        lastID.wrappingAdd(1, ordering: .relaxed).newValue
    }

    // MARK: Opening

    /// Opens the socket. Cancelling the Swift task cancels the handshake.
    func open() async throws(SessionError) -> Opening {
        let opened = await withTaskCancellationHandler {
            await withUnsafeContinuation { waiter in
                if let error = begin(waiter) { waiter.resume(returning: .failure(error)) }
            }
        } onCancel: {
            cancel()
        }
        return try opened.get()
    }

    /// - Returns: Nil if the socket was started; the waiter is then resumed exactly once. The core's callbacks that need
    ///   the lock wait until its socket is known.
    private func begin(_ waiter: WebSocketState.Waiter<Opening>) -> SessionError? {
        state.withLock { state -> SessionError? in
            guard !state.isCancelled else { return SessionError(.cancelled, url: request.http.url) }
            state.socket.opening = waiter
            guard let error = start(&state.raw) else { return nil }
            state.socket.opening = nil
            return error
        }
    }

    private func start(_ raw: inout OpaquePointer?) -> SessionError? {
        let arena = CoreArena()
        var failure = afc_failure()
        do throws(SessionError) {
            var core = try coreOptions(arena)
            var events = Self.events
            events.context = Unmanaged.passRetained(self).toOpaque()
            let status = withCodec { codec in
                core.codec = codec
                return request.withRequest(body: nil) { given in
                    var own = given.pointee
                    own.timeouts.total_ms = 0
                    own.keep_encoding = false
                    own.version = AFC_HTTP_PREFER_AUTOMATIC
                    own.expect = AFC_EXPECT_AUTOMATIC
                    (own.max_send_rate, own.max_receive_rate) = (0, 0)
                    return afc_websocket_open(&raw, request.session.raw, &own, &core, &events, &failure)
                }
            }
            withExtendedLifetime(arena) {}
            return status == .AFC_OK ? nil : SessionError(failure, url: request.http.url)
        } catch {
            return error
        }
    }

    private func coreOptions(_ arena: CoreArena) throws(SessionError) -> afc_websocket_options {
        var core = afc_websocket_options()
        core.size = MemoryLayout<afc_websocket_options>.stride
        var names: [UnsafePointer<CChar>?] = []
        for name in options.protocols { names.append(try arena.copy(name, "a WebSocket subprotocol")) }
        core.protocols = arena.copy(names)
        core.protocol_count = names.count
        core.limits.message = UInt64(clamping: max(1, options.maximumMessageSize))
        core.limits.fragments = UInt32(coreLimit: options.maximumFragments)
        core.limits.queue = UInt64(clamping: max(1, options.sendQueueSize))
        core.open_timeout_ms = options.openTimeout.map { max(1, $0.coreMilliseconds) } ?? 0
        core.close_timeout_ms = max(1, options.closeTimeout.coreMilliseconds)
        core.ping_interval_ms = options.pingInterval.map { max(1, $0.coreMilliseconds) } ?? 0
        core.pong_timeout_ms = max(1, options.pongTimeout.coreMilliseconds)
        core.compression_threshold = max(0, options.compressionThreshold)
        return core
    }

    private func withCodec<Result>(_ body: (UnsafePointer<afc_websocket_codec>?) -> Result) -> Result {
        guard let codec else { return body(nil) }
        var core = codec.core
        return body(&core)
    }

    // MARK: Commands, from any thread

    /// How the socket ended; nil while it is open.
    var close: WebSocketState.End? { state.withLock { $0.socket.end } }

    var queuedBytes: Int {
        state.withLock { state in state.raw.map { Int(clamping: afc_websocket_get_queued($0)) } ?? 0 }
    }

    func cancel() {
        state.withLock { state in
            state.isCancelled = true
            if let raw = state.raw { afc_websocket_cancel(raw) }
        }
    }

    func close(_ code: WebSocket.CloseCode, reason: String) throws(SessionError) {
        guard let raw = state.withLock({ $0.raw }) else { return }
        var reason = reason
        let status = reason.withUTF8 { afc_websocket_close(raw, code.rawValue, afc_slice(UnsafeRawBufferPointer($0))) }
        guard status == .AFC_OK else {
            throw SessionError(
                .invalidInput,
                message:
                    "invalid WebSocket close: the code must be 1000 to 1003, 1007 to 1014 or 3000 to 4999, and the "
                    + "reason at most 123 bytes")
        }
    }

    /// Waits for the end.
    ///
    /// - Throws: The error that ended the socket.
    func waitForEnd() async throws(SessionError) {
        let id = newID()
        let ended: Result<Void, SessionError> = await withTaskCancellationHandler {
            await withUnsafeContinuation { waiter in
                let end = state.withLock { state -> WebSocketState.End? in
                    if state.socket.end == nil { state.socket.addEnder(id, waiter) }
                    return state.socket.end
                }
                if let end { waiter.resume(returning: end.failure.map { .failure($0) } ?? .success(())) }
                if Task.isCancelled { cancelWait(id) { $0.cancelEnder($1) } }
            }
        } onCancel: {
            cancelWait(id) { $0.cancelEnder($1) }
        }
        try ended.get()
    }

    /// Resumes a waiter whose Swift task was cancelled.
    private func cancelWait<Value>(
        _ id: UInt64, _ take: (inout WebSocketState, UInt64) -> WebSocketState.Waiter<Value>?
    ) {
        let waiter = state.withLock { take(&$0.socket, id) }
        waiter?.resume(returning: .failure(SessionError(.cancelled, url: request.http.url)))
    }

    func send(_ message: WebSocket.Message) async throws(SessionError) {
        while true {
            guard !Task.isCancelled else { throw SessionError(.cancelled, url: request.http.url) }
            let seen = state.withLock { $0.socket.sentCount }
            let sent: Result<Bool, SessionError> = await withUnsafeContinuation { waiter in
                switch enqueue(message, waiter) {
                case .AFC_OK: break
                case .AFC_EAGAIN: waiter.resume(returning: .success(false))
                case .AFC_ETOOBIG:
                    let error = SessionError(.tooLarge, message: "the message exceeds sendQueueSize")
                    waiter.resume(returning: .failure(error))
                case let status:
                    waiter.resume(returning: .failure(refusal(status)))
                }
            }
            if try sent.get() { return }
            try await waitForRoom(since: seen)
        }
    }

    /// Gives a message to the core. On success the waiter is resumed by on_sent.
    private func enqueue(_ message: WebSocket.Message, _ waiter: UnsafeContinuation<Result<Bool, SessionError>, Never>)
        -> afc_status
    {
        let box = Unmanaged.passRetained(SendBox(waiter))
        let status: afc_status
        switch message {
        case .text(var text):
            status = text.withUTF8 { enqueue(AFC_WEBSOCKET_TEXT, UnsafeRawBufferPointer($0), box.toOpaque()) }
        case .binary(let data):
            status = data.withUnsafeBytes { enqueue(AFC_WEBSOCKET_BINARY, $0, box.toOpaque()) }
        }
        if status != .AFC_OK { box.release() }
        return status
    }

    private func enqueue(
        _ kind: afc_websocket_kind, _ bytes: UnsafeRawBufferPointer, _ context: UnsafeMutableRawPointer
    ) -> afc_status {
        // Not under the lock: compressing takes time. The core's socket lives as long as this object.
        guard let raw = state.withLock({ $0.raw }) else { return .AFC_ECLOSED }
        return afc_websocket_send(raw, kind, afc_slice(bytes), 0, context)
    }

    private func refusal(_ status: afc_status) -> SessionError {
        guard status != .AFC_ECLOSED else { return state.withLock { $0.socket.closed } }
        return SessionError(SessionError.Code(status), url: request.http.url)
    }

    private func waitForRoom(since seen: UInt64) async throws(SessionError) {
        let id = newID()
        let waited: Result<Void, SessionError> = await withTaskCancellationHandler {
            await withUnsafeContinuation { waiter in
                let mayRetry = state.withLock { state in
                    let mayRetry = state.socket.end != nil || state.socket.sentCount != seen
                    if !mayRetry { state.socket.addSender(id, waiter) }
                    return mayRetry
                }
                if mayRetry { waiter.resume(returning: .success(())) }
                if Task.isCancelled { cancelWait(id) { $0.cancelSender($1) } }
            }
        } onCancel: {
            cancelWait(id) { $0.cancelSender($1) }
        }
        try waited.get()
    }

    func ping() async throws(SessionError) -> Duration {
        let id = newID()
        let answered: Result<Duration, SessionError> = await withTaskCancellationHandler {
            await withUnsafeContinuation { waiter in
                let status = state.withLock { state -> afc_status in
                    guard let raw = state.raw, state.socket.end == nil else { return .AFC_ECLOSED }
                    let status = withUnsafeBytes(of: id) { afc_websocket_ping(raw, afc_slice($0)) }
                    if status == .AFC_OK { state.socket.addPing(id, waiter) }
                    return status
                }
                switch status {
                case .AFC_OK: break
                case .AFC_EAGAIN:
                    let error = SessionError(.invalidInput, message: "eight pings are unanswered")
                    waiter.resume(returning: .failure(error))
                default: waiter.resume(returning: .failure(refusal(status)))
                }
                if Task.isCancelled { cancelWait(id) { $0.takePing($1) } }
            }
        } onCancel: {
            cancelWait(id) { $0.takePing($1) }
        }
        return try answered.get()
    }

    func next() async throws(SessionError) -> WebSocket.Message? {
        let id = newID()
        let received: Result<WebSocket.Message?, SessionError> = await withTaskCancellationHandler {
            await withUnsafeContinuation { waiter in
                let (answer, raw) = state.withLock { ($0.socket.next(id, waiter), $0.raw) }
                switch answer {
                case .wait: break
                case .end(let failure): waiter.resume(returning: failure.map { .failure($0) } ?? .success(nil))
                case .message(let message, let mustResume):
                    if mustResume, let raw { afc_websocket_resume(raw) }
                    waiter.resume(returning: .success(message))
                }
                if Task.isCancelled { cancelWait(id) { $0.cancelReader($1) } }
            }
        } onCancel: {
            cancelWait(id) { $0.cancelReader($1) }
        }
        return try received.get()
    }
}

/// Who waits for the end of a message.
private final class SendBox: Sendable {
    let waiter: UnsafeContinuation<Result<Bool, SessionError>, Never>

    init(_ waiter: UnsafeContinuation<Result<Bool, SessionError>, Never>) {
        self.waiter = waiter
    }
}

// MARK: - The callbacks, on the loop thread

extension CoreWebSocket {
    private static func from(_ context: UnsafeMutableRawPointer?) -> CoreWebSocket? {
        context.map { Unmanaged<CoreWebSocket>.fromOpaque($0).takeUnretainedValue() }
    }

    private static var events: afc_websocket_events {
        var events = afc_websocket_events()
        events.size = MemoryLayout<afc_websocket_events>.stride
        events.on_open = { context, opening in
            guard let opening else { return }
            CoreWebSocket.from(context)?.didOpen(opening.pointee)
        }
        events.on_message = { context, message in
            guard let message, let socket = CoreWebSocket.from(context) else { return .AFC_EINTERNAL }
            return socket.didReceive(message.pointee)
        }
        events.on_sent = { context, message, status in
            guard let message else { return }
            let box = Unmanaged<SendBox>.fromOpaque(message).takeRetainedValue()
            CoreWebSocket.from(context)?.didSend(box, status)
        }
        events.on_pong = { context, payload, roundTrip in
            CoreWebSocket.from(context)?.didReceivePong(payload, roundTrip)
        }
        events.on_closed = { context, end in
            guard let end else { return }
            CoreWebSocket.from(context)?.didEnd(end.pointee)
        }
        events.release = { context in
            context.map { Unmanaged<CoreWebSocket>.fromOpaque($0).release() }
        }
        return events
    }

    private func didOpen(_ opening: afc_websocket_opening) {
        guard let head = opening.head, let url = opening.url else { return }
        let opened = Opening(
            response: HTTPResponse(head.pointee, url: String(cString: url)),
            subprotocol: opening.protocol.size > 0 ? opening.protocol.text : nil, isCompressed: opening.is_compressed)
        let waiter = state.withLock { state in
            defer { state.socket.opening = nil }
            return state.socket.opening
        }
        waiter?.resume(returning: .success(opened))
    }

    private func didReceive(_ message: afc_websocket_message) -> afc_status {
        let taken = state.withLock { state in
            state.socket.take(
                {
                    message.kind == AFC_WEBSOCKET_TEXT
                        ? .text(message.bytes.text) : .binary(Data(message.bytes.buffer))
                }, size: message.bytes.size)
        }
        guard let taken else { return .AFC_EAGAIN }
        if let (reader, message) = taken { reader.resume(returning: .success(message)) }
        return .AFC_OK
    }

    private func didSend(_ box: SendBox, _ status: afc_status) {
        let (senders, end) = state.withLock { ($0.socket.messageWasSent(), $0.socket.end) }
        let error = end?.failure ?? SessionError(SessionError.Code(status), url: request.http.url)
        box.waiter.resume(returning: status == .AFC_OK ? .success(true) : .failure(error))
        for sender in senders { sender.resume(returning: .success(())) }
    }

    private func didReceivePong(_ payload: afc_slice, _ roundTrip: Int64) {
        var id: UInt64 = 0
        guard roundTrip >= 0, payload.size == MemoryLayout.size(ofValue: id) else { return }
        withUnsafeMutableBytes(of: &id) { $0.copyBytes(from: payload.buffer) }
        let waiter = state.withLock { $0.socket.takePing(id) }
        waiter?.resume(returning: .success(.microseconds(roundTrip)))
    }

    private func didEnd(_ end: afc_websocket_end) {
        let failure = end.failure.status == .AFC_OK ? nil : SessionError(end.failure, url: request.http.url)
        let ended = WebSocketState.End(
            code: WebSocket.CloseCode(rawValue: end.code), reason: end.reason.text, failure: failure)
        let (resumed, closed) = state.withLock { ($0.socket.finish(ended), $0.socket.closed) }
        resumed.opening?.resume(returning: .failure(closed))
        resumed.reader?.resume(returning: failure.map { .failure($0) } ?? .success(nil))
        for ping in resumed.pings { ping.resume(returning: .failure(closed)) }
        for sender in resumed.senders { sender.resume(returning: .success(())) }
        for ender in resumed.enders { ender.resume(returning: failure.map { .failure($0) } ?? .success(())) }
    }
}

// MARK: - Compression

/// Passes a ``WebSocketCompression`` to the core.
private final class CompressionBox: Sendable {
    let compression: any WebSocketCompression

    init(_ compression: any WebSocketCompression) {
        self.compression = compression
    }

    /// One direction of a socket, owned by the core.
    final class Stream {
        let stream: any WebSocketCompressionStream

        init(_ stream: any WebSocketCompressionStream) {
            self.stream = stream
        }

        static func from(_ raw: UnsafeMutableRawPointer) -> any WebSocketCompressionStream {
            Unmanaged<Stream>.fromOpaque(raw).takeUnretainedValue().stream
        }
    }

    /// The functions; valid as long as this object.
    var core: afc_websocket_codec {
        afc_websocket_codec(
            context: Unmanaged.passUnretained(self).toOpaque(),
            open: { context, encodes, bits in
                guard let context else { return nil }
                let box = Unmanaged<CompressionBox>.fromOpaque(context).takeUnretainedValue()
                let stream = box.compression.makeStream(isCompressing: encodes, windowBits: Int(bits))
                return stream.map { Unmanaged.passRetained(Stream($0)).toOpaque() }
            },
            convert: { raw, input, output, size in
                guard let raw, let input, let output, let size else { return .AFC_EINTERNAL }
                var rest = UnsafeRawBufferPointer(start: input.pointee.bytes, count: input.pointee.size)
                let room = UnsafeMutableRawBufferPointer(start: output, count: size.pointee)
                guard let count = Stream.from(raw).convert(&rest, into: room), count <= room.count else {
                    return .AFC_EPROTOCOL
                }
                input.pointee = afc_slice(rest)
                size.pointee = count
                return .AFC_OK
            },
            reset: { raw in
                guard let raw else { return }
                Stream.from(raw).reset()
            },
            close: { raw in
                guard let raw else { return }
                Unmanaged<Stream>.fromOpaque(raw).release()
            })
    }
}
