import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct WebSocketTests {
    private let server: TestServer
    private let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
    }

    private func serveEcho(headers: Script.Headers = [:]) {
        server.route("/echo", [.upgrade(headers: headers), .echoFrames])
    }

    @Test(
        arguments: [
            ("ws://h/a", "http://h/a"), ("WSS://h/a", "https://h/a"), ("http://h/", "http://h/"), ("ws", "ws"),
            ("wss", "wss"), ("WS/x", "WS/x"), ("ws?a=b:c", "ws?a=b:c"), ("/ws:1", "/ws:1"), ("", ""),
        ])
    func convertsWebSocketURLsToHTTP(url: String, expected: String) throws {
        #expect(try CoreURL.fromWebSocket(url) == expected)
    }

    @Test func coreRefusesSameSchemesAsCalls() async throws {
        let url = "h4://h/"
        let called = try await sessionError { try await manager.webSocket(url) }
        let requested = try await sessionError { try await manager.webSocket(HTTPRequest(url)) }
        let checked = #expect(throws: SessionError.self) { try CoreURL.fromWebSocket(url) }
        let message = "invalid URL scheme \"h4\" of a WebSocket: expected ws, wss, http or https"
        #expect([called, requested, checked].map { $0?.message } == [message, message, message])
        #expect([called, requested, checked].allSatisfy { $0?.code == .invalidInput && $0?.url == url })
    }

    @Test func receivesMessageWithManagersDecoder() async throws {
        struct Move: Codable, Equatable { var newPlace: Int }
        serveEcho()
        manager.encoder = JSONCoder(keys: .snakeCase)
        manager.decoder = JSONCoder(keys: .snakeCase)
        let socket = try await manager.webSocket("echo")
        try await socket.send("a")
        #expect(try await socket.receive() == .text("a"))
        try await socket.send(json: Move(newPlace: 7))
        #expect(try await socket.receive() == .text(#"{"new_place":7}"#))
        try await socket.send(json: Move(newPlace: 8))
        #expect(try await socket.receive(as: Move.self) == Move(newPlace: 8))
        try await socket.send("none")
        #expect(try await sessionError { try await socket.receive(as: Move.self) }.code == .serialization)
        try await socket.close()
        #expect(try await socket.receive() == nil)
        #expect(try await socket.receive(as: Move.self) == nil)
    }

    @Test func zeroDisablesTimeoutAndPings() async throws {
        let first = Script.handler { _, connection in
            // A ping would come in this time.
            try connection.pause(.milliseconds(50))
            try connection.run(.frame(0x81, Data("opcode \(try connection.readFrame().opcode)".utf8)))
        }
        server.route("/zero", [.upgrade(), first, .echoFrames])
        var options = WebSocket.Options()
        options.openTimeout = .zero
        options.pingInterval = .zero
        let socket = try await manager.webSocket("zero", options: options)
        var messages = socket.makeAsyncIterator()
        try await socket.send("a")
        #expect(try await messages.next() == .text("opcode 1"))
        try await socket.close()
    }

    @Test(arguments: [true, false])
    func slowHandshakeTimesOutWithoutRetry(ofOptions: Bool) async throws {
        server.route("/slow", [.stall(at: "never")])
        var options = WebSocket.Options()
        if ofOptions {
            options.openTimeout = .milliseconds(50)
            // The total time limit counts from before the first attempt, so that it may end before that is sent.
            manager.interceptors = [RetryPolicy()]
        }
        let error = try await sessionError {
            _ = try await manager.webSocket("slow", options: options) {
                if !ofOptions { $0.timeouts.total = .milliseconds(50) }
            }
        }
        #expect(error.code == .timeout && error.reason == .notOpen)
        #expect(error.message == "total timeout: the WebSocket isn't open after 50 ms")
        #expect(server.requests.count <= 1)
    }

    @Test func relativePathNamedLikeSchemeIsKept() async throws {
        server.route("/ws", [.upgrade(), .echoFrames])
        let socket = try await manager.webSocket("ws")
        #expect(server.requests.first?.target == "/ws")
        try await socket.close()
    }

    @Test func echoesMessagesAndClosesCleanly() async throws {
        serveEcho(headers: ["Sec-WebSocket-Protocol": "v1"])
        let socket = try await manager.webSocket("echo", protocols: ["v2", "v1"])
        #expect(socket.subprotocol == "v1")
        #expect(socket.response.status == 101)
        #expect(!socket.isCompressed)
        var messages = socket.makeAsyncIterator()
        try await socket.send("grüße")
        #expect(try await messages.next() == .text("grüße"))
        try await socket.send(Data([0, 255]))
        #expect(try await messages.next() == .binary(Data([0, 255])))
        #expect(try await socket.ping() >= .zero)
        #expect(socket.closeCode == nil)
        try await socket.close(reason: "done")
        #expect(socket.closeCode == .normal)
        #expect(socket.closeReason == "done")
        #expect(try await messages.next() == nil)
        #expect(server.requests.first?["Sec-WebSocket-Protocol"] == "v2, v1")
        let closed = try await sessionError { try await socket.send("late") }
        #expect(closed.code == .closed)
        #expect(try await sessionError { try await socket.ping() }.code == .closed)
    }

    @Test func longMessagesKeepTheirOwnBytes() async throws {
        serveEcho()
        let socket = try await manager.webSocket("echo")
        var messages = socket.makeAsyncIterator()
        var kept: [Data] = []
        let sizes = [16_383, 16_384, 65_536, 65_535, 50_000, 65_536, 17_000, 16_384, 65_537, 65_536]
        for (number, size) in sizes.enumerated() {
            let message = Data(repeating: UInt8(number), count: size)
            try await socket.send(message)
            let received = try await messages.next()?.data
            #expect(received == message)
            // The memory of some messages is free for the next one.
            if !number.isMultiple(of: 3), let received { kept.append(received) }
        }
        let expected = sizes.enumerated().filter { !$0.offset.isMultiple(of: 3) }
        #expect(kept == expected.map { Data(repeating: UInt8($0.offset), count: $0.element) })
        socket.cancel()
    }

    @Test(arguments: ["ws", "WS", "http"])
    func opensWebSocketAndHTTPURLs(scheme: String) async throws {
        serveEcho()
        let rest = server.urlString("/echo").drop { $0 != ":" }
        let socket = try await manager.webSocket(scheme + rest)
        try await socket.close()
        #expect(socket.closeCode == .normal)
    }

    @Test(arguments: [(401, SessionError.Code.authentication), (403, .status), (200, .status)])
    func refusedHandshakeFailsWithStatus(status: Int, code: SessionError.Code) async throws {
        server.route("/echo", .status(status))
        let error = try await sessionError { try await manager.webSocket("echo") }
        #expect(error.code == code)
        #expect(error.message.contains("\(status)"))
        #expect(error.status == status)
        #expect(error.body == Data())
    }

    private struct FinishedBodies: EventMonitor {
        let bodies = Recorder<Data?>()

        func requestFinished(_ request: MonitoredRequest, with result: RequestResult) {
            bodies.record(result.body)
        }
    }

    @Test(arguments: [false, true]) func refusalHasBodyOfItsResponse(isObserved: Bool) async throws {
        struct Problem: Decodable, Equatable { var errorTitle: String }
        let body = Data(#"{"error_title":"no token"}"#.utf8)
        server.route("/echo", .respond(403, body: body))
        manager.decoder = JSONCoder(keys: .snakeCase)
        let monitor = FinishedBodies()
        if isObserved { manager.eventMonitors = [monitor] }
        let error = try await sessionError { try await manager.webSocket("echo") }
        #expect(error.code == .status && error.body == body)
        #expect(try error.decodeBody(as: Problem.self) == Problem(errorTitle: "no token"))
        await manager.flushMonitors()
        #expect(monitor.bodies.values == (isObserved ? [body] : []))
    }

    @Test func refusalSaysThatItsBodyIsCut() async throws {
        server.route("/long", .respond(403, body: Data(repeating: 1, count: 70_000)))
        server.route("/slow", [.send("HTTP/1.1 403 No\r\nContent-Length: 9\r\n\r\nbody"), .stall(at: "never")])
        var options = WebSocket.Options()
        let long = try await sessionError { try await manager.webSocket("long") }
        #expect(long.code == .status && long.body?.count == 65_536)
        #expect(long.message.hasSuffix("; its body is cut after 65536 bytes"))
        options.closeTimeout = .milliseconds(50)
        let slow = try await sessionError { try await manager.webSocket("slow", options: options) }
        #expect(slow.code == .status && slow.body == Data("body".utf8))
        #expect(slow.message.hasSuffix("; its body is cut after 4 bytes"))
        server.open("never")
    }

    @Test func serverCloseEndsIterationWithItsCode() async throws {
        let reason = Data([0x0b, 0xb8]) + Data("bye".utf8)
        server.route("/", [.upgrade(), .frame(0x81, Data("last".utf8)), .frame(0x88, reason), .waitForPeerClose])
        var options = WebSocket.Options()
        options.closeTimeout = .milliseconds(50)
        let socket = try await manager.webSocket("/", options: options)
        var received: [WebSocket.Message] = []
        for try await message in socket { received.append(message) }
        #expect(received == [.text("last")])
        #expect(socket.closeCode?.rawValue == 3000)
        #expect(socket.closeReason == "bye")
    }

    @Test func lostConnectionFailsIterationOnce() async throws {
        server.route("/", [.upgrade(), .close])
        let socket = try await manager.webSocket("/")
        var messages = socket.makeAsyncIterator()
        let error = try await sessionError { try await messages.next() }
        #expect(error.code == .connectionLost)
        #expect(try await messages.next() == nil)
        #expect(socket.closeCode == .abnormal)
        #expect(try await sessionError { try await socket.close() }.code == .connectionLost)
    }

    @Test func invalidFrameFailsAsProtocolError() async throws {
        server.route("/", [.upgrade(), .frame(0xf0), .waitForPeerClose])
        let socket = try await manager.webSocket("/")
        let error = try await sessionError { for try await _ in socket {} }
        #expect(error.code == .protocol)
    }

    @Test func slowReaderReceivesEveryMessageOnce() async throws {
        let block = Data([0x82, 126, 0x03, 0xe8]) + Data(repeating: 7, count: 1000)
        server.route("/", [.upgrade(), .send(repeating: block, count: 2000), .frame(0x88), .waitForPeerClose])
        var options = WebSocket.Options()
        options.receiveBufferSize = 3000
        options.closeTimeout = .milliseconds(50)
        let socket = try await manager.webSocket("/", options: options)
        var count = 0
        for try await message in socket {
            count += 1
            #expect(message.size == 1000)
        }
        #expect(count == 2000)
        #expect(socket.closeCode == .noCode)
    }

    @Test func emptyMessagesCountTowardsBufferSize() {
        var state = WebSocketState(capacity: 640)
        var count = 0
        while count < 100, case .buffer = state.decide(size: 0) {
            #expect(state.buffer(.binary(Data())) == nil)
            count += 1
        }
        #expect(count == 10)
        // Each one that is read makes room for another one.
        let first = state.takeBuffered()
        #expect(first?.message.size == 0)
        guard case .buffer = state.decide(size: 0) else {
            Issue.record("there is no room")
            return
        }
    }

    @Test func sendersWaitForSpaceInQueue() async throws {
        serveEcho()
        var options = WebSocket.Options()
        options.sendQueueSize = 5000
        let socket = try await manager.webSocket("echo", options: options)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<50 {
                group.addTask { try await socket.send(Data(repeating: UInt8(index), count: 4000)) }
            }
            group.addTask {
                var messages = socket.makeAsyncIterator()
                var seen: Set<UInt8> = []
                for _ in 0..<50 {
                    if let message = try await messages.next() { seen.insert(message.data[0]) }
                }
                #expect(seen.count == 50)
            }
            try await group.waitForAll()
        }
        let tooLarge = try await sessionError { try await socket.send(Data(count: 6000)) }
        #expect(tooLarge.code == .tooLarge)
        #expect(socket.queuedBytes == 0)
        try await socket.close()
    }

    @Test func cancellingReaderLeavesSocketOpen() async throws {
        serveEcho()
        let socket = try await manager.webSocket("echo")
        let reader = Task {
            var messages = socket.makeAsyncIterator()
            return try await messages.next()
        }
        reader.cancel()
        #expect(try await sessionError { try await reader.value }.code == .cancelled)
        try await socket.send("still open")
        var messages = socket.makeAsyncIterator()
        #expect(try await messages.next() == .text("still open"))
        socket.cancel()
        #expect(try await sessionError { try await messages.next() }.code == .cancelled)
    }

    @Test func cancelledReaderLeavesBufferedMessages() async throws {
        server.route("/", [.upgrade(), .send(repeating: Data([0x82, 1, 7]), count: 100), .waitForPeerClose])
        let socket = try await manager.webSocket("/")
        let reader = Task {
            var count = 0
            for try await _ in socket {
                count += 1
                if count == 10 { withUnsafeCurrentTask { $0?.cancel() } }
            }
            return count
        }
        #expect(try await sessionError { try await reader.value }.code == .cancelled)
        var messages = socket.makeAsyncIterator()
        for _ in 10..<100 { #expect(try await messages.next() == .binary(Data([7]))) }
        socket.cancel()
    }

    @Test func lateSenderDoesNotWaitAfterEnd() async throws {
        let (first, late): (UInt64, UInt64) = (1, 2)
        let result = await withUnsafeContinuation { waiter in
            var state = WebSocketState(capacity: 1)
            #expect(state.sendPermission(of: late) == 0)
            let waits = state.waitInLine(first, waiter, since: 0)
            #expect(waits)
            #expect(state.sendPermission(of: first) == 0 && state.sendPermission(of: late) == nil)
            let resumed = state.finish(WebSocketState.End(code: .abnormal, reason: ""))
            #expect(state.sendPermission(of: late) == 0)
            for sender in resumed.senders { sender.resume(returning: .success(())) }
        }
        try result.get()
    }

    @Test func cancellingOpeningCancelsHandshake() async throws {
        server.route("/", .stall(at: "never"))
        let opening = Task { try await manager.webSocket("/") }
        #expect(await server.wait(for: .stalled(at: "never")))
        opening.cancel()
        #expect(try await sessionError { try await opening.value }.code == .cancelled)
    }

    @Test func sendsAndDecodesJSONValues() async throws {
        struct Move: Codable, Equatable {
            var from: Int
            var to: [String]
        }
        serveEcho()
        let socket = try await manager.webSocket("echo")
        let move = Move(from: 1, to: ["a", "b"])
        try await socket.send(json: move)
        var messages = socket.makeAsyncIterator()
        let message = try #require(try await messages.next())
        #expect(try message.value(as: Move.self) == move)
        #expect(try await sessionError { try message.value(as: Int.self) }.code == .serialization)
        try await socket.close()
    }

    @Test func releasedSocketClosesItself() async throws {
        serveEcho()
        do {
            _ = try await manager.webSocket("echo")
        }
        #expect(await server.wait(for: .closes(1)))
    }

    @Test func refusesInvalidHandshakesAndCloseFrames() async throws {
        serveEcho()
        #expect(
            try await sessionError { try await manager.webSocket("echo", protocols: ["not a token"]) }.code
                == .invalidInput)
        #expect(
            try await sessionError { try await manager.webSocket(HTTPRequest(.post, "echo")) }.code == .invalidInput)
        for body in [HTTPBody.data(Data(count: 4096)), .json(1), .form(["a": 1])] {
            let error = try await sessionError { try await manager.webSocket(HTTPRequest(.get, "echo", body: body)) }
            #expect(error.code == .invalidInput)
        }
        let fields: HTTPHeaders = ["Sec-WebSocket-Key": "x"]
        #expect(try await sessionError { try await manager.webSocket("echo", headers: fields) }.code == .invalidInput)
        let scheme = try await sessionError { try await manager.webSocket("ftp://localhost/") }
        #expect(scheme.code == .invalidInput && scheme.message.contains("expected ws, wss, http or https"))
        let socket = try await manager.webSocket("echo")
        let long = String(repeating: "ä", count: 62)
        #expect(try await sessionError { try await socket.close(.normal, reason: long) }.code == .invalidInput)
        #expect(try await sessionError { try await socket.close(.abnormal) }.code == .invalidInput)
        try await socket.close()
    }

    @Test func cancelledSendReturnsWithoutServerReading() async throws {
        server.route("/", [.upgrade(), .stall(at: "never")])
        var options = WebSocket.Options()
        options.sendQueueSize = 20_000_000
        let socket = try await manager.webSocket("/", options: options)
        // The first one is in the queue, the others wait for room.
        let sends = (0..<3).map { _ in Task { try await socket.send(Data(count: 15_000_000)) } }
        await eventually { socket.queuedBytes > 0 }
        for send in sends {
            send.cancel()
            #expect(try await sessionError { try await send.value }.code == .cancelled)
        }
        #expect(socket.closeCode == nil)
        socket.cancel()
    }

    @Test func cancelledPingAndCloseReturnWithoutResponse() async throws {
        server.route("/", [.upgrade(), .stall(at: "never")])
        let socket = try await manager.webSocket("/")
        let ping = Task { try await socket.ping() }
        ping.cancel()
        #expect(try await sessionError { try await ping.value }.code == .cancelled)
        let close = Task { try await socket.close() }
        close.cancel()
        #expect(try await sessionError { try await close.value }.code == .cancelled)
        socket.cancel()
    }

    @Test func onlyOneTaskMayReadMessages() async throws {
        serveEcho()
        let socket = try await manager.webSocket("echo")
        let readers = (0..<2).map { _ in
            Task {
                var messages = socket.makeAsyncIterator()
                return try await messages.next()
            }
        }
        let errors = Recorder<SessionError?>()
        for reader in readers { Task { errors.record(await reader.sessionError) } }
        // The first one waits; the second one gets an error, and leaves the first one alone.
        let refusal = await errors.wait().first
        #expect(refusal??.code == .invalidInput)
        #expect(refusal??.message == "the WebSocket's messages are already being read by another task")
        try await socket.send("one")
        #expect(await errors.wait(for: 2).map { $0?.code } == [.invalidInput, nil])
        socket.cancel()
    }

    @Test func everyCallReturnsOnceDespiteCancellation() async throws {
        serveEcho()
        var options = WebSocket.Options()
        options.sendQueueSize = 3000
        options.receiveBufferSize = 2000
        let socket = try await manager.webSocket("echo", options: options)
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<60 {
                group.addTask {
                    let call = Task {
                        switch index % 3 {
                        case 0: try await socket.send(Data(count: 1000))
                        case 1: try await socket.ping()
                        default:
                            var messages = socket.makeAsyncIterator()
                            _ = try await messages.next()
                        }
                    }
                    for _ in 0..<(index % 7) { await Task.yield() }
                    call.cancel()
                    let code = await call.sessionError?.code
                    #expect([nil, .cancelled, .invalidInput].contains(code))
                }
            }
        }
        socket.cancel()
        #expect(try await sessionError { try await socket.close() }.code == .cancelled)
    }

    @Test func sendsNothingAfterCancel() async throws {
        serveEcho()
        for _ in 0..<200 {
            let socket = try await manager.webSocket("echo")
            socket.cancel()
            #expect(try await sessionError { try await socket.send("late") }.code == .cancelled)
            #expect(try await sessionError { try await socket.ping() }.code == .cancelled)
        }
    }

    @Test func releasedSocketClosesDespiteUnreadMessages() async throws {
        let block = Data([0x82, 126, 0x03, 0xe8]) + Data(repeating: 7, count: 1000)
        server.route(
            "/",
            [.upgrade(), .send(repeating: block, count: 5000), .frame(0x88), .halfClose, .waitForPeerClose])
        do {
            var options = WebSocket.Options()
            options.receiveBufferSize = 3000
            options.closeTimeout = .seconds(600)
            let socket = try await manager.webSocket("/", options: options)
            var messages = socket.makeAsyncIterator()
            #expect(try await messages.next()?.size == 1000)
        }
        #expect(await server.wait(for: .closes(1)))
    }

    @Test func bodyLimitsDoNotApplyToMessages() async throws {
        let block = Data([0x82, 126, 0x03, 0xe8]) + Data(repeating: 7, count: 1000)
        server.route(
            "/", [.upgrade(), .send(repeating: block, count: 100), .frame(0x88), .halfClose, .waitForPeerClose])
        let socket = try await manager.webSocket("/") { $0.limits.maximumBodySize = 5000 }
        var count = 0
        for try await _ in socket { count += 1 }
        #expect(count == 100)
    }

    @Test func totalTimeoutAppliesOnlyToHandshake() async throws {
        server.route("/stall", .stall(at: "never"))
        serveEcho()
        let late = try await sessionError {
            _ = try await manager.webSocket("stall") { $0.timeouts.total = .milliseconds(20) }
        }
        #expect(late.code == .timeout)
        server.route("/late", [.upgrade(), .pause(.milliseconds(1600)), .frame(0x81, Data("late".utf8)), .close])
        let socket = try await manager.webSocket("late") { $0.timeouts.total = .milliseconds(1500) }
        var messages = socket.makeAsyncIterator()
        #expect(try await messages.next() == .text("late"))
    }

    @Test func followsRedirectsUnlessPolicyForbids() async throws {
        serveEcho()
        server.route("/moved", .redirect(to: "/echo"))
        let socket = try await manager.webSocket("moved")
        #expect(socket.response.url.hasSuffix("/echo"))
        try await socket.close()
        let stopped = try await sessionError {
            try await manager.webSocket("moved") { $0.redirectPolicy = .doNotFollow }
        }
        #expect(stopped.status == 302)
        let refused = try await sessionError {
            _ = try await manager.webSocket("moved") { $0.redirectPolicy = .follow(atMost: 0) }
        }
        #expect(refused.code == .redirect)
        #expect(server.requests.count == 4)
    }

    @Test func interceptorsSeeRefusedHandshakes() async throws {
        serveEcho()
        server.route("/echo", times: 2, .respond(503, body: "busy"))
        let statuses = Recorder<Int?>()
        let bodies = Recorder<Data>()
        manager.interceptors = [
            Interceptor(
                adapt: { request, attempt in
                    var request = request
                    request.headers.add(name: "X-Attempt", value: String(attempt.number))
                    return request
                },
                retry: { _, outcome in
                    statuses.record(outcome.status)
                    bodies.record(outcome.body)
                    return outcome.attempt.number <= 2 ? .retry : .doNotRetry
                })
        ]
        let socket = try await manager.webSocket("echo")
        #expect(server.requests.map { $0["X-Attempt"] } == ["1", "2", "3"])
        #expect(statuses.values == [503, 503])
        #expect(bodies.values == Array(repeating: Data("busy".utf8), count: 2))
        try await socket.close()
        server.route("/refused", .status(503))
        let error = try await sessionError { try await manager.webSocket("refused") }
        #expect(error.code == .status)
        #expect(error.status == 503)
    }

    @Test func bearerTokenIsRefreshedDuringHandshake() async throws {
        serveEcho()
        server.route("/echo", times: 1, .status(401))
        manager.interceptors = [
            BearerAuthenticator(for: server.urlString("/")) { expired in
                BearerToken(expired == nil ? "one" : "two")
            }
        ]
        let socket = try await manager.webSocket("echo")
        #expect(server.requests.map { $0["Authorization"] } == ["Bearer one", "Bearer two"])
        try await socket.close()
    }

    @Test func refusesInterceptorThatSkipsHandshake() async throws {
        manager.interceptors = [
            Interceptor(intercept: { _, _ in Response(head: HTTPResponse(status: 101, url: "http://x")) })
        ]
        #expect(try await sessionError { try await manager.webSocket("echo") }.code == .interceptor)
        #expect(server.requests.isEmpty)
    }

    @Test func monitorsSeeTheHandshakeAndTheEnd() async throws {
        serveEcho()
        let notes = EventNotes()
        manager.eventMonitors = [notes]
        let socket = try await manager.webSocket("echo")
        await manager.flushMonitors()
        #expect(notes.events.values == ["created", "resumed", "sent 1 -", "answered 101"])
        try await socket.close()
        await notes.events.wait(for: 6)
        #expect(notes.events.values.suffix(2) == ["metrics 1", "finished "])
        #expect(await notes.ends.wait().first?.1.response?.status == 101)
        server.route("/refused", .status(403))
        _ = try await sessionError { try await manager.webSocket("refused") }
        await manager.flushMonitors()
        let refused = ["created", "resumed", "sent 1 -", "answered 403", "metrics 1", "finished status"]
        #expect(Array(notes.events.values.dropFirst(6)) == refused)
    }

    @Test func monitorsSeeRedirectsAndChallengesOfHandshake() async throws {
        server.route("/moved", .redirect(to: "/login"))
        server.route("/login", [.interim(103), .upgrade(), .echoFrames])
        server.route("/login", times: 1, .status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""]))
        let notes = EventNotes()
        manager.eventMonitors = [notes]
        let interim = Recorder<Int>()
        let socket = try await manager.webSocket("moved") { request in
            request.credential = Credential(user: "joe", password: "pw")
            request.informationalHandler = { interim.record($0.status) }
        }
        await manager.flushMonitors()
        #expect(
            notes.events.values == [
                "created", "resumed", "sent 1 -", "redirected 302", "challenged", "by Basic r", "answered 101",
            ])
        #expect(interim.values == [103])
        try await socket.close()
    }

    @Test func monitorsSeeEndOfLostSocket() async throws {
        server.route("/", [.upgrade(), .stall(at: "gate"), .close])
        let notes = EventNotes()
        manager.eventMonitors = [notes]
        let socket = try await manager.webSocket("/")
        server.open("gate")
        #expect(try await sessionError { for try await _ in socket {} }.code == .connectionLost)
        await notes.events.wait(for: 6)
        #expect(notes.events.values.last == "finished connectionLost")
    }

    @Test func cancelAllEndsOpenSockets() async throws {
        serveEcho()
        let socket = try await manager.webSocket("echo")
        manager.cancelAll()
        #expect(try await sessionError { for try await _ in socket {} }.code == .cancelled)
        #expect(socket.closeCode == .abnormal)
    }
}
