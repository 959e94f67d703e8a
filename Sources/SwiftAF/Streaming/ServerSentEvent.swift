/// An event of a `text/event-stream`, the format of server-sent events in the HTML standard.
public struct ServerSentEvent: Sendable, Hashable {
    /// The last id that the server sent, in this event or an earlier one; empty if there was none. Sent as
    /// `Last-Event-ID` when reconnecting.
    public var id: String
    /// The event type. Default: `message`.
    public var event: String
    /// The lines of data, joined by LF.
    public var data: String
    /// The delay before reconnecting, if the server set it with this event.
    public var retry: Duration?

    /// Makes an event, for tests.
    public init(id: String = "", event: String = "message", data: String, retry: Duration? = nil) {
        self.id = id
        self.event = event
        self.data = data
        self.retry = retry
    }
}

extension ServerSentEvent {
    /// Limits on sizes. Exceeding one fails with ``SessionError/Code/tooLarge``.
    public struct Limits: Hashable, Sendable {
        /// The maximum length of a line, in bytes. Default: 1 MiB.
        public var maximumLineLength = 1 << 20
        /// The maximum size of an event's data, in bytes. Default: 8 MiB.
        public var maximumDataSize = 8 << 20
        /// The maximum number of fields in an event, not counting comments. Default: 10,000.
        public var maximumFieldCount = 10_000

        /// Makes the default limits.
        public init() {}
    }
}
