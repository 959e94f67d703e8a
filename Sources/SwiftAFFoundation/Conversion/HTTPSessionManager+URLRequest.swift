public import FoundationNetworking
public import SwiftAF

// Overloads of the calls that take an `HTTPRequest`, not any `RequestConvertible`.
extension HTTPSessionManager {
    /// Creates a task for a `URLRequest`: see `dataTask(for:with:progress:completionHandler:)` of SwiftAF.
    public func dataTask<Serializer: ResponseSerializer>(
        for request: URLRequest, with serializer: Serializer = ValueResponseSerializer<JSONValue>(),
        progress: ProgressHandler? = nil,
        completionHandler: @escaping @Sendable (HTTPResponse?, Serializer.Output?, SessionError?) -> Void
    ) -> DataTask {
        dataTask(
            for: HTTPRequest(request), with: serializer, progress: progress, completionHandler: completionHandler)
    }

    /// Returns the events that a server sends in response to a `URLRequest`: see
    /// `events(from:options:onConnectionChange:)` of SwiftAF.
    public func events(
        from request: URLRequest, options: ServerSentEvents.Options = .init(),
        onConnectionChange: (@Sendable (ConnectionChange) async -> Void)? = nil
    ) -> ServerSentEvents {
        events(from: HTTPRequest(request), options: options, onConnectionChange: onConnectionChange)
    }

    /// Opens a WebSocket with a `URLRequest`, which describes the handshake: see `webSocket(_:protocols:options:)` of
    /// SwiftAF.
    public func webSocket(
        _ request: URLRequest, protocols: [String] = [], options: WebSocket.Options = .init()
    ) async throws(SessionError) -> WebSocket {
        try await webSocket(HTTPRequest(request), protocols: protocols, options: options)
    }
}
