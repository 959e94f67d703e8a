public import Foundation

/// Receives calls when a ``WebSocketTask`` opens and ends, like Foundation's `URLSessionWebSocketDelegate`.
///
/// The methods are called in this order, one at a time, on threads of Swift's pool. None is called after the task was
/// released.
public protocol WebSocketTaskDelegate: AnyObject, Sendable {
    /// The handshake succeeded. Called before any message is sent or received.
    ///
    /// - Parameters:
    ///   - task: The task.
    ///   - protocol: The subprotocol that the server chose; nil if none.
    func webSocketTask(_ task: WebSocketTask, didOpenWithProtocol protocol: String?)

    /// The server has sent a close frame, first or in answer to ours.
    ///
    /// - Parameters:
    ///   - task: The task.
    ///   - closeCode: The code of the frame.
    ///   - reason: The reason, UTF-8; nil if the frame has none.
    func webSocketTask(_ task: WebSocketTask, didCloseWith closeCode: WebSocketTask.CloseCode, reason: Data?)

    /// The socket has ended. Called once, last.
    ///
    /// - Parameters:
    ///   - task: The task.
    ///   - error: The `SessionError` of the handshake or of the socket; nil after a close frame of the server.
    func webSocketTask(_ task: WebSocketTask, didCompleteWithError error: (any Error)?)
}

extension WebSocketTaskDelegate {
    /// Does nothing.
    public func webSocketTask(_ task: WebSocketTask, didOpenWithProtocol protocol: String?) {}
    /// Does nothing.
    public func webSocketTask(_ task: WebSocketTask, didCloseWith closeCode: WebSocketTask.CloseCode, reason: Data?) {}
    /// Does nothing.
    public func webSocketTask(_ task: WebSocketTask, didCompleteWithError error: (any Error)?) {}
}
