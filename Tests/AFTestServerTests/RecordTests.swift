import AFTestServer
import FoundationEssentials
import Testing

@Suite struct RecordTests {
    @Test func recordsRequestsAsTheyWereSent() throws {
        let server = try TestServer()
        let client = try Client(port: server.port)
        let head = "POST /a?b=%20 HTTP/1.1\r\nhOST: x\r\nA: 1\r\nA: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
        try client.send(head + "3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nTrailer: 1\r\n\r\n")
        #expect(server.waitBlocking(for: .requests(1)))
        let request = try #require(server.requests.first)
        #expect(request.method == "POST" && request.target == "/a?b=%20" && request.path == "/a")
        #expect(request.headers.map(\.name) == ["hOST", "A", "A", "Transfer-Encoding"])
        #expect(request.values(named: "a") == ["1", "2"] && request.headers.values(named: "A") == ["1", "2"])
        #expect(request.head == Data(head.utf8))
        #expect(request.bodyText == "abcde" && request.bodyLength == 5 && request.isBodyComplete)
    }

    @Test func keepsNoMoreThanItsLimitsOfBodiesBytesAndRequests() throws {
        var options = TestServer.Options()
        options.bodyLimit = 4
        options.receivedLimit = 10
        options.recordLimit = 1
        let server = try TestServer(options: options)
        let client = try Client(port: server.port)
        let sent = [
            "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabcdef", "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        ]
        for request in sent {
            try client.send(request)
        }
        #expect(server.waitBlocking(for: .requests(2)))
        #expect(server.requests.count == 1 && server.statistics.requests == 2)
        #expect(server.requests[0].bodyText == "abcd" && server.requests[0].bodyLength == 6)
        #expect(server.connections[0].received == Data("PUT / HTTP".utf8))
        #expect(server.connections[0].receivedCount == UInt64(sent.joined().utf8.count))
    }

    @Test func recordsThatClientsClosedTheirConnections() throws {
        let server = try TestServer()
        try Client(port: server.port).close()
        let aborting = try Client(port: server.port)
        try aborting.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
        #expect(server.waitBlocking(for: .received(bytes: 49)))
        aborting.close()
        #expect(server.waitBlocking(for: .closes(2)))
        #expect(server.connections.map(\.ending) == [.closedByClient, .closedByClient])
        #expect(server.requests.map(\.isBodyComplete) == [false])
    }

    @Test(arguments: [
        "garbage\r\n\r\n", "GET /\r\n\r\n", " / HTTP/1.1\r\nHost: a\r\n\r\n", "GET  HTTP/1.1\r\nHost: a\r\n\r\n",
        "\u{0}\u{1}\n\n",
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1x\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551616\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length : 1\r\n\r\na",
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: a\r\nA: b\r\n Content-Length: 1\r\n\r\na",
        "GET / HTTP/1.1\r\nHost: a\r\nA b: c\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n: c\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nA\u{0}: c\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
        "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n",
        "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "G(T / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/9\r\nHost: a\r\n\r\n", "GET / HTTP/1.1 x\r\nHost: a\r\n\r\n",
        "GET /\tx HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /x#f HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: \u{1}\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX: \u{0}\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ])
    func answersInvalidRequestsWith400(bytes: String) throws {
        let server = try TestServer()
        let client = try Client(port: server.port)
        try client.send(bytes)
        #expect(try client.receiveAll().hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        #expect(server.connections.first?.refusal != nil)
        #expect(!server.requests.contains { $0.isBodyComplete })
    }

    @Test func answersVersionsItDoesNotSpeakWith505() throws {
        let server = try TestServer()
        let client = try Client(port: server.port)
        try client.send("GET / HTTP/2.0\r\nHost: a\r\n\r\n")
        #expect(try client.receiveAll().hasPrefix("HTTP/1.1 505 "))
        #expect(server.connections.first?.refusal == "a version other than HTTP/1")
    }

    @Test func readsChunksBehindAnotherCoding() throws {
        let server = try TestServer()
        let client = try Client(port: server.port)
        try client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip , Chunked\r\n\r\n1\r\na\r\n0\r\n\r\n")
        #expect(server.waitBlocking(for: .requests(1)))
        #expect(server.requests.first?.bodyText == "a")
    }

    @Test func recordsWhyItRefusedAConnection() throws {
        let server = try TestServer()
        let client = try Client(port: server.port)
        try client.send(
            "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length : 22\r\n\r\nGET /hidden HTTP/1.1\r\nHost: a\r\n\r\n")
        _ = try client.receiveAll()
        #expect(server.connections.map(\.refusal) == ["an invalid name of a header field"])
        #expect(server.requests.isEmpty)
        _ = try Client.exchange(server.port, "GET /")
        #expect(server.connections.last?.refusal == nil && server.connections.count == 2)
    }

    /// SETTINGS, and GOAWAY with HTTP_1_1_REQUIRED.
    @Test func answersThePrefaceOfHTTP2WithGoAway() throws {
        let server = try TestServer()
        let client = try Client(port: server.port)
        try client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        let frames: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 13]
        #expect(try client.receive(count: 100) == Data(frames))
        #expect(server.connections.first?.refusal == "HTTP/2, which the server doesn't speak")
    }

    @Test func answersAHeadBeyondItsLimitWith431() throws {
        var options = TestServer.Options()
        options.headLimit = 1000
        let server = try TestServer(options: options)
        let client = try Client(port: server.port)
        try client.send("GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 1000))
        #expect(try client.receiveAll().hasPrefix("HTTP/1.1 431 "))
        #expect(server.connections.first?.refusal == "a head beyond the limit")
    }

    @Test func answersBeforeItHasReadTheBody() throws {
        let server = try TestServer()
        server.route("/", [.readHeadOnly, .status(413, headers: ["Connection": "close"])])
        let client = try Client(port: server.port)
        try client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nab")
        let answer = "HTTP/1.1 413 \r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        #expect(try client.receiveAll() == answer)
    }

    @Test func leavesABodyUnreadUntilAGateOpens() async throws {
        var options = TestServer.Options()
        options.receiveBuffer = 4096
        let server = try TestServer(options: options)
        server.route("/", [.readHeadOnly, .stall(at: "body"), .readBody, .status(200)])
        let port = server.port
        let length = 1 << 20
        // It blocks until the gate is open, so not on a thread that the test needs to open it.
        async let answer = Client.onAnotherThread {
            let client = try Client(port: port)
            try client.send("PUT / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: \(length)\r\n\r\n")
            try client.send(String(repeating: "x", count: length))
            return try client.receiveAll()
        }
        try #require(await server.wait(for: .stalled(at: "body")))
        #expect(server.statistics.received < 64 << 10 && server.requests[0].bodyLength == 0)
        server.open("body")
        #expect(try await answer.hasPrefix("HTTP/1.1 200 OK"))
        #expect(server.requests[0].bodyLength == UInt64(length))
    }

    @Test func answersExpectationsWith100OrThatOfTheScript() throws {
        let server = try TestServer()
        server.route("/early", [.readHeadOnly, .status(417), .readBody])
        let client = try Client(port: server.port)
        try client.send("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
        let interim = "HTTP/1.1 100 Continue\r\n\r\n"
        #expect(try client.receive(asLongAs: interim) == interim)
        try client.send("x")
        #expect(server.waitBlocking(for: .requests(1)))
        _ = try client.receive()
        try client.send("PUT /early HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
        let refusal = "HTTP/1.1 417 Expectation Failed\r\n"
        #expect(try client.receive(asLongAs: refusal) == refusal)
        #expect(!server.requests[1].isBodyComplete)
    }
}
