import FoundationEssentials

/// Opens a socket by one handshake, or by several if interceptors retry it.
struct WebSocketHandshake: Sendable {
    let protocols: [String]
    let options: WebSocket.Options
    /// The decoder of the manager, for messages and for the body of a refusal.
    let decoder: any DataDecoder

    func perform(_ request: CoreRequest) async throws(SessionError) -> WebSocket {
        do throws(SessionError) {
            return try await request.open(send)
        } catch {
            throw error.decoded(by: decoder)
        }
    }

    /// Sends the request once.
    private func send(_ request: CoreRequest, in loop: RetryLoop?) async throws(SessionError) -> WebSocket {
        guard !Task.isCancelled else { throw SessionError(.cancelled, url: request.http.url) }
        let core = CoreWebSocket(request, protocols, options)
        return WebSocket(core, try await core.open(in: loop), decoder)
    }
}

extension WebSocket: OpenedTransfer {
    func reportEnd(to events: RequestEvents) {
        core.endReport.report(to: events)
    }

    /// Ignores the head: interceptors can't change that of a handshake.
    func replacing(head: HTTPResponse) -> WebSocket { self }

    /// Interceptors are given a refusal as a response, not as an error.
    static func outcome(of attempt: Result<WebSocket, SessionError>) -> CoreOutcome {
        switch attempt {
        case .success(let socket):
            return CoreOutcome(response: socket.response)
        case .failure(let error):
            guard [.status, .authentication].contains(error.code), let response = error.response else {
                return CoreOutcome(failure: error)
            }
            return CoreOutcome(response: response, body: error.body ?? Data())
        }
    }
}
