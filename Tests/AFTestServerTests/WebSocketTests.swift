import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@Suite struct WebSocketTests {
    private static let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    private static let upgrade = "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
    private static let head = "GET / HTTP/1.1\r\nHost: a\r\n\(upgrade)\(key)Sec-WebSocket-Version: 13\r\n\r\n"
    /// What RFC 6455 1.3 answers to that key.
    private static let accepted = """
        HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n
        """

    private func open(_ server: TestServer) throws -> Client {
        let client = try Client(port: server.port)
        try client.send(Self.head)
        #expect(try client.receive(asLongAs: Self.accepted) == Self.accepted)
        return client
    }

    @Test func refusesAnUpgradeWithoutAKey() throws {
        let server = try TestServer()
        server.route("/", [.upgrade(), .echoFrames])
        #expect(try Client.exchange(server.port, "GET /").hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        #expect(server.connections.first?.refusal == "an upgrade of a request without a Sec-WebSocket-Key")
    }

    @Test(arguments: [
        ("\(key)Sec-WebSocket-Version: 13", "without Upgrade: websocket and Connection: Upgrade"),
        ("\(upgrade)\(key)Sec-WebSocket-Version: 8", "without Sec-WebSocket-Version: 13"),
        ("\(upgrade)\(key)A: b", "without Sec-WebSocket-Version: 13"),
    ])
    func refusesAnUpgradeThatOpensNoWebSocket(fields: String, reason: String) throws {
        let server = try TestServer()
        server.route("/", [.upgrade(), .echoFrames])
        let client = try Client(port: server.port)
        try client.send("GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n")
        #expect(try client.receiveAll().hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        #expect(server.connections.first?.refusal == "an upgrade of a request \(reason)")
    }

    @Test func closesAfterAFrameWithoutAMask() throws {
        let server = try TestServer()
        server.route("/", [.upgrade(), .echoFrames])
        let client = try open(server)
        try client.send([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69])
        #expect(try client.receive(count: 4) == Data([0x81, 2, 0x68, 0x69]))
        try client.send([0x81, 2, 0x68, 0x69])
        #expect(try client.receive(count: 100) == Data([0x88, 2, 0x03, 0xEA]))
        #expect(server.connections.first?.refusal == "a frame without a mask")
    }

    @Test func passesFramesToAHandlerThatReadsThem() throws {
        let frames = Locked<[TestServer.Frame]>([])
        let server = try TestServer()
        server.route("/") { _, connection in
            try connection.run(.upgrade())
            for _ in 0..<2 {
                let frame = try connection.readFrame()
                frames.withLock { $0.append(frame) }
                try connection.run(.frame(frame.first, frame.payload))
            }
            try connection.close()
        }
        let client = try open(server)
        try client.send([0x01, 0x82, 1, 2, 3, 4, 0x69, 0x6B])
        try client.send([0x80, 0x01, 0x21])
        #expect(try client.receive(count: 100) == Data([0x01, 2, 0x68, 0x69, 0x80, 1, 0x21]))
        let read = frames.withLock { $0 }
        #expect(read.map(\.isFinal) == [false, true] && read.map(\.opcode) == [1, 0])
        #expect(read.map(\.isMasked) == [true, false])
        #expect(read.map(\.payload) == [Data("hi".utf8), Data("!".utf8)])
    }

    @Test func sendsFramesByTheirKind() throws {
        let server = try TestServer()
        let bytes = Data([1, 2])
        server.route(
            "/",
            [
                .upgrade(), .textFrame("é"), .binaryFrame(bytes), .pingFrame(), .pingFrame(bytes), .closeFrame(),
                .closeFrame(1001, reason: "bye"), .close,
            ])
        let client = try open(server)
        let frames: [UInt8] = [0x81, 2, 0xC3, 0xA9, 0x82, 2, 1, 2, 0x89, 0, 0x89, 2, 1, 2, 0x88, 2, 0x03, 0xE8]
        #expect(try client.receive(count: 100) == Data(frames + [0x88, 5, 0x03, 0xE9]) + Data("bye".utf8))
    }

    @Test func readsWholeTextsInAHandler() throws {
        let server = try TestServer()
        server.route("/") { _, connection in
            try connection.run(.upgrade())
            while true { try connection.run(.textFrame("<\(connection.readText())>")) }
        }
        let client = try open(server)
        // "hi" in two frames with a ping and a pong in between; then a close frame.
        try client.send([0x01, 0x81, 0, 0, 0, 0, 0x68, 0x89, 0x81, 0, 0, 0, 0, 0x70, 0x8A, 0x80, 0, 0, 0, 0])
        try client.send([0x80, 0x81, 1, 2, 3, 4, 0x68, 0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE8])
        let expected: [UInt8] = [0x8A, 1, 0x70, 0x81, 4, 0x3C, 0x68, 0x69, 0x3E, 0x88, 2, 0x03, 0xE8]
        #expect(try client.receive(count: 100) == Data(expected))
        #expect(server.handlerErrors.isEmpty)
    }

    @Test(
        arguments: [
            [0x82, 0x81, 0, 0, 0, 0, 1], [0x81, 0x01, 0x68], [0x81, 0x81, 0, 0, 0, 0, 0xFF],
            [0x80, 0x81, 0, 0, 0, 0, 0x68],
        ] as [[UInt8]])
    func refusesWhatIsNoTextInAHandlerThatReadsOne(frame: [UInt8]) throws {
        let server = try TestServer()
        server.route("/") { _, connection in
            try connection.run(.upgrade())
            _ = try connection.readText()
        }
        let client = try open(server)
        try client.send(frame)
        #expect(throws: Client.Failure.self) { try client.receive() }
        #expect(server.handlerErrors.count == 1 && server.handlerErrors.first is TestServerError)
    }
}
