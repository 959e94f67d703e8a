/// What to do after the end of a connection.
enum ReconnectionDecision: Sendable {
    case reconnect(after: Duration)
    /// The sequence is complete.
    case end
    case fail(SessionError)
}

/// The outcome of an attempt to connect.
enum ConnectionAttempt<Connection> {
    case connected(Connection, HTTPResponse)
    case over(ReconnectionDecision, after: SessionError?)
}

/// The result of one read from a connection.
enum ConnectionReading<Element> {
    case element(Element)
    /// The bytes read don't complete an element: read again.
    case more
    case over(ReconnectionDecision, after: SessionError?)
}

/// Makes and reads the connections of a sequence that reconnects, and decides what to do when one ends. An error that
/// it throws ends the sequence.
protocol ReconnectionConnector {
    associatedtype Connection
    associatedtype Element: Sendable

    var manager: HTTPSessionManager { get }
    var pacing: ReconnectionPacing { get }
    var onConnectionChange: ConnectionChangeHandler? { get }
    /// The URL to add to errors that have none.
    var url: String? { get }

    mutating func connect(
        isolation: isolated (any Actor)?
    ) async throws(SessionError) -> ConnectionAttempt<Connection>

    mutating func read(
        _ connection: Connection, isolation: isolated (any Actor)?
    ) async throws(SessionError) -> ConnectionReading<Element>
}

/// The loop of an iterator that reconnects: one connection after the other, with a delay between them, until the
/// sequence ends. Reports each change of the connection.
struct ReconnectionLoop<Connector: ReconnectionConnector> {
    private enum Phase {
        case connecting
        /// The last connection has ended, or couldn't be made. The next one is made after the delay.
        case waiting(Duration, after: SessionError?)
        case reading(Connector.Connection)
        case ended
    }

    private var connector: Connector
    private var phase = Phase.connecting

    init(_ connector: Connector) {
        self.connector = connector
    }

    /// The open connection; nil without one.
    var connection: Connector.Connection? {
        if case .reading(let connection) = phase { connection } else { nil }
    }

    /// Returns the next element; nil at the end, and after an error.
    mutating func next(isolation: isolated (any Actor)?) async throws(SessionError) -> Connector.Element? {
        do throws(SessionError) {
            while true {
                if case .ended = phase { return nil }
                // A cancelled task gets the error even if elements have been received.
                if Task.isCancelled { throw SessionError(.cancelled) }
                if let element = try await step(isolation: isolation) { return element }
            }
        } catch {
            phase = .ended
            throw located(error)
        }
    }

    /// Performs one step of the current phase: connects, waits, or reads.
    private mutating func step(
        isolation: isolated (any Actor)?
    ) async throws(SessionError) -> Connector.Element? {
        switch phase {
        case .connecting:
            switch try await connector.connect(isolation: isolation) {
            case .connected(let connection, let head):
                phase = .reading(connection)
                await connector.onConnectionChange?(.connected(head))
            case .over(let decision, let error):
                try follow(decision, after: error)
            }
        case .waiting(let delay, let error):
            await connector.onConnectionChange?(.lost(error.map(located), reconnectsAfter: delay))
            if delay > .zero { try await connector.pacing.pause(delay, in: connector.manager) }
            phase = .connecting
        case .reading(let connection):
            switch try await connector.read(connection, isolation: isolation) {
            case .element(let element): return element
            case .more: break
            case .over(let decision, let error): try follow(decision, after: error)
            }
        case .ended:
            break
        }
        return nil
    }

    private mutating func follow(
        _ decision: ReconnectionDecision, after error: SessionError?
    ) throws(SessionError) {
        switch decision {
        case .reconnect(let delay): phase = .waiting(delay, after: error)
        case .end: phase = .ended
        case .fail(let error): throw error
        }
    }

    private func located(_ error: SessionError) -> SessionError {
        var error = error
        error.url = error.url ?? connector.url
        return error
    }
}
