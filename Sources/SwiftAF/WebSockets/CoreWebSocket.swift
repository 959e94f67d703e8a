internal import CAFCore
import FoundationEssentials
import Synchronization

/// Owns a WebSocket of the core and receives its events.
///
/// The core retains this object from a successful `begin` until after the last event. This object holds a reference to
/// the core's socket until it is freed.
final class CoreWebSocket: CoreTransfer, @unchecked Sendable {
    /// The result of the handshake.
    struct Opening: Sendable {
        var response: HTTPResponse
        var subprotocol: String?
        var isCompressed: Bool
    }

    private struct State {
        /// The core's socket; nil until it was created.
        var raw: OpaquePointer?
        var isCancelled = false
        var socket: WebSocketState
        /// The messages that wait in the core's queue, to report them to monitors when they have been sent. Empty
        /// without monitors.
        var observed: [UInt64: WebSocket.Message] = [:]
    }

    /// Calls to resume once the loop has nothing else to do, so that the threads that they run on wake up once for
    /// many.
    private struct Batch {
        typealias Ready<Value> = (waiter: WebSocketState.Waiter<Value>, result: Result<Value, SessionError>)
        var senders: [Ready<Bool>] = []
        var readers: [Ready<WebSocket.Message?>] = []
        var line: [WebSocketState.Waiter<Void>] = []

        mutating func resume() {
            // Senders first: a received message may be the response to one of theirs.
            for sender in senders { sender.waiter.resume(returning: sender.result) }
            for waiter in line { waiter.resume(returning: .success(())) }
            senders.removeAll(keepingCapacity: senders.count < 16)
            line.removeAll(keepingCapacity: line.count < 16)
            for reader in readers { reader.waiter.resume(returning: reader.result) }
            readers.removeAll(keepingCapacity: true)
        }
    }

    private let protocols: [String]
    private let options: WebSocket.Options
    private let codec: CoreCompression?
    private let memory = ReceiveMemory(keeping: 16 * 1024...64 * 1024)
    private let state: Locked<State>
    /// Used by the loop thread only.
    nonisolated(unsafe) private var batch = Batch()
    let endReport = EndReport()
    private let lastID = Atomic<UInt64>(0)

    init(_ request: CoreRequest, _ protocols: [String], _ options: WebSocket.Options) {
        self.protocols = protocols
        self.options = options
        codec = options.compression.map(CoreCompression.init)
        state = Locked(State(socket: WebSocketState(capacity: options.receiveBufferSize)))
        super.init(request)
    }

    deinit {
        state.withLock { state in
            if let raw = state.raw { afc_websocket_release(raw) }
        }
    }

    // MARK: Opening

    /// Opens the socket. Call once. Cancelling the Swift task cancels the handshake.
    ///
    /// - Parameter loop: The loop of attempts that the handshake belongs to; nil without interceptors.
    func open(in loop: RetryLoop?) async throws(SessionError) -> Opening {
        loop?.sends(self)
        let opened = await withTaskCancellationHandler {
            await withUnsafeContinuation { waiter in
                if let error = begin(waiter) { waiter.resume(returning: .failure(error)) }
            }
        } onCancel: {
            cancel()
        }
        state.synchronizeContinuation()
        return try opened.get()
    }

    /// - Returns: Nil if the socket was started; the waiter is then resumed exactly once. The core is called under the
    ///   lock, so that callbacks that need the lock wait until `raw` is set.
    private func begin(_ waiter: WebSocketState.Waiter<Opening>) -> SessionError? {
        state.withLock { state -> SessionError? in
            guard !state.isCancelled else { return cancelled }
            state.socket.begin(waiter)
            guard let error = start(&state.raw) else { return nil }
            state.socket.cancelBegin()
            return error
        }
    }

    private func start(_ raw: inout OpaquePointer?) -> SessionError? {
        let arena = CoreArena()
        var failure = afc_failure()
        do throws(SessionError) {
            if case .none = request.http.body.content {
            } else {
                throw SessionError(
                    .invalidInput, message: "the request that opens a WebSocket can't have a body",
                    url: request.http.url)
            }
            var core = try coreOptions(arena)
            guard request.session.activity.begin() else { return request.closed }
            var events = events
            events.context = Unmanaged.passRetained(self).toOpaque()
            let status = withCodec { codec in
                core.codec = codec
                return request.withRequest(body: nil) { given in
                    var handshake = given.pointee
                    adapt(&handshake)
                    return afc_websocket_open(&raw, request.session.raw, &handshake, &core, &events, &failure)
                }
            }
            withExtendedLifetime(arena) {}
            guard status == .AFC_OK else { return SessionError(failure, url: request.http.url) }
            if request.session.cancelsStarted { afc_websocket_cancel(raw) }
            return nil
        } catch {
            return error
        }
    }

