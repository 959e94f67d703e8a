import FoundationEssentials

/// What follows what while server-sent events are read: a value without effects, by the rules of the HTML standard.
struct EventStreamState {
    enum Verdict: Sendable {
        /// It is a stream of events.
        case read
        /// The server wants no more connections.
        case end
        case fail(SessionError)
    }

    enum Next: Sendable {
        case reconnect(after: Duration)
        case fail(SessionError)
    }

    let options: ServerSentEvents.Options
    /// Connections in a row of which none brought a stream.
    private var failures = 0
    private var isOpen = false

    init(options: ServerSentEvents.Options) {
        self.options = options
    }

    /// A head has come.
    mutating func judge(_ response: HTTPResponse) -> Verdict {
        if response.status == 204 { return .end }
        switch Self.validation.validate(response, body: Data()) {
        case .valid where response.headers.contains(HTTPHeaders.Name.contentType):
            failures = 0
            isOpen = true
            return .read
        case .invalid(let error?):
            return .fail(error)
        case .valid, .invalid(nil):
            let type = response.headers.first(HTTPHeaders.Name.contentType).map { ASCII.printable($0, limit: 100) }
            return .fail(
                SessionError(
                    .contentType, message: type.map { "no event stream but \($0)" } ?? "no content type",
                    response: response))
        }
    }

    /// A connection is over, with an error or because the server has ended it.
    ///
    /// - Parameters:
    ///   - retry: The time that the server wants to pass, if it has said so.
    ///   - random: From 0 up to 1: which part of the additional wait after failures.
    mutating func ended(_ error: SessionError?, retry: Duration?, random: Double) -> Next {
        if let error, !Self.mayPass(error) { return .fail(error) }
        if !isOpen { failures += 1 }
        isOpen = false
        if let error, let most = options.maximumRetries, failures > most { return .fail(error) }
        return .reconnect(after: delay(retry: retry, random: random))
    }

    /// Whether another connection may bring what this one didn't.
    private static func mayPass(_ error: SessionError) -> Bool {
        [.dns, .connect, .connectionLost, .truncated, .timeout, .protocol, .tls].contains(error.code)
    }

    private func delay(retry: Duration?, random: Double) -> Duration {
        let least = max(.zero, options.minimumDelay)
        let most = max(least, options.maximumDelay)
        let base = min(most, max(least, retry ?? options.reconnectionTime))
        var longest = base
        for _ in 0..<failures {
            guard longest > .zero, longest < most else { break }
            longest = longest < most / 2 ? longest * 2 : most
        }
        return base + (longest - base) * min(1, max(0, random))
    }

    private static let validation = ResponseValidation(
        acceptableStatusCodes: [200], acceptableContentTypes: ["text/event-stream"])
}
