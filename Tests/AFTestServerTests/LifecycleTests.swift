import AFTestServer
import CAFTestServer
import Dispatch
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

private final class Box: Sendable {
    let last = Locked<TestServer?>(nil)
}

@Suite struct LifecycleTests {
    @Test func waitsForAMinuteOrAsLongAsTheEnvironmentSays() throws {
        let said = ProcessInfo.processInfo.environment["AFTS_PATIENCE"].flatMap { Int($0) }
        #expect(TestServer.patience == .seconds(said ?? 60))
        let server = try TestServer()
        #expect(!server.waitBlocking(for: .requests(1), timeout: .milliseconds(1)))
    }

    @Test func holdsScriptsAtAGateUntilItReleasesThem() async throws {
        let server = try TestServer()
        server.route("GET /", [.stall(at: "gate"), .text("through")])
        let clients = try (0..<3).map { _ in try Client(port: server.port) }
        for client in clients {
            try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        }
        #expect(await server.wait(for: .stalled(at: "gate", count: 3)))
        server.release("gate")
        #expect(await !server.wait(for: .stalled(at: "gate", count: 3), timeout: .zero))
        #expect(await server.wait(for: .stalled(at: "gate", count: 2)))
        server.open("gate")
        for client in clients {
            #expect(try client.receive(asLongAs: "HTTP/1.1 200 OK") == "HTTP/1.1 200 OK")
        }
    }

    @Test func endsAWaitWhenTheServerStops() async throws {
        let server = try TestServer()
        async let waited = server.wait(for: .requests(1), timeout: .seconds(600))
        server.stop()
        #expect(await !waited)
    }

    @Test func endsAWaitWhenItsTaskIsCancelled() async throws {
        let server = try TestServer()
        let waiting = Task { await server.wait(for: .requests(1), timeout: .seconds(600)) }
        waiting.cancel()
        #expect(await !waiting.value)
    }

    /// More than the pool would ever have threads for, so one that blocked would leave none for the last one.
    @Test func blocksNoThreadWhile600TasksWait() async throws {
        let server = try TestServer()
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<600 {
                group.addTask { await server.wait(for: .stalled(at: "never"), timeout: .seconds(600)) }
            }
            #expect(await server.wait(for: .connections(0)))
            group.cancelAll()
            for await holds in group { #expect(!holds) }
        }
    }

    @Test func releasesWaitingScriptsBeforeLaterOnes() async throws {
        let server = try TestServer()
        server.route("/early", [.stall(at: "gate"), .text("early")])
        server.route("/late") { [weak server] _, connection in
            server?.release("gate")
            // This thread runs already; the one that waits has yet to wake up.
            try connection.stall(at: "gate")
            try connection.respond(body: Data("late".utf8))
        }
        let port = server.port
        let early = Task { try await Client.onAnotherThread { try Client.exchange(port, "GET /early") } }
        try #require(await server.wait(for: .stalled(at: "gate")))
        let late = Task { try await Client.onAnotherThread { try Client.exchange(port, "GET /late") } }
        // Whichever has passed the gate closes its connection.
        try #require(await server.wait(for: .closes(1)))
        let passed = server.connections.filter { $0.ending != .open }.map(\.index)
        #expect(passed == [0])
        server.open("gate")
        #expect(try await early.value.hasSuffix("early"))
        #expect(try await late.value.hasSuffix("late"))
    }

