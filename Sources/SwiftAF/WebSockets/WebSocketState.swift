import FoundationEssentials

/// What a socket has received, and who waits for what. A value without side effects.
struct WebSocketState {
    typealias Waiter<Value> = UnsafeContinuation<Result<Value, SessionError>, Never>

    /// How the socket ended.
    struct End {
        var code: WebSocket.CloseCode
        var reason: String
        /// Nil: the server sent a close frame.
        var failure: SessionError?
    }

    /// Whom to resume at the end.
    struct Resumed {
        var opening: Waiter<CoreWebSocket.Opening>?
        var reader: Waiter<WebSocket.Message?>?
        var pings: [Waiter<Duration>] = []
        var senders: [Waiter<Void>] = []
        var enders: [Waiter<Void>] = []
    }

    let capacity: Int
    private(set) var end: End?
    var opening: Waiter<CoreWebSocket.Opening>?

    private var messages: [WebSocket.Message] = []
    /// The index of the next message; those before it were read.
    private var first = 0
    private var buffered = 0
    private(set) var isHeld = false
    private var reader: (id: UInt64, waiter: Waiter<WebSocket.Message?>)?
    private var hasThrown = false

    private var pings: [UInt64: Waiter<Duration>] = [:]
    /// Wait until the queue has room, in their order.
    private var senders: [(id: UInt64, waiter: Waiter<Void>)] = []
    /// Counts messages that were sent, so that no sender waits for one that is already gone.
    private(set) var sentCount: UInt64 = 0
    private var enders: [(id: UInt64, waiter: Waiter<Void>)] = []

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// What a command after the end throws.
    var closed: SessionError {
        end?.failure ?? SessionError(.closed, message: "the WebSocket is closed")
    }

    // MARK: Receiving

    /// - Returns: Nil if the message must be held; otherwise the reader to resume with it, if there is one.
    mutating func take(_ message: () -> WebSocket.Message, size: Int) -> (
        reader: Waiter<WebSocket.Message?>, WebSocket.Message
    )?? {
        if let reader {
            self.reader = nil
            return .some((reader.waiter, message()))
        }
        // One that is larger than the buffer is taken when the buffer is empty.
        guard buffered == 0 || size <= capacity - min(capacity, buffered) else {
            isHeld = true
            return .none
        }
        messages.append(message())
        // An empty message uses memory, too.
        buffered += max(size, 64)
        return .some(nil)
    }

    enum Answer {
        /// If `mustResume`, the socket held a message and must be resumed.
        case message(WebSocket.Message, mustResume: Bool)
        case end(SessionError?)
        case wait
    }

    mutating func next(_ id: UInt64, _ waiter: Waiter<WebSocket.Message?>) -> Answer {
        if first < messages.count {
            let message = messages[first]
            first += 1
            buffered -= max(message.size, 64)
            if first == messages.count {
                messages.removeAll(keepingCapacity: messages.count < 64)
                first = 0
            } else if first >= 64, first > messages.count / 2 {
                messages.removeFirst(first)
                first = 0
            }
            let mustResume = isHeld && buffered <= capacity / 2
            if mustResume { isHeld = false }
            return .message(message, mustResume: mustResume)
        }
        if let end {
            defer { hasThrown = true }
            return .end(hasThrown ? nil : end.failure)
        }
        guard reader == nil else {
            return .end(SessionError(.invalidInput, message: "two tasks wait for the same WebSocket"))
        }
        reader = (id, waiter)
        return .wait
    }

    mutating func cancelReader(_ id: UInt64) -> Waiter<WebSocket.Message?>? {
        guard reader?.id == id else { return nil }
        defer { reader = nil }
        return reader?.waiter
    }

    // MARK: Sending

    mutating func addSender(_ id: UInt64, _ waiter: Waiter<Void>) {
        senders.append((id, waiter))
    }

    mutating func cancelSender(_ id: UInt64) -> Waiter<Void>? {
        guard let index = senders.firstIndex(where: { $0.id == id }) else { return nil }
        return senders.remove(at: index).waiter
    }

    /// - Returns: The senders that try again.
    mutating func messageWasSent() -> [Waiter<Void>] {
        sentCount += 1
        defer { senders = [] }
        return senders.map(\.waiter)
    }

    mutating func addPing(_ id: UInt64, _ waiter: Waiter<Duration>) {
        pings[id] = waiter
    }

    mutating func takePing(_ id: UInt64) -> Waiter<Duration>? {
        pings.removeValue(forKey: id)
    }

    // MARK: The end

    mutating func addEnder(_ id: UInt64, _ waiter: Waiter<Void>) {
        enders.append((id, waiter))
    }

    mutating func cancelEnder(_ id: UInt64) -> Waiter<Void>? {
        guard let index = enders.firstIndex(where: { $0.id == id }) else { return nil }
        return enders.remove(at: index).waiter
    }

    mutating func finish(_ end: End) -> Resumed {
        self.end = end
        // The reader that is resumed gets the error.
        if reader != nil { hasThrown = true }
        let resumed = Resumed(
            opening: opening, reader: reader?.waiter, pings: Array(pings.values), senders: senders.map(\.waiter),
            enders: enders.map(\.waiter))
        opening = nil
        reader = nil
        pings = [:]
        senders = []
        enders = []
        return resumed
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
