import FoundationEssentials

/// Decides when a stream of server-sent events reconnects, ends or fails, by the rules of the HTML standard (9.2.3).
/// Changes only itself; the caller acts on the decisions.
struct EventStreamState {
    enum Verdict: Sendable {
        /// The response is an event stream.
        case read
        /// The sequence ends: a 204 is the server's request not to reconnect.
        case end
        /// The status is one of those after which the program wants to reconnect.
        case lost(SessionError)
        case fail(SessionError)
    }

    let options: ServerSentEvents.Options
    private let method: HTTPMethod
    private let isReplayable: Bool
    /// The number of consecutive connections that failed to deliver an event stream.
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
    ///   - retry: The reconnection time that the server has set in the stream, if any.
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

    /// Whether the options allow sending the request again.
    private func repeatsRequest(after error: SessionError?) -> Bool {
        switch options.reconnects {
        case .always: return true
        case .never: return false
        case .automatic:
            // If the connection was lost, the server may have acted on the request, even if there was no response. It
            // hasn't acted if the status is one that the caller has listed, or if the credential is missing: then the
            // request wasn't sent, or was refused.
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

    /// The responses that are event streams.
    static let validation = ResponseValidation(
        acceptableStatusCodes: [200], acceptableContentTypes: ["text/event-stream"])
}
