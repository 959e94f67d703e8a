import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct WebSocketMessagesTests {
    private let server: TestServer
    private let manager: HTTPSessionManager
    private let waits = Recorder<Duration>()

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
    }

    private func messages(
        _ change: (inout WebSocketMessages.Options) -> Void = { _ in },
        onOpen: @escaping @Sendable (WebSocket) async throws -> Void = { _ in },
        onConnectionChange: (@Sendable (ConnectionChange) async -> Void)? = nil
    ) -> WebSocketMessages {
        var options = WebSocketMessages.Options()
        options.socket.closeTimeout = .milliseconds(50)
        change(&options)
        var messages = manager.messages(
            from: "feed", options: options, onOpen: onOpen, onConnectionChange: onConnectionChange)
        messages.pacing = ReconnectionPacing(wait: { [waits] in waits.record($0) }, random: { 0 })
        return messages
    }

    private func text(_ text: String) -> Script { .frame(0x81, Data(text.utf8)) }

    private func close(_ code: UInt16) -> Script {
        [.frame(0x88, Data([UInt8(code >> 8), UInt8(code & 0xff)])), .halfClose, .waitForPeerClose]
    }

    private func texts(_ messages: WebSocketMessages) async -> ([String], SessionError?) {
        var texts: [String] = []
        do {
            for try await message in messages { texts.append(String(decoding: message.data, as: UTF8.self)) }
            return (texts, nil)
        } catch {
            return (texts, error)
        }
    }

    @Test func reconnectsAfterTransientFailuresUntilCode1000() async throws {
        server.route("/feed", times: 1, [.upgrade(), text("one"), .close])
        server.route("/feed", times: 1, .status(503, headers: ["Retry-After": "7"]))
        server.route("/feed", times: 1, .reset)
        server.route("/feed", times: 1, [.upgrade(), text("two"), close(1012)])
        server.route("/feed", [.upgrade(), text("three"), close(1000)])
        let (received, error) = await texts(messages())
        #expect(received == ["one", "two", "three"])
        #expect(error == nil)
        #expect(waits.values == [.seconds(1), .seconds(7), .seconds(1), .seconds(1)])
        #expect(server.requests.count == 5)
    }

    @Test func callsOnOpenBeforeReadingEachSocket() async throws {
        server.route("/feed", times: 2, [.upgrade(), .read(bytes: 8), text("hello"), .close])
        server.route("/feed", [.upgrade(), .echoFrames])
        let sequence = messages(onOpen: { socket in
            try await socket.send("hi")
        })
        var iterator = sequence.makeAsyncIterator()
        #expect(try await iterator.next() == .text("hello"))
        #expect(try await iterator.next() == .text("hello"))
        #expect(try await iterator.next() == .text("hi"))
        try await iterator.socket?.close()
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }

    @Test func reportsConnectionChangesBeforeNextMessage() async throws {
        server.route("/feed", times: 1, .status(503, headers: ["Retry-After": "7"]))
        server.route("/feed", times: 1, [.upgrade(), text("one"), .close])
        server.route("/feed", times: 1, [.upgrade(), text("two"), close(1012)])
        server.route("/feed", [.upgrade(), close(1000)])
        let changes = Recorder<String>()
        let sequence = messages(
            onOpen: { _ in changes.record("open") },
            onConnectionChange: { change in
                switch change {
                case .connected(let head): changes.record("connected \(head.status)")
                case .lost(let error, let delay): changes.record("lost \(error?.code.rawValue ?? "") \(delay)")
                }
            })
        for try await message in sequence { changes.record(message.string ?? "bytes") }
        let lost = "lost connectionLost 1.0 seconds"
        let closed = "lost closed 1.0 seconds"
        #expect(
            changes.values == [
                "lost status 7.0 seconds", "open", "connected 101", "one", lost, "open", "connected 101", "two", closed,
                "open", "connected 101",
            ])
    }

    @Test(arguments: [(503, true), (400, false)])
    func failedTokenRefreshIsAsTransientAsItsCause(status: Int, isTransient: Bool) async throws {
        let bearers = Recorder<BearerToken?>()
        manager.interceptors = [
            BearerAuthenticator(for: server.urlString("/")) { token in
                bearers.record(token)
                guard bearers.values.count == 1 else { return BearerToken("new") }
                throw SessionError(.status, response: HTTPResponse(status: status, url: ""))
            }
        ]
        server.route("/feed", [.upgrade(), text("one"), close(1000)])
        let (received, error) = await texts(messages())
        #expect(received == (isTransient ? ["one"] : []))
        #expect(error?.code == (isTransient ? nil : .authentication))
        #expect(bearers.values.count == (isTransient ? 2 : 1))
    }

    @Test func waitsForRetryAfterOfAFailedTokenRefresh() async throws {
        let refusals = Recorder<Bool>()
        manager.interceptors = [
            BearerAuthenticator(for: server.urlString("/")) { _ in
                guard refusals.values.isEmpty else { return BearerToken("new") }
                refusals.record(true)
                throw SessionError(
                    .status, response: HTTPResponse(status: 503, headers: ["Retry-After": "7"], url: ""))
            }
        ]
        server.route("/feed", [.upgrade(), text("one"), close(1000)])
        #expect(await texts(messages()).0 == ["one"])
        #expect(waits.values == [.seconds(7)])
    }

    @Test func failsWhenRetriesAreExhausted() async throws {
        server.route("/feed", .status(502))
        let (received, error) = await texts(messages { $0.maximumRetries = 2 })
        #expect(received.isEmpty)
        #expect(error?.status == 502)
        #expect(server.requests.count == 3)
    }

    @Test(arguments: [1002, 1008, 4001, 404])
    func failsImmediatelyForPermanentErrors(code: UInt16) async throws {
        server.route("/feed", code == 404 ? .status(404) : [.upgrade(), text("one"), close(code)])
        let (received, error) = await texts(messages())
        #expect(received == (code == 404 ? [] : ["one"]))
        #expect(error?.code == (code == 404 ? .status : .closed))
        #expect(error?.message.contains(String(code)) == true)
        #expect(server.requests.count == 1)
        #expect(waits.values.isEmpty)
    }

    @Test func onOpenErrorEndsSequence() async throws {
        struct Refused: Error {}
        server.route("/feed", [.upgrade(), .waitForPeerClose])
        let (_, error) = await texts(messages(onOpen: { _ in throw Refused() }))
        #expect(error?.code == .interceptor)
        #expect(error?.underlying is Refused)
        #expect(await server.wait(for: .closes(1)))
    }

    enum Leaving: CaseIterable {
        case cancelling, breaking, refusingGreeting
    }

    @Test(arguments: Leaving.allCases)
    func closesKeptSocket(leaving: Leaving) async throws {
        server.route("/feed", [.upgrade(), text("one"), .waitForPeerClose])
        let kept = Recorder<WebSocket>()
        let sequence = messages(onOpen: { socket in
            kept.record(socket)
            if leaving == .refusingGreeting { throw CancellationError() }
        })
        let reader = Task {
            for try await _ in sequence {
                if leaving == .breaking { break }
                withUnsafeCurrentTask { $0?.cancel() }
            }
        }
        _ = await reader.result
        #expect(await server.wait(for: .closes(1)))
        let socket = try await kept.value()
        await #expect(throws: SessionError.self) { try await socket.send("more") }
    }

    @Test func cancellingTaskEndsSequence() async throws {
        server.route("/feed", times: 1, [.upgrade(), .stall(at: "never")])
        server.route("/feed", .status(503))
        for _ in 0..<2 {
            var sequence = messages()
            let isWaiting = Recorder<Void>()
            sequence.pacing.wait = {
                isWaiting.record(())
                await $0.pause()
            }
            let task = Task { [sequence] in await texts(sequence) }
            if server.requests.isEmpty {
                #expect(await server.wait(for: .stalled(at: "never")))
            } else {
                await isWaiting.wait()
            }
            task.cancel()
            #expect(await task.value.1?.code == .cancelled)
        }
    }

    @Test func cancelAllEndsWaitForReconnection() async {
        server.route("/feed", .status(503))
        var sequence = messages()
        let isWaiting = Recorder<Void>()
        sequence.pacing.wait = {
            isWaiting.record(())
            await Duration.seconds($0 > .zero ? 86_400 : 0).pause()
        }
        let task = Task { [sequence] in await texts(sequence) }
        await isWaiting.wait()
        manager.cancelAll()
        #expect(await task.value.1?.code == .cancelled)
        #expect(server.requests.count == 1)
    }

    @Test func theCallerChoosesTheStatusCodesAfterWhichToReconnect() async throws {
        server.route("/feed", times: 2, .status(404))
        server.route("/feed", .status(503))
        let (_, error) = await texts(messages { $0.retriedStatusCodes = [404] })
        #expect(error?.status == 503)
        #expect(server.requests.count == 3)
    }

    @Test func errorsOfOpenSocketsHaveAURL() async throws {
        server.route("/feed", times: 1, [.upgrade(), close(1012)])
        server.route("/feed", [.upgrade(), close(1008)])
        let lost = Recorder<String?>()
        let sequence = messages(onConnectionChange: { change in
            if case .lost(let error, _) = change { lost.record(error?.url) }
        })
        let (_, error) = await texts(sequence)
        #expect(error?.code == .closed)
        #expect(error?.url == server.urlString("/feed"))
        #expect(lost.values == [server.urlString("/feed")])
    }

    @Test func pingsByDefault() {
        #expect(WebSocketMessages.Options().socket.pingInterval == .seconds(30))
        #expect(WebSocket.Options().pingInterval == nil)
    }

    @Test func onlyTheCodesOfTheOptionsReconnect() {
        var options = WebSocketMessages.Options()
        #expect(options.reconnectingCodes.contains(.goingAway))
        options.reconnectingCodes = [.policyViolation]
        var reconnection = WebSocketReconnection(options: options)
        guard case .reconnect = reconnection.closed(.policyViolation, reason: "", random: 0) else {
            Issue.record("a code of the options doesn't reconnect")
            return
        }
        guard case .fail(let error) = reconnection.closed(.goingAway, reason: "", random: 0) else {
            Issue.record("another code reconnects")
            return
        }
        #expect(error.code == .closed)
    }

    @Test func aServerThatClosesEachSocketIsNotCalledWithoutAPause() async throws {
        server.route("/feed", times: 2, [.upgrade(), close(1011)])
        server.route("/feed", [.upgrade(), close(1000)])
        _ = await texts(messages { $0.reconnectionTime = .zero })
        #expect(waits.values == [.milliseconds(100), .milliseconds(100)])
    }

    @Test func delayGrowsRandomlyWithinLimits() {
        var options = WebSocketMessages.Options()
        options.maximumDelay = .seconds(10)
        options.maximumRetries = nil
        var reconnection = WebSocketReconnection(options: options)
        let busy = SessionError(.connect)
        var delays: [Duration] = []
        for _ in 0..<5 {
            if case .reconnect(let delay) = reconnection.failedToOpen(busy, now: .now, random: 0.5) {
                delays.append(delay)
            }
        }
        #expect(delays == [.seconds(2), .seconds(3), .seconds(5), .seconds(5.5), .seconds(5.5)])
        reconnection.opened()
        guard case .reconnect(let delay) = reconnection.lost(busy, random: 0.5) else { return #expect(Bool(false)) }
        #expect(delay == .seconds(1.5))
    }
}
