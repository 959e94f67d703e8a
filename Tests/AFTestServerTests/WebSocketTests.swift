import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@Suite struct WebSocketTests {
    private static let head = "GET / HTTP/1.1\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
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
}
