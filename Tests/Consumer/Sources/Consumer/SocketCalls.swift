import Foundation
import SwiftAF
import SwiftAFFoundation

// URLSessionWebSocketTask's shape, with delegates of each isolation.

nonisolated final class SocketLog: WebSocketTaskDelegate {
    func webSocketTask(_ task: WebSocketTask, didOpenWithProtocol protocol: String?) {
        print(`protocol` ?? "no subprotocol")
    }

    func webSocketTask(_ task: WebSocketTask, didCompleteWithError error: (any Error)?) {
        print((error as? SessionError)?.code as Any)
    }
}

@MainActor
final class SocketScreen: nonisolated WebSocketTaskDelegate {
    private var title = ""
    private var socket: WebSocketTask?

    func open(_ manager: HTTPSessionManager, _ url: URL) {
        let socket = manager.webSocketTask(with: url, protocols: ["v1"])
        socket.delegate = self
        socket.resume()
        self.socket = socket
    }

    nonisolated func webSocketTask(_ task: WebSocketTask, didOpenWithProtocol protocol: String?) {
        Task { @MainActor in title = `protocol` ?? "" }
    }

    nonisolated func webSocketTask(
        _ task: WebSocketTask, didCloseWith closeCode: WebSocketTask.CloseCode, reason: Data?
    ) {
        Task { @MainActor in title = "closed with \(closeCode.rawValue)" }
    }
}

actor SocketStore {
    private var messages: [String] = []

    func listen(_ manager: HTTPSessionManager, _ url: URL) async throws {
        let socket = manager.webSocketTask(with: url)
        socket.delegate = SocketLog()
        socket.resume()
        try await socket.send(.string("hello"))
        if case .string(let text) = try await socket.receive() { messages.append(text) }
        socket.cancel(with: .goingAway, reason: Data("done".utf8))
    }
}
