import FoundationEssentials

/// What a transfer opens and leaves open: a stream, or a WebSocket. Releasing it ends the transfer.
protocol OpenedTransfer: Sendable {
    /// Reports the end to monitors.
    func reportEnd(to events: RequestEvents)

    /// Returns the same with another head, which an interceptor may have changed.
    func replacing(head: HTTPResponse) -> Self

    /// Returns the outcome of an attempt, as interceptors see it.
    static func outcome(of attempt: Result<Self, SessionError>) -> CoreOutcome
}

extension CoreRequest {
    /// Opens by one attempt, or by several if interceptors decide so. Cancelling the Swift task until then cancels it.
    ///
    /// - Parameter send: Sends the request once.
    func open<Opened: OpenedTransfer>(
        _ send: @escaping @Sendable (CoreRequest, RetryLoop?) async throws(SessionError) -> Opened
    ) async throws(SessionError) -> Opened {
        // Until the end has been reported, or will be by the transfer. Before the beginning is, as a call that is
        // refused is no request for monitors.
        guard session.activity.begin() else { throw closed }
        defer { session.activity.end() }
        guard let events = RequestEvents.begun(http, handlers.monitors) else {
            // Without the loop of attempts, whose memory is large.
            if handlers.interceptors.isEmpty { return try await send(self, nil) }
            return try await opened(send)
        }
        do throws(SessionError) {
            let opened = try await with(events: events).opened(send)
            opened.reportEnd(to: events)
            return opened
        } catch {
            // Only a refused WebSocket has the body of its response.
            let outcome = CoreOutcome(response: error.response, body: error.body ?? Data(), failure: error)
            events.finish(outcome, hasBody: error.body != nil)
            throw error
        }
    }

    private func opened<Opened: OpenedTransfer>(
        _ send: @escaping @Sendable (CoreRequest, RetryLoop?) async throws(SessionError) -> Opened
    ) async throws(SessionError) -> Opened {
        let last = LastAttempt<Opened>()
        // Releasing what an earlier attempt has opened ends its transfer.
        let release: @Sendable () -> Void = { last.set(nil) }
        let attempt: RetryLoop.Send = { request, loop in
            // An interceptor may call `next` several times.
            release()
            let result: Result<Opened, SessionError>
            do throws(SessionError) {
                result = .success(try await send(request, loop))
            } catch {
                result = .failure(error)
            }
            last.set(result)
            return Opened.outcome(of: result)
        }
        let outcome = await retrying(attempt, releasing: release)
        // An interceptor that ignores cancellation keeps the closure above, and must not keep what was opened with it.
        let result = last.take()
        if let failure = outcome.failure { throw failure }
        guard let head = outcome.response else { throw .noResponse(to: self) }
        guard let result else {
            throw SessionError(
                .status, message: "the response was released for a retry, which didn't follow", url: head.url,
                response: head)
        }
        return try result.get().replacing(head: head)
    }
}

extension SessionError {
    /// The error of a transfer that ended without a response, and without an error of its own.
    static func noResponse(to request: CoreRequest? = nil) -> SessionError {
        SessionError(.unknown, message: "the transfer ended without a response", url: request?.http.url)
    }
}

/// The result of the last attempt.
private final class LastAttempt<Opened: Sendable>: Sendable {
    private let content = Locked<Result<Opened, SessionError>?>(nil)

    func take() -> Result<Opened, SessionError>? { content.exchange(nil) }

    func set(_ result: Result<Opened, SessionError>?) {
        content.exchange(result)
    }
}
