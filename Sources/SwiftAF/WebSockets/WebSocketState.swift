/// The state of a socket: the received messages, and the calls that wait. Changes only itself; it returns the calls to
/// resume, which the owner does without the lock.
struct WebSocketState {
    // Unsafe, because a checked continuation allocates for each message.
    typealias Waiter<Value> = UnsafeContinuation<Result<Value, SessionError>, Never>

    /// The end of a socket.
    struct End {
        var code: WebSocket.CloseCode
        var reason: String
        /// The error that ended the socket; nil if the server sent a close frame.
        var failure: SessionError?
    }

    /// The phases follow in this order. A failed handshake leads to the last one.
    private enum Phase {
        case new
        case opening(Waiter<CoreWebSocket.Opening>)
        case open
        case ended(End)
    }

    /// What to do with the next message.
    private enum Reading {
        /// Buffer it.
        case buffering
        /// Pass it to the waiting reader.
        case waiting(id: UInt64, Waiter<WebSocket.Message?>)
        /// The buffer is full: the core holds the message and reads nothing more.
        case held
        /// Discard it, because nothing can read it any more.
        case discarding
    }

    /// The calls to resume at the end.
    struct Resumed {
        var opening: Waiter<CoreWebSocket.Opening>?
        var reader: Waiter<WebSocket.Message?>?
        var pings: [Waiter<Duration>] = []
        /// They try again, and get the error of the end.
        var senders: [Waiter<Void>] = []
        var closers: [Waiter<Void>] = []
    }

    private let capacity: Int
    private var phase = Phase.new

    private var reading = Reading.buffering
    private var messages: [WebSocket.Message] = []
    /// The index of the next message in `messages`. Those before it were read.
    private var first = 0
    private var buffered = 0
    /// The error of the end, until a reader has thrown it.
    private var unreadFailure: SessionError?

    /// The calls whose messages are in the core's queue.
    private var sends: [UInt64: Waiter<Bool>] = [:]
    /// The calls that wait for room in the core's queue, in order. A call without a waiter was resumed and is about to
    /// try again.
    private var line = WaitingLine<Waiter<Void>>()
    /// The number of messages that were sent. By it, a call detects that room was made between its attempt and its
    /// wait.
    private(set) var sentCount: UInt64 = 0

    private var pings: [UInt64: Waiter<Duration>] = [:]
    private var closers: [UInt64: Waiter<Void>] = [:]

    /// - Parameter capacity: The number of bytes that are buffered before messages are held.
    init(capacity: Int) {
        self.capacity = max(0, capacity)
    }

    // MARK: Phases

    /// The end; nil while the socket is open.
    var end: End? {
        if case .ended(let end) = phase { end } else { nil }
    }

    /// The error of calls after the end.
    var closed: SessionError {
        end?.failure ?? SessionError(.closed, message: "the WebSocket is closed")
    }

    mutating func begin(_ waiter: Waiter<CoreWebSocket.Opening>) {
        phase = .opening(waiter)
    }

    /// Called if the core refused to begin. The caller resumes the waiter itself.
    mutating func cancelBegin() {
        phase = .new
    }

    /// - Returns: The call to resume: the one that waits for the handshake.
    mutating func open() -> Waiter<CoreWebSocket.Opening>? {
        guard case .opening(let waiter) = phase else { return nil }
        phase = .open
        return waiter
    }

    mutating func finish(_ end: End) -> Resumed {
        var resumed = Resumed(
            pings: Array(pings.values), senders: line.takeWaiters(), closers: Array(closers.values))
        if case .opening(let waiter) = phase { resumed.opening = waiter }
        if case .waiting(_, let waiter) = reading {
            resumed.reader = waiter
        } else {
            unreadFailure = end.failure
        }
        phase = .ended(end)
        if case .discarding = reading {} else { reading = .buffering }
        pings = [:]
        closers = [:]
        return resumed
    }

    // MARK: Receiving

    /// What to do with a message that has arrived.
    enum Intake {
        case deliver(Waiter<WebSocket.Message?>)
        case buffer
        case hold
        case discard
    }

    /// Decides about a message. The core delivers a held message again, possibly before it was resumed.
    mutating func decide(size: Int) -> Intake {
        switch reading {
        case .discarding:
            return .discard
        case .waiting(_, let waiter):
            reading = .buffering
            return .deliver(waiter)
        case .buffering, .held:
            // A message larger than the whole buffer is accepted if the buffer is empty.
            guard buffered == 0 || Self.cost(size) <= capacity - min(capacity, buffered) else {
                reading = .held
                return .hold
            }
            reading = .buffering
            return .buffer
        }
    }

    /// - Returns: The reader to resume with the message, if one has begun to wait since ``decide(size:)``.
    mutating func buffer(_ message: WebSocket.Message) -> Waiter<WebSocket.Message?>? {
        if case .waiting(_, let waiter) = reading {
            reading = .buffering
            return waiter
        }
        if case .discarding = reading { return nil }
        messages.append(message)
        buffered += Self.cost(message.size)
        return nil
    }

