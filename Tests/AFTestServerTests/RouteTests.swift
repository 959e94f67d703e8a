import AFTestServer
import FoundationEssentials
import Testing

@Suite struct RouteTests {
    private func body(_ server: TestServer, _ requestLine: String) throws -> String {
        let answer = try Client.exchange(server.port, requestLine)
        return String(answer.split(separator: "\r\n", omittingEmptySubsequences: false).last ?? "")
    }

    @Test func theMostSpecificRouteWins() throws {
        let server = try TestServer()
        server.route("/*", .text("any"))
        server.route("/a/*", .text("a/*"))
        server.route("/a/b", .text("a/b"))
        server.route("PUT /a/b", .text("PUT a/b"))
        #expect(try body(server, "GET /") == "any")
        #expect(try body(server, "GET /a/") == "a/*")
        #expect(try body(server, "GET /a/b/c") == "a/*")
        #expect(try body(server, "GET /a/b?q") == "a/b")
        #expect(try body(server, "PUT /a/b") == "PUT a/b")
        #expect(try body(server, "GET http://host:1/a/b?q") == "a/b")
    }

    @Test func aRouteIsReplaced() throws {
        let server = try TestServer()
        server.route("GET /", .text("old"))
        server.route("GET /", .text("new"))
        #expect(try body(server, "GET /") == "new")
    }

    @Test func limitedRoutesComeFirstAndInOrder() throws {
        let server = try TestServer()
        server.route("GET /", .text("then"))
        server.route("GET /", times: 2, .text("twice"))
        server.route("GET /", times: 1, .text("once"))
        let bodies = try (0..<5).map { _ in try body(server, "GET /") }
        #expect(bodies == ["twice", "twice", "once", "then", "then"])
    }

    @Test func theFallbackTakesTheRest() throws {
        let server = try TestServer()
        server.fallback(.status(404))
        #expect(try Client.exchange(server.port, "GET /").hasPrefix("HTTP/1.1 404 Not Found\r\n"))
    }

    @Test func connectionsHaveScripts() throws {
        let server = try TestServer()
        server.onConnection(nil, [.readRequest, .echo, .close])
        server.onConnection(0, .reset)
        #expect(throws: Client.Failure.self) { try Client.exchange(server.port, "GET /0") }
        #expect(try Client.exchange(server.port, "GET /1").contains(#""target":"/1""#))
        #expect(server.requests.map(\.target) == ["/1"])
    }
}
