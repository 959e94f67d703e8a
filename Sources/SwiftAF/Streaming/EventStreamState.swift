import FoundationEssentials

/// Decides when a stream of server-sent events reconnects, ends or fails, by the rules of the HTML standard. A value
/// without side effects.
struct EventStreamState {
    enum Verdict: Sendable {
        /// The response is an event stream.
        case read
        /// The server asks not to reconnect (204).
        case end
        /// The status says that another attempt may succeed.
        case lost(SessionError)
        case fail(SessionError)
    }

    let options: ServerSentEvents.Options
    private let method: HTTPMethod
    private let isReplayable: Bool
    /// Consecutive connections that failed to deliver a stream.
    private var failures = 0
    private var isOpen = false

    /// - Parameters:
    ///   - method: The method of the request.
    ///   - isReplayable: Whether the body of the request can be sent again.
    init(options: ServerSentEvents.Options, method: HTTPMethod = .get, isReplayable: Bool = true) {
        self.options = options
        self.method = method
        self.isReplayable = isReplayable
    }

    /// Decides what to do about the head of a response.
    mutating func decide(_ response: HTTPResponse) -> Verdict {
        if response.status == 204 { return .end }
        switch Self.validation.validate(response, body: Data()) {
        case .valid where response.headers.contains(named: .contentType):
            failures = 0
            isOpen = true
            return .read
        case .invalid(let error?):
            return isTransient(error) ? .lost(error) : .fail(error)
        case .valid, .invalid(nil):
            let type = response.headers.first(named: .contentType).map {
                ASCII.printable($0, limit: 100)
            }
            return .fail(
                SessionError(
                    .contentType, message: "expected text/event-stream, got \(type ?? "no content type")",
                    response: response))
        }
    }

    /// Decides what to do after a connection failed or was closed by the server.
    ///
    /// - Parameters:
    ///   - retry: The reconnection time of the events, if any.
    ///   - asked: The delay that the failed response asked for by Retry-After, if any.
    ///   - random: The jitter for the additional delay after failures: at least 0, less than 1.
    mutating func ended(_ error: SessionError?, retry: Duration?, asked: Duration? = nil, random: Double)
        -> ReconnectionDecision
    {
        if let error, !isTransient(error) { return .fail(error) }
        guard repeatsRequest(after: error) else { return error.map { .fail($0) } ?? .end }
        guard isReplayable else { return .fail(Self.bodyNotReplayable(after: error)) }
        if !isOpen { failures += 1 }
        isOpen = false
        if let error, let most = options.maximumRetries, failures > most { return .fail(error) }
        return .reconnect(after: delay(retry: retry, asked: asked, random: random))
    }

    /// Whether the options allow to send the request again.
    private func repeatsRequest(after error: SessionError?) -> Bool {
        switch options.reconnects {
        case .always: return true
        case .never: return false
        case .automatic:
            // If the connection was lost, the server may have acted on the request, also before its response. A status
            // that the caller listed says that it didn't; without a credential the request wasn't sent, or was refused.
            return isReplayable
                && (method.isIdempotent || error?.code == .status || error?.credentialFailure != nil)
        }
    }

    private static func bodyNotReplayable(after error: SessionError?) -> SessionError {
        SessionError(
            .bodyNotReplayable,
            message: "the request for events can't be repeated, because its body can be read only once",
            response: error?.response, underlying: error)
    }

    private func isTransient(_ error: SessionError) -> Bool {
        error.isTransient(TransientFailures.ofEventStreams, statusCodes: options.retriedStatusCodes)
    }

    private func delay(retry: Duration?, asked: Duration?, random: Double) -> Duration {
        ReconnectionDelay(minimum: options.minimumDelay, maximum: options.maximumDelay)
            .after(
                max(retry ?? options.reconnectionTime, asked ?? .zero), failures: failures, random: random)
    }

    /// What an event stream is.
    static let validation = ResponseValidation(
        acceptableStatusCodes: [200], acceptableContentTypes: ["text/event-stream"])
}
