import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

/// What is known of a client that closes while a script waits.
@Suite struct HangupTests {
    @Test(arguments: [Script.stall(at: "gate"), .pause(.seconds(600))])
    func countsACloseWhileTheScriptWaits(wait: Script) async throws {
        let server = try TestServer()
        server.route("GET /", [wait, .text("late")])
        let client = try Client(port: server.port)
        try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        try #require(await server.wait(for: .requests(1)))
        #expect(server.connections[0].ending == .open && server.statistics.open == 1)
        client.close()
        #expect(await server.wait(for: .closes(1)))
        #expect(await server.wait(for: .open(atMost: 0), timeout: .zero))
        #expect(server.connections[0].ending == .closedByClient)
        server.stop()
        #expect(server.connections[0].ending == .closedByClient)
        #expect(server.statistics.closed == 1 && server.statistics.open == 0)
    }

    @Test func leavesAScriptAtItsGateWhenTheClientCloses() async throws {
        let server = try TestServer()
        server.route("GET /", [.stall(at: "gate"), .stall(at: "next"), .text("late")])
        let client = try Client(port: server.port)
        try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        try #require(await server.wait(for: .stalled(at: "gate")))
        client.close()
        #expect(await server.wait(for: .closes(1)))
        #expect(await server.wait(for: .stalled(at: "gate"), timeout: .zero))
        server.open("gate")
        #expect(await server.wait(for: .stalled(at: "next")))
        server.open("next")
        server.stop()
        #expect(server.statistics.closed == 1 && server.statistics.open == 0)
        #expect(server.connections[0].ending == .closedByClient)
    }

    @Test func answersAClientThatHasOnlyEndedItsOwnDirection() async throws {
        let server = try TestServer()
        server.route("GET /1", [.stall(at: "gate"), .pause(.milliseconds(1)), .text("one")])
        let client = try Client(port: server.port)
        try client.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
        client.finishSending()
        #expect(await server.wait(for: .closes(1)))
        #expect(server.connections[0].ending == .closedByClient)
        server.open("gate")
        let answers = try client.receiveAll()
        #expect(answers.contains("\r\n\r\none") && answers.contains(#""target":"/2""#))
        server.stop()
        #expect(server.requests.map(\.target) == ["/1", "/2"])
        #expect(server.statistics.closed == 1 && server.statistics.open == 0)
        #expect(server.connections[0].ending == .closedByClient)
    }

    @Test func recordsAResetWhileTheScriptWaits() async throws {
        let server = try TestServer()
        server.route("GET /", [.stall(at: "gate"), .text("late")])
        let client = try Client(port: server.port)
        try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        try #require(await server.wait(for: .stalled(at: "gate")))
        client.reset()
        #expect(await server.wait(for: .closes(1)))
        #expect(server.connections[0].ending == .broken)
        server.open("gate")
        server.stop()
        #expect(server.connections[0].ending == .broken && server.statistics.closed == 1)
    }

    @Test func countsTheCloseOfACancelledRequest() async throws {
        let authority = try TestCertificate.makeAuthority()
        for tls in [nil, TestServer.TLS(try authority.issue())] {
            let server = try TestServer(tls: tls)
            server.route("GET /", [.stall(at: "gate"), .text("late")])
            var configuration = SessionConfiguration()
            configuration.securityPolicy.anchors = .pem(Data(authority.pem.utf8))
            let manager = HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
            let request = Task { try await manager.get("") }
            try #require(await server.wait(for: .stalled(at: "gate")))
            request.cancel()
            #expect(await server.wait(for: .closes(1)))
            #expect(server.connections[0].ending != .open)
            server.open("gate")
            await #expect(throws: SessionError.self) { try await request.value }
        }
    }

    @Test func countsEachOfManyThatCloseWhileGatesOpen() async throws {
        let server = try TestServer()
        let count = 50
        server.route("GET /", [.stall(at: "gate"), .pause(.milliseconds(1)), .text("late")])
        let clients = try (0..<count).map { _ in try Client(port: server.port) }
        for client in clients { try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
        try #require(await server.wait(for: .stalled(at: "gate", count: count)))
        let port = server.port
        async let others: Void = Client.onAnotherThread {
            for _ in 0..<count { _ = try Client.exchange(port, "GET /other") }
        }
        for client in clients {
            server.release("gate")
            client.close()
        }
        try await others
        #expect(await server.wait(for: .closes(2 * count)))
        server.stop()
        #expect(server.statistics.closed == 2 * count && server.statistics.open == 0)
        #expect(!server.connections.contains { $0.ending == .open })
    }
}
