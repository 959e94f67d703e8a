public import Foundation

/// Receives calls when a ``WebSocketTask`` opens and ends, like Foundation's `URLSessionWebSocketDelegate`.
///
/// The methods are called in this order, one at a time, on threads of Swift's pool. None is called after the task was
/// released.
public protocol WebSocketTaskDelegate: AnyObject, Sendable {
    /// Called when the handshake has succeeded, before any message is sent or received.
    ///
    /// - Parameters:
    ///   - task: The task.
    ///   - protocol: The subprotocol that the server chose; nil if none.
    func webSocketTask(_ task: WebSocketTask, didOpenWithProtocol protocol: String?)

    /// Called when the server has sent a close frame, on its own or in response to ours.
    ///
    /// - Parameters:
    ///   - task: The task.
    ///   - closeCode: The code of the frame.
    ///   - reason: The reason, UTF-8; nil if the frame has none.
    func webSocketTask(_ task: WebSocketTask, didCloseWith closeCode: WebSocketTask.CloseCode, reason: Data?)

    /// Called once, last, when the socket has ended.
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
