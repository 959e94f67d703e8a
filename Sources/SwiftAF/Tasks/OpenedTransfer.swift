import FoundationEssentials

/// The result of a transfer that stays open after its response: a stream, or a WebSocket. Releasing it ends the
/// transfer.
protocol OpenedTransfer: Sendable {
    /// Makes the transfer report its end to monitors.
    func reportEnd(to events: RequestEvents)

    /// Returns a copy with another head, because an interceptor may have changed it.
    func replacing(head: HTTPResponse) -> Self

    /// Returns the outcome of an attempt that interceptors are given.
    static func outcome(of attempt: Result<Self, SessionError>) -> CoreOutcome
}

extension CoreRequest {
    /// Opens a stream or WebSocket by one attempt, or by several if interceptors retry it. Cancelling the Swift task
    /// while this function runs cancels the attempt.
    ///
    /// - Parameter send: Sends the request once.
    func open<Opened: OpenedTransfer>(
        _ send: @escaping @Sendable (CoreRequest, RetryLoop?) async throws(SessionError) -> Opened
    ) async throws(SessionError) -> Opened {
        // The activity begins before the first event, because monitors aren't notified of a call that a closed session
        // refuses. It ends when the transfer, which is an activity of its own, is open or its error has been reported.
        guard session.activity.begin() else { throw closed }
        defer { session.activity.end() }
        guard let events = RequestEvents.begun(http, handlers.monitors) else {
            // Called directly without interceptors, because the frames of the retry loop are large.
            if handlers.interceptors.isEmpty { return try await send(self, nil) }
            return try await opened(send)
        }
        do throws(SessionError) {
            let opened = try await with(events: events).opened(send)
            opened.reportEnd(to: events)
            return opened
        } catch {
            // Only the error of a refused WebSocket has a body, that of the refusing response.
            let outcome = CoreOutcome(response: error.response, body: error.body ?? Data(), failure: error)
            events.finish(outcome, hasBody: error.body != nil)
            throw error
        }
    }

    private func opened<Opened: OpenedTransfer>(
        _ send: @escaping @Sendable (CoreRequest, RetryLoop?) async throws(SessionError) -> Opened
    ) async throws(SessionError) -> Opened {
        let last = LastAttempt<Opened>()
        // Releases what the last attempt has opened, which ends its transfer.
        let release: @Sendable () -> Void = { last.set(nil) }
        let attempt: RetryLoop.Send = { request, loop in
            // An interceptor may call `next` several times, and only the last result is used.
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
        // An interceptor that ignores cancellation may keep `attempt`, and `last` with it. Taking the result out
        // prevents that it keeps the open transfer, too.
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

/// The result of the last attempt; nil before the first one, and after it was taken or released.
private final class LastAttempt<Opened: Sendable>: Sendable {
    private let content = Locked<Result<Opened, SessionError>?>(nil)

    func take() -> Result<Opened, SessionError>? { content.exchange(nil) }

    func set(_ result: Result<Opened, SessionError>?) {
        content.exchange(result)
    }
}
