import AFTestServer
import CAFTestServer
import FoundationEssentials
import SwiftAF
import Testing

private struct User: Codable, Equatable, Sendable {
    var id = 7
    var name = "Ada/Æ"
}

/// What saves work in handlers and checks.
@Suite struct ConvenienceTests {
    private func body(_ server: TestServer, _ requestLine: String = "GET /") throws -> String {
        let answer = try Client.exchange(server.port, requestLine)
        return String(answer.split(separator: "\r\n\r\n", omittingEmptySubsequences: false).last ?? "")
    }

    @Test func respondsWithEachAnswerInTurnAndStaysAtTheLast() throws {
        let server = try TestServer()
        server.route("GET /", answers: [.status(503), [.interim(103), .text("second")], .json("{}")])
        #expect(try Client.exchange(server.port, "GET /").hasPrefix("HTTP/1.1 503 "))
        #expect(try body(server) == "second")
        #expect(try (0..<2).map { _ in try body(server) } == ["{}", "{}"])
        server.route("GET /one", answers: [.text("only")])
        #expect(try (0..<2).map { _ in try body(server, "GET /one") } == ["only", "only"])
    }

    @Test func encodesValuesAsJSON() throws {
        let server = try TestServer()
        server.route("GET /value", .json(encoding: User()))
        server.route(
            "GET /dictionary", .json(encoding: ["b": 2, "a": 1], status: 201, headers: ["Content-Type": "a/b"]))
        server.route("GET /text", .json(#"{"x":\#(1)}"#))
        server.route("GET /part", .json("{} []".prefix(2)))
        server.route("GET /string", .json(encoding: "a"))
        #expect(try body(server, "GET /value") == #"{"id":7,"name":"Ada/Æ"}"#)
        #expect(try body(server, "GET /text") == #"{"x":1}"#)
        #expect(try body(server, "GET /part") == "{}")
        #expect(try body(server, "GET /string") == #""a""#)
        let answer = try Client.exchange(server.port, "GET /dictionary")
        #expect(answer == "HTTP/1.1 201 Created\r\nContent-Type: a/b\r\nContent-Length: 13\r\n\r\n{\"a\":1,\"b\":2}")
        let pretty = JSONEncoder()
        pretty.outputFormatting = .prettyPrinted
        server.route("GET /pretty", .json(encoding: [1], encoder: pretty))
        #expect(try body(server, "GET /pretty") == "[\n  1\n]")
    }

    @Test func reportsAValueThatHasNoJSON() throws {
        let server = try TestServer()
        server.route("GET /", .json(encoding: [Double.nan]))
        #expect(try Client.exchange(server.port, "GET /").hasPrefix("HTTP/1.1 500 "))
        #expect(server.handlerErrors.first is EncodingError)
    }

    @Test func decodesTheBodyAndTheQueryOfARequest() throws {
        let server = try TestServer()
        let client = try Client(port: server.port)
        let target = "/a?page=2&q=a+b%2Bc%C3%A9&page=3&flag&=x&&bad=%zz%4&e=1=2&c=\u{301}"
        try client.send("PUT \(target) HTTP/1.1\r\nHost: a\r\nContent-Length: 23\r\n\r\n{\"id\":8,\"name\":\"Grace\"}")
        #expect(server.waitBlocking(for: .requests(1)))
        let request = try #require(server.requests.first)
        #expect(try request.json(as: User.self) == User(id: 8, name: "Grace"))
        #expect(throws: DecodingError.self) { try request.json(as: [Int].self) }
        #expect(request.query["page"] == "2" && request.query.values(named: "page") == ["2", "3"])
        #expect(request.query["q"] == "a b+cé" && request.query["flag"]?.isEmpty == true)
        #expect(request.query["none"] == nil && request.query[""] == "x" && request.query["e"] == "1=2")
        #expect(request.query["bad"] == "%zz%4")
        #expect(request.path == "/a" && request.query["c"] == "\u{301}")
        #expect(request.query.map(\.name) == ["page", "q", "page", "flag", "", "bad", "e", "c"])
    }

    @Test func takesTextsAsBodiesAndChunks() throws {
        let server = try TestServer()
        server.route("GET /body", .respond(200, body: "é"))
        server.route("GET /short", .truncated(body: "half", promising: 8))
        server.route("GET /chunks", [.chunkedHead(), .chunk("a"), .chunk("é", count: 2), .lastChunk()])
        server.route("GET /handler") { _, connection in try connection.respond(404, body: "none") }
        #expect(try Client.exchange(server.port, "GET /body") == "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\né")
        #expect(try body(server, "GET /short") == "half")
        #expect(try Client.exchange(server.port, "GET /chunks").contains("1\r\na\r\n2\r\né\r\n2\r\né\r\n0\r\n"))
        #expect(try body(server, "GET /handler") == "none")
    }

    @Test func findsRequestsOfAPattern() throws {
        let server = try TestServer()
        for line in ["GET /users/1", "GET /users/2?x", "PUT /users/1", "GET http://a:1/users/3", "OPTIONS *"] {
            _ = try Client.exchange(server.port, line)
        }
        #expect(
            server.requests(matching: "GET /users/*").map(\.target) == ["/users/1", "/users/2?x", "http://a:1/users/3"])
        #expect(server.requests(matching: "/users/1").map(\.method) == ["GET", "PUT"])
        #expect(server.requests(matching: "OPTIONS *").count == 1)
        #expect(server.requests(matching: "GET /users").isEmpty)
        #expect(server.requests.count == 5)
    }

    @Test func waitsForRequestsOfAPattern() async throws {
        let server = try TestServer()
        server.route("/slow", [.readHeadOnly, .stall(at: "gate"), .text("late")])
        let port = server.port
        async let both = server.wait(for: .requests(2, matching: "GET /users/*"))
        for line in ["GET /users/1", "PUT /users/1", "GET /films", "GET /users/2?x"] {
            _ = try await Client.onAnotherThread { try Client.exchange(port, line) }
        }
        #expect(await both)
        #expect(await server.wait(for: .requests(3, matching: "/users/*"), timeout: .zero))
        #expect(await !server.wait(for: .requests(3, matching: "GET /users/*"), timeout: .milliseconds(1)))
        #expect(await !server.wait(for: .requests(1, matching: "OPTIONS *"), timeout: .zero))
        async let slow = Client.onAnotherThread { try Client.exchange(port, "GET /slow") }
        #expect(await server.wait(for: .requests(1, matching: "/slow")))
        server.open("gate")
        _ = try await slow
        async let never = server.wait(for: .requests(1, matching: "/never"), timeout: .seconds(600))
        server.stop()
        #expect(await !never)
    }

    @Test func waitsForRequestsOfAPatternWithoutSwiftConcurrency() throws {
        let server = try TestServer()
        _ = try Client.exchange(server.port, "GET /a")
        #expect(server.waitBlocking(for: .requests(1, matching: "GET /a")))
        #expect(!server.waitBlocking(for: .requests(1, matching: "PUT /a"), timeout: .zero))
    }

    @Test func readsWhatMayFollowAResponseInAScript() throws {
        let server = try TestServer()
        server.route("/", [.interim(103), .respond(102), .text("first"), .readRequest, .text("second"), .close])
        let client = try Client(port: server.port)
        try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n")
        let answers = try client.receiveAll()
        #expect(answers.contains("\r\n\r\nfirst") && answers.hasSuffix("\r\n\r\nsecond"))
    }

    #if compiler(>=6.2)
        @Test func refusesASecondResponseToOneRequest() async {
            await #expect(processExitsWith: .failure) {
                try TestServer().route("/", [.status(503), .json("{}")])
            }
            await #expect(processExitsWith: .failure) {
                try TestServer().fallback([.chunked(chunks: ["a"]), .echo])
            }
            await #expect(processExitsWith: .failure) {
                try TestServer().onConnection([.readRequest, .text("a"), .upgrade()])
            }
        }

        @Test func refusesAResponseAfterAnUpgrade() async {
            await #expect(processExitsWith: .failure) {
                try TestServer().route("/", [.upgrade(), .text("hello")])
            }
        }

        @Test func refusesPlaceholdersInPatterns() async {
            await #expect(processExitsWith: .failure) {
                try TestServer().route("GET /users/:id", .json("{}"))
            }
            await #expect(processExitsWith: .failure) {
                try TestServer().route("/users/{id}/films", .json("{}"))
            }
            await #expect(processExitsWith: .failure) {
                _ = try TestServer().requests(matching: "GET /:id")
            }
            await #expect(processExitsWith: .failure) {
                _ = try await TestServer().wait(for: .requests(1, matching: "users"), timeout: .zero)
            }
        }
    #endif

    @Test func acceptsColonsWithinSegmentsAndOfHosts() throws {
        let server = try TestServer()
        server.route("GET /v1/films:search", .text("found"))
        server.route("CONNECT a.test:443", .status(204))
        #expect(try body(server, "GET /v1/films:search") == "found")
    }
}