    /// Returns the size of a message in the buffer. At least 64, because empty messages use memory, too.
    private static func cost(_ size: Int) -> Int { max(size, 64) }

    /// The result of a read.
    enum Next {
        /// The oldest message. If `mustResume`, the core holds a message and must be resumed.
        case message(WebSocket.Message, mustResume: Bool)
        case end(SessionError?)
        case wait
    }

    /// Takes the oldest buffered message; nil if the buffer is empty.
    mutating func takeBuffered() -> (message: WebSocket.Message, mustResume: Bool)? {
        first < messages.count ? (takeMessage(), takeHold()) : nil
    }

    mutating func next(_ id: UInt64, _ waiter: Waiter<WebSocket.Message?>) -> Next {
        if let (message, mustResume) = takeBuffered() { return .message(message, mustResume: mustResume) }
        if case .ended = phase {
            defer { unreadFailure = nil }
            return .end(unreadFailure)
        }
        if case .waiting = reading {
            return .end(
                SessionError(.invalidInput, message: "the WebSocket's messages are already being read by another task"))
        }
        reading = .waiting(id: id, waiter)
        return .wait
    }

    private mutating func takeMessage() -> WebSocket.Message {
        let message = messages[first]
        first += 1
        buffered -= Self.cost(message.size)
        if first == messages.count {
            messages.removeAll(keepingCapacity: messages.count < 64)
            first = 0
        } else if first >= 64, first > messages.count / 2 {
            messages.removeFirst(first)
            first = 0
        }
        return message
    }

    /// Ends the hold if there is enough room to read again. Returns whether the core must be resumed.
    private mutating func takeHold() -> Bool {
        guard case .held = reading, buffered <= capacity / 2 else { return false }
        reading = .buffering
        return true
    }

    mutating func cancelReader(_ id: UInt64) -> Waiter<WebSocket.Message?>? {
        guard case .waiting(id, let waiter) = reading else { return nil }
        reading = .buffering
        return waiter
    }

    /// Discards messages that arrive from now on, so that a close frame behind them is read.
    ///
    /// - Returns: Whether the core holds a message, and must be resumed.
    mutating func discardMessages() -> Bool {
        defer { reading = .discarding }
        (messages, first, buffered) = ([], 0, 0)
        if case .held = reading { return true } else { return false }
    }

    // MARK: Sending

    /// - Returns: ``sentCount`` if a call may pass its message to the core; nil if other calls are before it in the
    ///   line. After the end, every call may, and is refused by the core.
    func sendPermission(of id: UInt64) -> UInt64? {
        end != nil || line.isEmpty || line.firstID == id ? sentCount : nil
    }

    mutating func addSend(_ id: UInt64, _ waiter: Waiter<Bool>) {
        sends[id] = waiter
    }

    /// Removes the call that waits until a message is sent; nil if it was cancelled.
    mutating func takeSend(_ id: UInt64) -> Waiter<Bool>? {
        sends.removeValue(forKey: id)
    }

    /// Called when a message was sent, so that there is room.
    ///
    /// - Returns: The call that has sent the message, and the first one in the line, which may try again.
    mutating func didSend(_ id: UInt64) -> (sender: Waiter<Bool>?, next: Waiter<Void>?) {
        sentCount += 1
        return (takeSend(id), line.takeFirstWaiter())
    }

    /// Adds a call to the line of those that wait for room.
    ///
    /// - Parameter seen: The value that ``sendPermission(of:)`` returned before the call tried.
    /// - Returns: False if the call needn't wait and can try again at once.
    mutating func waitInLine(_ id: UInt64, _ waiter: Waiter<Void>, since seen: UInt64?) -> Bool {
        if end != nil { return false }
        if let permission = sendPermission(of: id), permission != seen { return false }
        line.wait(id, waiter)
        return true
    }

    /// - Returns: The call to resume, which may try again, if the leaving one was the first.
    mutating func leaveLine(_ id: UInt64) -> Waiter<Void>? {
        line.leave(id) ? line.takeFirstWaiter() : nil
    }

    mutating func cancelInLine(_ id: UInt64) -> Waiter<Void>? {
        line.takeWaiter(of: id)
    }

    // MARK: Pings and the close

    mutating func addPing(_ id: UInt64, _ waiter: Waiter<Duration>) {
        pings[id] = waiter
    }

    mutating func takePing(_ id: UInt64) -> Waiter<Duration>? {
        pings.removeValue(forKey: id)
    }

    /// Removes and returns the calls that wait for the pong of this ping or of an earlier one.
    mutating func takePings(through id: UInt64) -> [Waiter<Duration>] {
        pings.keys.filter { $0 <= id }.sorted().compactMap { takePing($0) }
    }

    mutating func addCloser(_ id: UInt64, _ waiter: Waiter<Void>) {
        closers[id] = waiter
    }

    mutating func takeCloser(_ id: UInt64) -> Waiter<Void>? {
        closers.removeValue(forKey: id)
    }
}

extension WebSocket.Message {
    /// The size in bytes.
    var size: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let data): data.count
        }
    }
}
