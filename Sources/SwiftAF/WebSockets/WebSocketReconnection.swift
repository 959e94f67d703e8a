import FoundationEssentials

/// Decides what to do when a socket of ``WebSocketMessages`` ends or can't be opened. Changes only itself.
struct WebSocketReconnection: Sendable {
    /// The minimum delay, whatever the options are, because a server may close each socket at once.
    private static let minimumDelay = Duration.milliseconds(100)

    let options: WebSocketMessages.Options
    /// The number of consecutive handshakes that failed.
    private var failures = 0

    init(options: WebSocketMessages.Options) {
        self.options = options
    }

    /// Called when a handshake has succeeded.
    mutating func opened() {
        failures = 0
    }

    /// Called when the server has sent a close frame.
    mutating func closed(_ code: WebSocket.CloseCode, reason: String, random: Double) -> ReconnectionDecision {
        if code == .normal || code == .noCode { return .end }
        guard options.reconnectingCodes.contains(code) else { return .fail(Self.error(code, reason)) }
        return .reconnect(after: delay(asked: nil, random: random))
    }

    /// Called when a handshake has failed.
    mutating func failedToOpen(_ error: SessionError, now: Date, random: Double) -> ReconnectionDecision {
        guard isTransient(error) else { return .fail(error) }
        failures += 1
        if let most = options.maximumRetries, failures > most { return .fail(error) }
        return .reconnect(after: delay(asked: error.delayAsked(now: now), random: random))
    }

    /// Called when an open socket has ended without a close frame.
    mutating func lost(_ error: SessionError, random: Double) -> ReconnectionDecision {
        isTransient(error) ? .reconnect(after: delay(asked: nil, random: random)) : .fail(error)
    }

    private func delay(asked: Duration?, random: Double) -> Duration {
        // Counted as one failure more, so that there is always a random delay: the clients of a server that restarts
        // shouldn't all reconnect at the same time.
        ReconnectionDelay(minimum: Self.minimumDelay, maximum: options.maximumDelay)
            .after(max(options.reconnectionTime, asked ?? .zero), failures: failures + 1, random: random)
    }

    private func isTransient(_ error: SessionError) -> Bool {
        error.isTransient(TransientFailures.ofWebSockets, statusCodes: options.retriedStatusCodes)
    }

    /// The error of a socket that the server has closed.
    static func error(_ code: WebSocket.CloseCode, _ reason: String) -> SessionError {
        let shown = reason.isEmpty ? "" : ": " + ASCII.printable(reason, limit: 123)
        return SessionError(.closed, message: "the server closed the WebSocket with code \(code)\(shown)")
    }
}
