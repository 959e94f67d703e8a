import AFTestServer
import Foundation
import FoundationNetworking
import SwiftAF
import SwiftAFFoundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct WebSocketTaskTests {
    private let server: TestServer
    private let manager: HTTPSessionManager
    private let url: URL

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager()
        server.route("/", [.upgrade(headers: ["Sec-WebSocket-Protocol": "v1"]), .echoFrames])
        url = try #require(URL(string: "ws" + server.urlString("/").dropFirst(4)))
    }

    private func failure<Value>(_ body: () async throws -> Value) async -> SessionError.Code? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error.asSessionError?.code
        }
    }

    @Test func messagesOfBothKindsAreEchoed() async throws {
        let task = manager.webSocketTask(with: url, protocols: ["v1"])
        task.resume()
        task.resume()
        try await task.send(.string("grüße"))
        #expect(try await task.receive() == .string("grüße"))
        try await task.send(.data(Data([0, 255])))
        #expect(try await task.receive() == .data(Data([0, 255])))
        #expect(task.closeCode == .invalid)
        #expect(task.closeReason == nil)
        task.cancel(with: .goingAway, reason: Data("bye".utf8))
        #expect(await failure { try await task.receive() } == .closed)
        #expect(task.closeCode == .goingAway)
        #expect(task.closeReason == Data("bye".utf8))
        #expect(await failure { try await task.send(.string("late")) } == .closed)
        #expect(server.requests.count == 1)
    }

    @Test func closuresAreCalledInTheOrderOfTheCalls() async throws {
        let task = manager.webSocketTask(with: url, protocols: ["v1"])
        let (results, report) = AsyncStream.makeStream(of: String.self)
        // Before the handshake: they wait.
        for number in 0..<20 {
            task.send(.string("\(number)")) { if let error = $0 { report.yield("\(error)") } }
            task.receive { result in
                switch result {
                case .success(.string(let text)): report.yield(text)
                case .success(.data(let data)): report.yield("\(data)")
                case .failure(let error): report.yield("\(error)")
                }
            }
        }
        task.sendPing { report.yield($0 == nil ? "pong" : "no pong") }
        task.resume()
        var seen: [String] = []
        for await result in results {
            seen.append(result)
            if seen.count == 21 { break }
        }
        let sent = (0..<20).map { "\($0)" }
        #expect(seen.filter { $0 != "pong" } == sent)
        #expect(seen.contains("pong"))
        task.cancel()
        #expect(await failure { try await task.receive() } == .cancelled)
        #expect(task.closeCode == .abnormalClosure)
    }

    @Test func failedHandshakeFailsEveryCall() async throws {
        server.route("/", .respond(403, body: "no token"))
        let task = manager.webSocketTask(with: url)
        async let early = failure { try await task.receive() }
        task.resume()
        #expect(await early == .status)
        #expect(await failure { try await task.send(.string("x")) } == .status)
        let refusal = await #expect(throws: SessionError.self) { try await task.receive() }
        #expect(refusal?.body == Data("no token".utf8))
        #expect(task.closeCode == .invalid)
        task.cancel(with: .normalClosure, reason: nil)
        #expect(await failure { try await task.receive() } == .status)
    }

    @Test func cancelledTaskFailsTheCallsThatWait() async throws {
        let suspended = manager.webSocketTask(with: url)
        async let waiting = failure { try await suspended.receive() }
        suspended.cancel()
        #expect(await waiting == .cancelled)
        suspended.resume()
        #expect(await failure { try await suspended.send(.string("x")) } == .cancelled)
        #expect(server.requests.isEmpty)

        server.route("/", .stall(at: "never"))
        let opening = manager.webSocketTask(with: url)
        opening.resume()
        #expect(await server.wait(for: .stalled(at: "never")))
        opening.cancel(with: .goingAway, reason: nil)
        #expect(await failure { try await opening.receive() } == .cancelled)
    }

    @Test func cancelledCallReturnsAndTheSocketStaysOpen() async throws {
        let task = manager.webSocketTask(with: url, protocols: ["v1"])
        let calls = (0..<3).map { _ in Task { await failure { try await task.receive() } } }
        calls[1].cancel()
        #expect(await calls[1].value == .cancelled)
        task.resume()
        for call in [calls[0], calls[2]] {
            call.cancel()
            #expect(await call.value == .cancelled)
        }
        try await task.send(.string("still open"))
        #expect(try await task.receive() == .string("still open"))
        task.cancel()
    }

    @Test func closeFrameFollowsTheMessagesThatWereSentBefore() async throws {
        let task = manager.webSocketTask(with: url, protocols: ["v1"])
        task.resume()
        try await task.send(.string("open"))
        #expect(try await task.receive() == .string("open"))
        let (results, report) = AsyncStream.makeStream(of: Bool.self)
        let count = 500
        for number in 0..<count { task.send(.string("\(number)")) { report.yield($0 == nil) } }
        WebSocketTask.$closeDeadline.withValue(.seconds(600)) { task.cancel(with: .goingAway, reason: nil) }
        #expect(await failure { try await task.send(.string("late")) } == .closed)
        #expect(await results.prefix(count).allSatisfy { $0 })
        for number in 0..<count { #expect(try await task.receive() == .string("\(number)")) }
        #expect(await failure { try await task.receive() } == .closed)
        #expect(task.closeCode == .goingAway)
    }

    @Test(arguments: [(1006, nil), (0, nil), (70000, nil), (-1, nil), (1000, 0xff)])
    func invalidCloseFrameCancelsConnection(code: Int, reason: UInt8?) async throws {
        let task = manager.webSocketTask(with: url, protocols: ["v1"])
        task.resume()
        try await task.send(.string("open"))
        #expect(try await task.receive() == .string("open"))
        task.cancel(with: WebSocketTask.CloseCode(rawValue: code), reason: reason.map { Data([$0]) })
        #expect(await failure { try await task.receive() } == .cancelled)
    }

    @Test func messageOverTheMaximumEndsTheSocket() async throws {
        let task = manager.webSocketTask(with: url, protocols: ["v1"])
        #expect(task.maximumMessageSize == 1 << 20)
        task.maximumMessageSize = 10
        task.resume()
        try await task.send(.data(Data(count: 11)))
        #expect(await failure { try await task.receive() } == .tooLarge)
    }

    @Test func requestDescribesTheHandshake() async throws {
        var request = URLRequest(url: url)
        request.setValue("v2, v1", forHTTPHeaderField: "Sec-WebSocket-Protocol")
        request.setValue("yes", forHTTPHeaderField: "X-Own")
        let task = manager.webSocketTask(with: request)
        task.resume()
        try await task.send(.string("x"))
        #expect(server.requests.first?["Sec-WebSocket-Protocol"] == "v2, v1")
        #expect(server.requests.first?["X-Own"] == "yes")
        task.cancel()
    }

    /// Records the calls.
    private final class Log: WebSocketTaskDelegate {
        let events: AsyncStream<String>
        private let report: AsyncStream<String>.Continuation

        init() {
            (events, report) = AsyncStream.makeStream()
        }

        func webSocketTask(_ task: WebSocketTask, didOpenWithProtocol name: String?) {
            report.yield("open \(name ?? "-")")
        }

        func webSocketTask(_ task: WebSocketTask, didCloseWith code: WebSocketTask.CloseCode, reason: Data?) {
            report.yield("close \(code.rawValue) \(reason.map { String(decoding: $0, as: UTF8.self) } ?? "-")")
        }

        func webSocketTask(_ task: WebSocketTask, didCompleteWithError error: (any Error)?) {
            report.yield("end \(error?.asSessionError.map { "\($0.code)" } ?? "-")")
            report.finish()
        }

        /// All of it, once the task has ended.
        func all() async -> [String] {
            await events.reduce(into: []) { $0.append($1) }
        }
    }

    @Test(arguments: ["bye", nil])
    func notifiesDelegateOfOpeningAndClosing(reason: String?) async throws {
        let log = Log()
        let task = manager.webSocketTask(with: url, protocols: ["v1"])
        task.delegate = log
        task.resume()
        try await task.send(.string("x"))
        task.cancel(with: .goingAway, reason: reason.map { Data($0.utf8) })
        #expect(await log.all() == ["open v1", "close 1001 \(reason ?? "-")", "end -"])
        #expect(task.delegate == nil)
    }

    /// Closes the task when it opens.
    private final class ClosingLog: WebSocketTaskDelegate {
        let log = Log()
        let close: @Sendable (WebSocketTask) -> Void

        init(_ close: @escaping @Sendable (WebSocketTask) -> Void) {
            self.close = close
        }

        func webSocketTask(_ task: WebSocketTask, didOpenWithProtocol name: String?) {
            log.webSocketTask(task, didOpenWithProtocol: name)
            close(task)
        }

        func webSocketTask(_ task: WebSocketTask, didCloseWith code: WebSocketTask.CloseCode, reason: Data?) {
            log.webSocketTask(task, didCloseWith: code, reason: reason)
        }

        func webSocketTask(_ task: WebSocketTask, didCompleteWithError error: (any Error)?) {
            log.webSocketTask(task, didCompleteWithError: error)
        }
    }

    @Test func delegateMayCancelTheTaskThatOpens() async throws {
        let delegate = ClosingLog { $0.cancel() }
        let task = manager.webSocketTask(with: url, protocols: ["v1"])
        task.delegate = delegate
        task.resume()
        #expect(await delegate.log.all() == ["open v1", "end cancelled"])
        #expect(task.closeCode == .abnormalClosure)
    }

    @Test func delegateMayCloseTheTaskThatOpens() async throws {
        let delegate = ClosingLog { $0.cancel(with: .goingAway, reason: Data("bye".utf8)) }
        let task = manager.webSocketTask(with: url, protocols: ["v1"])
        task.delegate = delegate
        // Before the close frame, which is last in the line.
        async let early: Void = task.send(.string("x"))
        task.resume()
        _ = try? await early
        #expect(await delegate.log.all() == ["open v1", "close 1001 bye", "end -"])
        #expect(task.closeCode == .goingAway)
    }

    @Test func notifiesDelegateOfLostConnection() async throws {
        server.route("/lost", [.upgrade(), .close])
        let log = Log()
        let task = manager.webSocketTask(with: url.appendingPathComponent("lost"))
        task.delegate = log
        task.resume()
        #expect(await log.all() == ["open -", "end connectionLost"])
    }

    @Test func notifiesDelegateOfFailedHandshake() async throws {
        server.route("/refused", .status(404))
        let log = Log()
        let task = manager.webSocketTask(with: url.appendingPathComponent("refused"))
        task.delegate = log
        task.resume()
        #expect(await log.all() == ["end status"])
    }

    @Test(arguments: [false, true])
    func notifiesDelegateOfCancelledTask(resumes: Bool) async throws {
        server.route("/stalled", .stall(at: "never"))
        let log = Log()
        let task = manager.webSocketTask(with: url.appendingPathComponent("stalled"))
        task.delegate = log
        if resumes { task.resume() }
        task.cancel()
        #expect(await log.all() == ["end cancelled"])
    }

    @Test func replacedDelegateMayUseTaskInDeinit() {
        final class Last: WebSocketTaskDelegate {
            let task: WebSocketTask
            init(_ task: WebSocketTask) { self.task = task }
            deinit { #expect(task.delegate == nil) }
        }
        let task = manager.webSocketTask(with: url)
        task.delegate = Last(task)
        task.delegate = nil
    }

    @Test func releasedTaskClosesItsSocket() async throws {
        do {
            let task = manager.webSocketTask(with: url, protocols: ["v1"])
            task.resume()
            try await task.send(.string("x"))
        }
        #expect(await server.wait(for: .closes(1)))
    }
}
