/// One event of a `text/event-stream`, the format of server-sent events in the HTML standard.
public struct ServerSentEvent: Sendable, Hashable {
    /// The last id that the server gave, in this event or before; empty if there was none. A later connection
    /// begins behind it.
    public var id: String
    /// The type, `message` where the server names none.
    public var event: String
    /// The lines of data, joined by LF.
    public var data: String
    /// The time to wait before connecting again, if the server set it with this event.
    public var retry: Duration?

    /// Makes an event, as tests do.
    public init(id: String = "", event: String = "message", data: String, retry: Duration? = nil) {
        self.id = id
        self.event = event
        self.data = data
        self.retry = retry
    }
}

extension ServerSentEvent {
    /// Sizes beyond which reading ends with ``SessionError/Code/tooLarge``.
    public struct Limits: Hashable, Sendable {
        /// Bytes of one line.
        public var maximumLineLength = 1 << 20
        /// Bytes of the data of one event.
        public var maximumDataSize = 8 << 20
        /// Fields of one event. Comments don't count.
        public var maximumFieldCount = 10_000

        public init() {}
    }
}