    @Test func endsPausedStalledAndEndlessScriptsWhenItStops() throws {
        let server = try TestServer()
        server.route("/pause", .pause(.seconds(600)))
        server.route("/stall", .stall(at: "never"))
        server.route("/endless", .respond(repeating: Data("x".utf8), count: nil))
        server.route("/wait", .waitForPeerClose)
        var sent = ["pause", "stall", "endless", "wait"].map { "GET /\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }
        sent += ["", "GET / HT", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc"]
        let clients = try sent.map { bytes in
            let client = try Client(port: server.port)
            try client.send(bytes)
            return client
        }
        #expect(server.waitBlocking(for: .connections(clients.count)))
        #expect(server.waitBlocking(for: .requests(4)))
        DispatchQueue.concurrentPerform(iterations: 4) { _ in server.stop() }
        #expect(server.statistics.open == 0 && server.statistics.closed == clients.count)
        let error = #expect(throws: Client.Failure.self) { try Client(port: server.port) }
        #expect(error?.number == ECONNREFUSED)
    }

    @Test func keeps500ConnectionsOpen() throws {
        let server = try TestServer()
        let clients = try (0..<500).map { _ in try Client(port: server.port) }
        #expect(server.waitBlocking(for: .connections(clients.count)))
        #expect(server.statistics.peakOpen == clients.count)
    }

    @Test func sendsTheResponseOfAHandlerThatStopsTheServer() throws {
        let server = try TestServer()
        server.route("/") { [weak server] _, connection in
            try connection.respond(200, headers: ["Connection": "close"])
            server?.stop()
        }
        #expect(try Client.exchange(server.port, "GET /").hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(server.waitBlocking(for: .closes(1)))
    }

    @Test func endsAfterAHandlerReleasesTheLastReference() throws {
        let box = Box()
        var server: TestServer? = try TestServer()
        let port = try #require(server?.port)
        weak let seen = server
        server?.route("/") { _, connection in
            try connection.respond(200)
            box.last.withLock { $0 = nil }
        }
        box.last.withLock { $0 = server }
        server = nil
        #expect(seen != nil)
        #expect(try Client.exchange(port, "GET /") == "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(seen == nil)
    }

    /// The server could be what it holds, and must not be freed by a thread that freeing it waits for.
    @Test func releasesAReplacedHandlerOnItsConnectionAsWithinAHandler() async throws {
        final class Token: Sendable {
            let report: AsyncStream<Bool>.Continuation

            init(_ report: AsyncStream<Bool>.Continuation) {
                self.report = report
            }

            deinit {
                report.yield(afts_in_handler())
            }
        }
        let (reports, report) = AsyncStream<Bool>.makeStream()
        let server = try TestServer()
        server.route("/") { [weak server, token = Token(report)] _, connection in
            withExtendedLifetime(token) {}
            // Leaves the connection with the last reference to this handler.
            server?.route("/", .status(404))
            try connection.respond()
        }
        #expect(try Client.exchange(server.port, "GET /").hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(await reports.first { _ in true } == true)
        #expect(!afts_in_handler())
    }

    @Test func releasesHandlersWithTheServer() throws {
        final class Token: Sendable {}
        var token: Token? = Token()
        weak let seen = token
        var server: TestServer? = try TestServer()
        server?.route("/") { [token] _, connection in
            withExtendedLifetime(token) {}
            try connection.respond()
        }
        token = nil
        #expect(seen != nil)
        server = nil
        #expect(seen == nil && server == nil)
    }

    @Test func letsConnectionsTimeOutIfItIsUnreachable() throws {
        var options = TestServer.Options()
        options.isUnreachable = true
        let server = try TestServer(options: options)
        let error = #expect(throws: Client.Failure.self) {
            try Client(port: server.port, patience: .milliseconds(50))
        }
        // What connect says when the time limit of SO_SNDTIMEO has passed.
        #expect(error?.number == EINPROGRESS)
    }

    @Test func makesURLsOfPathsWithItsPort() throws {
        let server = try TestServer()
        #expect(server.urlString("/a?b") == "http://127.0.0.1:\(server.port)/a?b")
        #expect(server.url("/a?b").absoluteString == server.urlString("/a?b"))
        #expect(server.url("user").absoluteString == "http://127.0.0.1:\(server.port)/user")
        #expect(server.url("?b").absoluteString == "http://127.0.0.1:\(server.port)/?b")
        #expect(server.url("/a b%\u{7}é").absoluteString.hasPrefix("http://127.0.0.1:\(server.port)/a%20b"))
        #expect(server.urlString("") == "http://127.0.0.1:\(server.port)")
        var options = TestServer.Options()
        options.usesIPv6 = true
        #expect(try TestServer(options: options).urlString("/").hasPrefix("http://[::1]:"))
    }
}