    /// Removes from the request what a handshake can't have, such as the limits of the body, which would apply to the
    /// sum of all messages.
    private func adapt(_ handshake: inout afc_request) {
        handshake.sink = afc_sink()
        handshake.timeouts.total_ms = 0
        handshake.limits.body_bytes = 0
        handshake.keep_encoding = false
        handshake.version = AFC_HTTP_PREFER_AUTOMATIC
        handshake.expect = AFC_EXPECT_AUTOMATIC
        (handshake.max_send_bytes_per_s, handshake.max_receive_bytes_per_s) = (0, 0)
    }

    /// Returns the core's options without the codec. They are valid as long as the arena.
    func coreOptions(_ arena: CoreArena) throws(SessionError) -> afc_websocket_options {
        var core = afc_websocket_options()
        core.size = MemoryLayout<afc_websocket_options>.stride
        var names: [UnsafePointer<CChar>?] = []
        for name in protocols { names.append(try arena.copy(name, "a WebSocket subprotocol")) }
        core.protocols = arena.copy(names)
        core.protocol_count = names.count
        core.limits.message_bytes = UInt64(clamping: max(1, options.maximumMessageSize))
        core.limits.fragments = UInt32(coreLimit: options.maximumFragments)
        core.limits.queue_bytes = UInt64(clamping: max(1, options.sendQueueSize))
        let opening = [options.openTimeout, request.totalTimeout].compactMap { $0 }.filter { $0 > .zero }.min()
        core.open_timeout_ms = opening?.coreMilliseconds ?? 0
        core.close_timeout_ms = max(1, options.closeTimeout.coreMilliseconds)
        core.ping_interval_ms = options.pingInterval?.coreMilliseconds ?? 0
        core.pong_timeout_ms = max(1, options.pongTimeout.coreMilliseconds)
        core.compression_threshold = max(0, options.compressionThreshold)
        return core
    }

    private func withCodec<Result>(_ body: (UnsafePointer<afc_websocket_codec>?) -> Result) -> Result {
        guard let codec else { return body(nil) }
        var core = codec.core
        return body(&core)
    }

    // MARK: Decisions of the handshake's handlers

    override func send(_ reply: ChallengeReply) {
        state.withLock { state in
            guard let raw = state.raw else { return }
            reply.send { afc_websocket_answer_challenge(raw, $0, $1, $2) }
        }
    }

    /// Accepts a ws URL from the redirect handler, and keeps the fields that make the request a handshake.
    override func replacement(_ next: HTTPRequest, for proposal: RedirectProposal) -> HTTPRequest {
        var next = next
        // A URL with another scheme is refused later, as in any request.
        next.url = (try? CoreURL.fromWebSocket(next.url)) ?? next.url
        for field in proposal.request.headers.fields where Self.isOfHandshake(field) {
            next.headers[field.name] = field.value
        }
        return next
    }

    private static func isOfHandshake(_ field: HTTPHeaders.Field) -> Bool {
        let name = field.name.lowercased()
        return ["connection", "upgrade"].contains(name) || name.hasPrefix("sec-websocket-")
    }

    // MARK: Waiting

    private var cancelled: SessionError { SessionError(.cancelled, url: request.http.url) }

