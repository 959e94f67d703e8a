/// The options of `ws`.
struct SocketOptions: Sendable, Equatable {
    /// The subprotocols to offer, in order of preference.
    var protocols: [String] = []
    /// The time between pings; nil for none.
    var pingInterval: Duration?
    /// Whether lines are sent as binary messages.
    var sendsBinary = false
    /// Whether the socket stays open at the end of the input.
    var staysOpen = false
}
