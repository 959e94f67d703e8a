import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite("WebSockets", .timeLimit(.minutes(10)))
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

    private func failure(_ body: () async throws -> Void) async -> SessionError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? SessionError
        }
    }

    @Test("Messages of both kinds are echoed, and the socket closes cleanly")
    func echoes() async throws {
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
        let closed = await failure { try await socket.send("late") }
        #expect(closed?.code == .closed)
        #expect(await failure { try await socket.ping() }?.code == .closed)
    }

    @Test("ws URLs are opened", arguments: ["ws", "WS", "http"])
    func schemes(scheme: String) async throws {
        serveEcho()
        let rest = server.urlString("/echo").drop { $0 != ":" }
        let socket = try await manager.webSocket(scheme + rest)
        try await socket.close()
        #expect(socket.closeCode == .normal)
    }

    @Test(
        "A refusal says why", arguments: [(401, SessionError.Code.authentication), (403, .protocol), (200, .protocol)])
    func refusals(status: Int, code: SessionError.Code) async throws {
        server.route("/echo", .status(status))
        let error = await failure { _ = try await manager.webSocket("echo") }
        #expect(error?.code == code)
        #expect(error?.message.contains("\(status)") == true)
    }

    @Test("The server's close ends the iteration with its code")
    func serverCloses() async throws {
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

    @Test("A lost connection fails the iteration once")
    func lost() async throws {
        server.route("/", [.upgrade(), .close])
        let socket = try await manager.webSocket("/")
        var messages = socket.makeAsyncIterator()
        let error = await failure { _ = try await messages.next() }
        #expect(error?.code == .connectionLost)
        #expect(try await messages.next() == nil)
        #expect(socket.closeCode == .abnormal)
        #expect(await failure { try await socket.close() }?.code == .connectionLost)
    }

    @Test("A frame that breaks a rule is a protocol error")
    func broken() async throws {
        server.route("/", [.upgrade(), .frame(0xf0), .waitForPeerClose])
        let socket = try await manager.webSocket("/")
        let error = await failure { for try await _ in socket {} }
        #expect(error?.code == .protocol)
    }

    @Test("A slow reader stops the server, and gets every message once")
    func backPressure() async throws {
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

    @Test("Senders wait for room in the queue")
    func fullQueue() async throws {
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
        let tooLarge = await failure { try await socket.send(Data(count: 6000)) }
        #expect(tooLarge?.code == .tooLarge)
        #expect(socket.queuedBytes == 0)
        try await socket.close()
    }

    @Test("Cancelling a reader leaves the socket open")
    func cancelledReader() async throws {
        serveEcho()
        let socket = try await manager.webSocket("echo")
        let reader = Task {
            var messages = socket.makeAsyncIterator()
            return try await messages.next()
        }
        reader.cancel()
        #expect(await failure { _ = try await reader.value }?.code == .cancelled)
        try await socket.send("still open")
        var messages = socket.makeAsyncIterator()
        #expect(try await messages.next() == .text("still open"))
        socket.cancel()
        #expect(await failure { _ = try await messages.next() }?.code == .cancelled)
    }

    @Test("Cancelling the opening cancels the handshake")
    func cancelledOpening() async throws {
        server.route("/", .stall(at: "never"))
        let opening = Task { try await manager.webSocket("/") }
        #expect(await server.waitForStalled(at: "never"))
        opening.cancel()
        #expect(await failure { _ = try await opening.value }?.code == .cancelled)
    }

    @Test("Values are sent and decoded as JSON")
    func json() async throws {
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
        #expect(try message.decode(Move.self) == move)
        #expect(await failure { _ = try message.decode(Int.self) }?.code == .serialization)
        try await socket.close()
    }

    @Test("A released socket closes itself")
    func released() async throws {
        serveEcho()
        do {
            _ = try await manager.webSocket("echo")
        }
        #expect(await server.waitForCloses(1))
    }

    @Test("Invalid input is refused")
    func invalidInput() async throws {
        serveEcho()
        var options = WebSocket.Options()
        options.protocols = ["not a token"]
        #expect(await failure { _ = try await manager.webSocket("echo", options: options) }?.code == .invalidInput)
        let fields: HTTPHeaders = ["Sec-WebSocket-Key": "x"]
        #expect(await failure { _ = try await manager.webSocket("echo", headers: fields) }?.code == .invalidInput)
        #expect(await failure { _ = try await manager.webSocket("ftp://localhost/") }?.code == .invalidInput)
        let socket = try await manager.webSocket("echo")
        let long = String(repeating: "ä", count: 62)
        #expect(await failure { try await socket.close(.normal, reason: long) }?.code == .invalidInput)
        #expect(await failure { try await socket.close(.abnormal) }?.code == .invalidInput)
        try await socket.close()
    }
}