    private func newID() -> UInt64 {
        lastID.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Waits until the waiter is resumed. Cancelling the Swift task resumes it with ``SessionError/Code/cancelled``.
    ///
    /// - Parameters:
    ///   - begin: Resumes the waiter, or adds it to the state under `id`.
    ///   - take: Removes the waiter from the state; nil if it isn't there, because it was resumed.
    private func wait<Value>(
        _ id: UInt64, _ take: @escaping @Sendable (inout WebSocketState, UInt64) -> WebSocketState.Waiter<Value>?,
        _ begin: (WebSocketState.Waiter<Value>) -> Void
    ) async throws(SessionError) -> Value {
        let result: Result<Value, SessionError> = await withTaskCancellationHandler {
            await withUnsafeContinuation { waiter in
                begin(waiter)
                // The cancellation handler below may have run before the waiter was in the state.
                if Task.isCancelled { cancelWait(id, take) }
            }
        } onCancel: {
            cancelWait(id, take)
        }
        state.synchronizeContinuation()
        return try result.get()
    }

    private func cancelWait<Value>(
        _ id: UInt64, _ take: (inout WebSocketState, UInt64) -> WebSocketState.Waiter<Value>?
    ) {
        let waiter = state.withLock { take(&$0.socket, id) }
        waiter?.resume(returning: .failure(cancelled))
    }

    // MARK: Ending

    /// The end of the socket; nil while it is open.
    var end: WebSocketState.End? { state.withLock { $0.socket.end } }

    override func cancel() {
        state.withLock { state in
            state.isCancelled = true
            if let raw = state.raw { afc_websocket_cancel(raw) }
        }
    }

    func close(_ code: WebSocket.CloseCode, reason: String) throws(SessionError) {
        guard let raw = state.withLock({ $0.raw }) else { return }
        let status = reason.withCoreSlice { afc_websocket_close(raw, code.rawValue, $0) }
        guard status == .AFC_OK else {
            throw SessionError(
                .invalidInput,
                message:
                    "invalid WebSocket close: the code must be 1000 to 1003, 1007 to 1014 or 3000 to 4999, and the "
                    + "reason at most 123 bytes")
        }
    }

    /// Closes a socket whose handle was released. Messages that still arrive are discarded: the core would hold them
    /// otherwise, and not read the server's close frame behind them.
    func abandon() {
        let (raw, mustResume) = state.withLock { ($0.raw, $0.socket.discardMessages()) }
        guard let raw else { return }
        _ = afc_websocket_close(raw, WebSocket.CloseCode.goingAway.rawValue, afc_slice())
        if mustResume { afc_websocket_resume(raw) }
    }

    /// Waits for the end.
    ///
    /// - Throws: The error that ended the socket.
    func waitForEnd() async throws(SessionError) {
        let id = newID()
        try await wait(id, { $0.takeCloser($1) }) { waiter in
            let end = state.withLock { state -> WebSocketState.End? in
                if state.socket.end == nil { state.socket.addCloser(id, waiter) }
                return state.socket.end
            }
            if let end { waiter.resume(returning: end.failure.map { .failure($0) } ?? .success(())) }
        }
    }

    // MARK: Sending

    var queuedBytes: Int {
        state.withLock { state in state.raw.map { Int(clamping: afc_websocket_get_queued($0)) } ?? 0 }
    }

    /// Passes a message to the core and waits until it is sent. While the core's queue is full, calls wait, in the
    /// order of the calls.
    func send(_ message: WebSocket.Message) async throws(SessionError) {
        let id = newID()
        do throws(SessionError) {
            while true {
                guard !Task.isCancelled else { throw cancelled }
                let permission = state.withLock { $0.socket.sendPermission(of: id) }
                if permission != nil, try await enqueue(message, id) { return }
                try await wait(id, { $0.cancelInLine($1) }) { waiter in
                    let waits = state.withLock { $0.socket.waitInLine(id, waiter, since: permission) }
                    if !waits { waiter.resume(returning: .success(())) }
                }
            }
        } catch {
            leaveLine(id)
            throw error
        }
    }

    private func leaveLine(_ id: UInt64) {
        state.withLock { $0.socket.leaveLine(id) }?.resume(returning: .success(()))
    }

    /// - Returns: Whether the message was sent; false if the queue is full.
    private func enqueue(_ message: WebSocket.Message, _ id: UInt64) async throws(SessionError) -> Bool {
        try await wait(id, { $0.takeSend($1) }) { waiter in
            // Added before the core gets the message, because it may send it at once.
            let raw = state.withLock { state in
                state.socket.addSend(id, waiter)
                if observesMessages { state.observed[id] = message }
                return state.raw
            }
            // Called without the lock, because compressing takes time. The core's socket lives as long as this object.
            let status = raw.map { enqueue(message, id, to: $0) } ?? .AFC_ECLOSED
            guard status != .AFC_OK else { return leaveLine(id) }
            let result: Result<Bool, SessionError> =
                switch status {
                case .AFC_EAGAIN: .success(false)
                case .AFC_ETOOBIG:
                    .failure(
                        SessionError(
                            .tooLarge, message: "the message exceeds sendQueueSize, \(options.sendQueueSize) bytes"))
                default: .failure(refusal(status))
                }
            let sender = state.withLock { state in
                state.observed[id] = nil
                return state.socket.takeSend(id)
            }
            sender?.resume(returning: result)
        }
    }

    private var observesMessages: Bool { request.handlers.monitors?.observesMessages == true }

    private func enqueue(_ message: WebSocket.Message, _ id: UInt64, to raw: OpaquePointer) -> afc_status {
        let context = UnsafeMutableRawPointer(bitPattern: UInt(id))
        switch message {
        case .text(var text):
            return text.withUTF8 {
                afc_websocket_send(raw, AFC_WEBSOCKET_TEXT, afc_slice(UnsafeRawBufferPointer($0)), 0, context)
            }
        case .binary(let data):
            return data.withUnsafeBytes { afc_websocket_send(raw, AFC_WEBSOCKET_BINARY, afc_slice($0), 0, context) }
        }
    }

    private func refusal(_ status: afc_status) -> SessionError {
        guard status == .AFC_ECLOSED else { return SessionError(SessionError.Code(status), url: request.http.url) }
        // After `cancel()`, the core refuses messages before it has reported the end.
        return state.withLock { $0.isCancelled && $0.socket.end == nil ? cancelled : $0.socket.closed }
    }

    func ping() async throws(SessionError) -> Duration {
        let id = newID()
        return try await wait(id, { $0.takePing($1) }) { waiter in
            let status = state.withLock { state -> afc_status in
                guard let raw = state.raw, state.socket.end == nil else { return .AFC_ECLOSED }
                let status = withUnsafeBytes(of: id) { afc_websocket_ping(raw, afc_slice($0)) }
                if status == .AFC_OK { state.socket.addPing(id, waiter) }
                return status
            }
            switch status {
            case .AFC_OK: break
            case .AFC_EAGAIN:
                let error = SessionError(.invalidInput, message: "eight pings of the WebSocket are unanswered")
                waiter.resume(returning: .failure(error))
            default: waiter.resume(returning: .failure(refusal(status)))
            }
        }
    }

    // MARK: Receiving

    /// Returns the next message; nil at the end. If one is buffered, it is returned without waiting and without leaving
    /// the caller's actor.
    func next(isolation: isolated (any Actor)?) async throws(SessionError) -> WebSocket.Message? {
        if let message = try takeBuffered() { return message }
        return try await waitForNext()
    }

    private func takeBuffered() throws(SessionError) -> WebSocket.Message? {
        guard !Task.isCancelled else { throw cancelled }
        let (buffered, raw) = state.withLock { ($0.socket.takeBuffered(), $0.raw) }
        guard let (message, mustResume) = buffered else { return nil }
        if mustResume, let raw { afc_websocket_resume(raw) }
        return message
    }

    private func waitForNext() async throws(SessionError) -> WebSocket.Message? {
        let id = newID()
        return try await wait(id, { $0.cancelReader($1) }) { waiter in
            let (next, raw) = state.withLock { ($0.socket.next(id, waiter), $0.raw) }
            switch next {
            case .wait: break
            case .end(let failure): waiter.resume(returning: failure.map { .failure($0) } ?? .success(nil))
            case .message(let message, let mustResume):
                if mustResume, let raw { afc_websocket_resume(raw) }
                waiter.resume(returning: .success(message))
            }
        }
    }
}

// MARK: - The callbacks, on the loop thread

extension CoreWebSocket {
    private static func from(_ context: UnsafeMutableRawPointer?) -> CoreWebSocket? {
        context.map { Unmanaged<CoreWebSocket>.fromOpaque($0).takeUnretainedValue() }
    }

