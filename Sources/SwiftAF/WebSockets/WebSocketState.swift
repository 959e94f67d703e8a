/// What a socket has received, and which calls wait for what. A value without side effects.
struct WebSocketState {
    // Unsafe, because a checked continuation allocates for each message.
    typealias Waiter<Value> = UnsafeContinuation<Result<Value, SessionError>, Never>

    /// How the socket ended.
    struct End {
        var code: WebSocket.CloseCode
        var reason: String
        /// Nil: the server sent a close frame.
        var failure: SessionError?
    }

    /// In this order; a handshake that fails ends the socket.
    private enum Phase {
        case new
        case opening(Waiter<CoreWebSocket.Opening>)
        case open
        case ended(End)
    }

    /// What happens to the next message.
    private enum Reading {
        /// It is buffered.
        case buffering
        /// It is passed to the reader that waits.
        case waiting(id: UInt64, Waiter<WebSocket.Message?>)
        /// There is no room: the core holds it, and nothing is read.
        case held
        /// It is discarded: nothing can read it.
        case discarding
    }

    /// The calls to resume at the end.
    struct Resumed {
        var opening: Waiter<CoreWebSocket.Opening>?
        var reader: Waiter<WebSocket.Message?>?
        var pings: [Waiter<Duration>] = []
        /// They try again, and fail.
        var senders: [Waiter<Void>] = []
        var closers: [Waiter<Void>] = []
    }

    private let capacity: Int
    private var phase = Phase.new

    private var reading = Reading.buffering
    private var messages: [WebSocket.Message] = []
    /// The index of the next message; those before it were read.
    private var first = 0
    private var buffered = 0
    /// The error that no reader has got yet.
    private var unreadFailure: SessionError?

    /// Calls whose message is in the core's queue.
    private var sends: [UInt64: Waiter<Bool>] = [:]
    /// Calls that wait for room in that queue, in their order. Those without a waiter are about to try again.
    private var line = WaitingLine<Waiter<Void>>()
    /// Counts messages that were sent, so that no call waits for room that is already there.
    private(set) var sentCount: UInt64 = 0

    private var pings: [UInt64: Waiter<Duration>] = [:]
    private var closers: [UInt64: Waiter<Void>] = [:]

    /// - Parameter capacity: How many bytes are buffered, at most, before messages are held.
    init(capacity: Int) {
        self.capacity = max(0, capacity)
    }

    // MARK: Phases

    /// Nil before the end.
    var end: End? {
        if case .ended(let end) = phase { end } else { nil }
    }

    /// What a command after the end throws.
    var closed: SessionError {
        end?.failure ?? SessionError(.closed, message: "the WebSocket is closed")
    }

    mutating func begin(_ waiter: Waiter<CoreWebSocket.Opening>) {
        phase = .opening(waiter)
    }

    /// The core refused to begin; the caller resumes its waiter.
    mutating func cancelBegin() {
        phase = .new
    }

    /// - Returns: The call that waits for the handshake.
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

    /// Decides on a message. The core passes a held message again, also before it is resumed.
    mutating func decide(size: Int) -> Intake {
        switch reading {
        case .discarding:
            return .discard
        case .waiting(_, let waiter):
            reading = .buffering
            return .deliver(waiter)
        case .buffering, .held:
            // One that is larger than the buffer is taken when the buffer is empty.
            guard buffered == 0 || Self.cost(size) <= capacity - min(capacity, buffered) else {
                reading = .held
                return .hold
            }
            reading = .buffering
            return .buffer
        }
    }

    /// - Returns: The reader to resume with the message, if one has begun to wait since it was decided to buffer it.
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

    /// What a message takes of the buffer. Empty messages use memory, too.
    private static func cost(_ size: Int) -> Int { max(size, 64) }

    /// What a reader does next.
    enum Next {
        /// If `mustResume`, the core holds a message, and must be resumed.
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

    /// Whether there is enough room to read again.
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

    /// Discards what arrives from now on, so that a close frame behind it is read.
    ///
    /// - Returns: Whether the core holds a message, and must be resumed.
    mutating func discardMessages() -> Bool {
        defer { reading = .discarding }
        (messages, first, buffered) = ([], 0, 0)
        if case .held = reading { return true } else { return false }
    }

    // MARK: Sending

    /// - Returns: ``sentCount`` if a call may pass its message to the core; nil if others come before it. After the
    ///   end, every call may, and gets the core's refusal.
    func sendPermission(of id: UInt64) -> UInt64? {
        end != nil || line.isEmpty || line.firstID == id ? sentCount : nil
    }

    mutating func addSend(_ id: UInt64, _ waiter: Waiter<Bool>) {
        sends[id] = waiter
    }

    /// The call that waits until a message is sent; nil if it was cancelled.
    mutating func takeSend(_ id: UInt64) -> Waiter<Bool>? {
        sends.removeValue(forKey: id)
    }

    /// A message was sent, so there is room.
    ///
    /// - Returns: The call that waited for it, and the one that tries next.
    mutating func didSend(_ id: UInt64) -> (sender: Waiter<Bool>?, next: Waiter<Void>?) {
        sentCount += 1
        return (takeSend(id), line.takeFirstWaiter())
    }

    /// Waits for room.
    ///
    /// - Parameter seen: What ``sendPermission(of:)`` returned before the call tried.
    /// - Returns: False if the call can try at once.
    mutating func waitInLine(_ id: UInt64, _ waiter: Waiter<Void>, since seen: UInt64?) -> Bool {
        if end != nil { return false }
        if let permission = sendPermission(of: id), permission != seen { return false }
        line.wait(id, waiter)
        return true
    }

    /// - Returns: The call that tries next, if this one was the first in line.
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

    /// The calls that wait for the pong of a ping, or of an earlier one.
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
    /// The number of bytes.
    var size: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let data): data.count
        }
    }
}
