import FoundationEssentials

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
    /// The decoder of the manager that received the event; nil for an event that the program created.
    var decoder: (any DataDecoder)?

    /// Decodes the data, by default as JSON.
    ///
    /// ```swift
    /// let price = try event.value(as: Price.self)
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - decoder: Nil uses the manager's, or `JSONCoder()` for an event made by a program.
    /// - Throws: ``SessionError/Code/serialization`` if the data isn't a value of the type.
    public func value<Value: Decodable>(
        as type: Value.Type = Value.self, decoder: (any DataDecoder)? = nil
    ) throws(SessionError) -> Value {
        do {
            return try (decoder ?? self.decoder ?? JSONCoder()).decodeReceived(type, from: Data(data.utf8))
        } catch {
            throw SessionError(
                .serialization, message: "the data of an event \(DecodingFailure.text(error, of: type))",
                underlying: error)
        }
    }

    /// Creates an event, for tests.
    public init(id: String = "", event: String = "message", data: String, retry: Duration? = nil) {
        self.id = id
        self.event = event
        self.data = data
        self.retry = retry
    }

    public static func == (left: ServerSentEvent, right: ServerSentEvent) -> Bool {
        left.id == right.id && left.event == right.event && left.data == right.data && left.retry == right.retry
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(event)
        hasher.combine(data)
        hasher.combine(retry)
    }
}

extension ServerSentEvent: CustomStringConvertible {
    /// The type, the id if there is one, and the data.
    public var description: String { id.isEmpty ? "\(event): \(data)" : "\(event) \(id): \(data)" }
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

        /// Creates the default limits.
        public init() {}
    }
}