    private var events: afc_websocket_events {
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
            CoreWebSocket.from(context)?.didSend(UInt64(UInt(bitPattern: message)), status)
        }
        events.on_pong = { context, payload, roundTrip in
            CoreWebSocket.from(context)?.didReceivePong(payload, roundTrip)
        }
        events.on_batch_end = { context in
            CoreWebSocket.from(context)?.batch.resume()
        }
        events.on_closed = { context, end in
            guard let end else { return }
            CoreWebSocket.from(context)?.didEnd(end.pointee)
        }
        // Called after the last event, and also if the socket couldn't begin.
        events.release = { context in
            guard let context else { return }
            let socket = Unmanaged<CoreWebSocket>.fromOpaque(context)
            socket.takeUnretainedValue().request.session.activity.end()
            socket.release()
        }
        let hops = hopEvents()
        events.on_redirect = hops.on_redirect
        events.on_challenge = hops.on_challenge
        events.on_challenge_accepted = hops.on_challenge_accepted
        events.on_informational = hops.on_informational
        events.on_trace = hops.on_trace
        return events
    }

    private func didOpen(_ opening: afc_websocket_opening) {
        guard let head = opening.head, let url = opening.url else { return }
        let opened = Opening(
            response: HTTPResponse(head.pointee, url: String(cString: url)),
            subprotocol: opening.protocol.size > 0 ? opening.protocol.text : nil, isCompressed: opening.is_compressed)
        request.handlers.events?.report(.responseReceived(opened.response))
        state.withLock { $0.socket.open() }?.resume(returning: .success(opened))
    }

