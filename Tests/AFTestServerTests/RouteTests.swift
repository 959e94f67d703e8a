import AFTestServer
import CAFTestServer
import FoundationEssentials
import Glibc
import Testing

@Suite struct RouteTests {
    private func body(_ server: TestServer, _ requestLine: String) throws -> String {
        let answer = try Client.exchange(server.port, requestLine)
        return String(answer.split(separator: "\r\n", omittingEmptySubsequences: false).last ?? "")
    }

    @Test func prefersTheMostSpecificRoute() throws {
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

    @Test func replacesARouteWithTheSamePattern() throws {
        let server = try TestServer()
        server.route("GET /", .text("old"))
        server.route("GET /", .text("new"))
        #expect(try body(server, "GET /") == "new")
    }

    @Test func usesRoutesWithALimitFirstAndInOrder() throws {
        let server = try TestServer()
        server.route("GET /", .text("then"))
        server.route("GET /", times: 2, .text("twice"))
        server.route("GET /", times: 1, .text("once"))
        let bodies = try (0..<5).map { _ in try body(server, "GET /") }
        #expect(bodies == ["twice", "twice", "once", "then", "then"])
    }

    @Test func usesHandlersWithALimitFirstAndInOrder() throws {
        let server = try TestServer()
        server.route("GET /") { _, connection in try connection.respond(200, body: "then") }
        server.route("GET /", times: 2) { _, connection in try connection.respond(200, body: "twice") }
        server.route("GET /", times: 1) { _, connection async throws in try connection.respond(200, body: "once") }
        let bodies = try (0..<5).map { _ in try body(server, "GET /") }
        #expect(bodies == ["twice", "twice", "once", "then", "then"])
    }

    @Test func passesRequestsWithoutARouteToTheFallback() throws {
        let server = try TestServer()
        server.fallback(.status(404))
        #expect(try Client.exchange(server.port, "GET /").hasPrefix("HTTP/1.1 404 Not Found\r\n"))
    }

    @Test func runsTheScriptOfAConnectionInsteadOfItsRoutes() throws {
        let server = try TestServer()
        server.onConnection(nil, [.readRequest, .echo, .close])
        server.onConnection(0, .reset)
        let error = #expect(throws: Client.Failure.self) { try Client.exchange(server.port, "GET /0") }
        // The reset may come before the request.
        #expect(error?.number == ECONNRESET || error?.number == EPIPE)
        #expect(try Client.exchange(server.port, "GET /1").contains(#""target":"/1""#))
        #expect(server.requests.map(\.target) == ["/1"])
        #expect(server.unroutedRequests.isEmpty)
    }

    @Test func recordsWhichRequestsHaveNoRoute() throws {
        let server = try TestServer()
        server.route("GET /known", .status(204))
        server.route("GET /once", times: 1, .status(204))
        for path in ["/known", "/unknown", "/once", "/once"] { _ = try Client.exchange(server.port, "GET \(path)") }
        _ = try Client.exchange(server.port, "PUT /known")
        #expect(server.requests.map(\.isRouted) == [true, false, true, false, false])
        #expect(
            server.unroutedRequests.map { "\($0.method) \($0.path)" } == ["GET /unknown", "GET /once", "PUT /known"])
    }

    @Test func routesTheAsteriskOfOptions() throws {
        let server = try TestServer()
        server.route("OPTIONS *", .text("server"))
        #expect(try body(server, "OPTIONS *") == "server")
        #expect(try body(server, "OPTIONS /a").contains(#""target":"/a""#))
    }

    @Test(arguments: [
        "/a?x=1", "/a b", "/ü", "/a/*/b", "/**", "a", "", "http://host/", "a:1/b", "*:443", "/a\u{7F}", "/a\n",
    ])
    func refusesARouteWhosePathNoRequestHas(path: String) throws {
        let server = try #require(afts_server_new(nil))
        defer { afts_server_free(server) }
        #expect(afts_route(server, "GET", path, afts_script_new()) == AFTS_EINVAL)
        #expect(afts_route(server, "GET", "/", afts_script_new()) == AFTS_OK)
    }

    @Test(arguments: ["", "GE T", "GET\n", "*", "HOST:443"]) func refusesARouteWhoseMethodNoRequestHas(method: String)
        throws
    {
        let server = try #require(afts_server_new(nil))
        defer { afts_server_free(server) }
        #expect(afts_route(server, method, "/", afts_script_new()) == AFTS_EINVAL)
    }
}
