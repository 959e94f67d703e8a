/// Opens a socket: by one handshake, or by several if interceptors decide so.
struct WebSocketHandshake: Sendable {
    let protocols: [String]
    let options: WebSocket.Options
    /// The manager's, for messages.
    let decoder: any DataDecoder

    func perform(_ request: CoreRequest) async throws(SessionError) -> WebSocket {
        guard let events = RequestEvents.begun(request.http, request.handlers.monitors) else {
            // Without the loop of attempts, whose memory is large.
            if request.handlers.interceptors.isEmpty { return try await send(request) }
            return try await attempt(request)
        }
        do throws(SessionError) {
            let socket = try await attempt(request.with(events: events))
            socket.core.endReport.report(to: events)
            return socket
        } catch {
            events.finish(CoreOutcome(failure: error), hasBody: false)
            throw error
        }
    }

    /// Sends the request, with retries.
    private func attempt(_ request: CoreRequest) async throws(SessionError) -> WebSocket {
        let last = Box()
        let outcome = await request.retrying { request in
            // Releasing the socket of an earlier attempt closes it.
            last.set(nil)
            do throws(SessionError) {
                let socket = try await send(request)
                last.set(.success(socket))
                return CoreOutcome(response: socket.response)
            } catch {
                last.set(.failure(error))
                return Self.outcome(of: error)
            }
        }
        if let failure = outcome.failure { throw failure }
        guard let result = last.result else {
            throw SessionError(.unknown, message: "the handshake ended without a response", url: request.http.url)
        }
        return try result.get()
    }

    /// The outcome that interceptors see: a refusal is a response.
    private static func outcome(of error: SessionError) -> CoreOutcome {
        guard [.status, .authentication].contains(error.code), let response = error.response else {
            return CoreOutcome(failure: error)
        }
        return CoreOutcome(response: response)
    }

    /// Sends the request once.
    private func send(_ request: CoreRequest) async throws(SessionError) -> WebSocket {
        guard !Task.isCancelled else { throw SessionError(.cancelled, url: request.http.url) }
        let core = CoreWebSocket(request, protocols, options)
        return WebSocket(core, try await core.open(), decoder)
    }

    /// The result of the last attempt.
    private final class Box: Sendable {
        private let content = Locked<Result<WebSocket, SessionError>?>(nil)

        var result: Result<WebSocket, SessionError>? { content.withLock { $0 } }

        func set(_ result: Result<WebSocket, SessionError>?) {
            content.exchange(result)
        }
    }
}