    private func didReceive(_ message: afc_websocket_message) -> afc_status {
        let intake = state.withLock { $0.socket.decide(size: message.bytes.size) }
        // The message is copied without the lock, because that takes time.
        switch intake {
        case .deliver(let reader): batch.readers.append((reader, .success(copy(message))))
        case .buffer:
            let copy = copy(message)
            let reader = state.withLock { $0.socket.buffer(copy) }
            if let reader { batch.readers.append((reader, .success(copy))) }
        case .hold: return .AFC_EAGAIN
        case .discard: break
        }
        return .AFC_OK
    }

    /// Copies a message, and reports it to monitors before its reader gets it.
    private func copy(_ message: afc_websocket_message) -> WebSocket.Message {
        let copy = WebSocket.Message(message, memory)
        if observesMessages { request.handlers.events?.report(.messageReceived(copy)) }
        return copy
    }

    private func didSend(_ id: UInt64, _ status: afc_status) {
        let (sender, next, message) = state.withLock { state in
            let (sender, next) = state.socket.didSend(id)
            return (sender, next, state.observed.removeValue(forKey: id))
        }
        if let message, status == .AFC_OK { request.handlers.events?.report(.messageSent(message)) }
        if let sender { batch.senders.append((sender, status == .AFC_OK ? .success(true) : .failure(refusal(status)))) }
        if let next { batch.line.append(next) }
    }

    private func didReceivePong(_ payload: afc_slice, _ roundTrip: Int64) {
        var id: UInt64 = 0
        guard roundTrip >= 0, payload.size == MemoryLayout.size(ofValue: id) else { return }
        withUnsafeMutableBytes(of: &id) { $0.copyBytes(from: payload.buffer) }
        // A pong also counts for earlier pings (RFC 6455 5.5.3).
        let waiters = state.withLock { $0.socket.takePings(through: id) }
        for waiter in waiters { waiter.resume(returning: .success(.microseconds(roundTrip))) }
    }

    private func didEnd(_ core: afc_websocket_end) {
        stopAnswering()
        batch.resume()
        let outcome = outcome(of: core)
        let end = WebSocketState.End(
            code: WebSocket.CloseCode(rawValue: core.code), reason: core.reason.text, failure: outcome.failure)
        let (resumed, closed) = state.withLock { ($0.socket.finish(end), $0.socket.closed) }
        if resumed.opening != nil, let refusal = outcome.response {
            request.handlers.events?.report(.responseReceived(refusal))
        }
        if request.handlers.events != nil { endReport.end(with: outcome) }
        resumed.opening?.resume(returning: .failure(closed))
        resumed.reader?.resume(returning: end.failure.map { .failure($0) } ?? .success(nil))
        for ping in resumed.pings { ping.resume(returning: .failure(closed)) }
        for sender in resumed.senders { sender.resume(returning: .success(())) }
        for closer in resumed.closers { closer.resume(returning: end.failure.map { .failure($0) } ?? .success(())) }
    }

    private func outcome(of end: afc_websocket_end) -> CoreOutcome {
        guard let result = end.result else { return CoreOutcome(failure: SessionError(end.failure)) }
        var outcome = CoreResult.outcome(borrowing: result, failure: end.failure, for: request.http.url)
        // The core reports a response that isn't a 101 as a violation of the protocol; for callers it is a refusal by
        // status.
        if outcome.failure?.code == .protocol, let status = outcome.response?.status, status != 101 {
            outcome.failure?.code = .status
        }
        outcome.failure = outcome.failure.map(explain)
        return outcome
    }
}

extension WebSocket.Message {
    fileprivate init(_ message: afc_websocket_message, _ memory: ReceiveMemory) {
        self =
            message.kind == AFC_WEBSOCKET_TEXT
            ? .text(message.bytes.text) : .binary(memory.copy(UnsafeRawBufferPointer(message.bytes.buffer)))
    }
}
