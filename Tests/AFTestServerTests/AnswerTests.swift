import AFTestServer
import FoundationEssentials
import Glibc
import Testing

@Suite struct AnswerTests {
    @Test func sendsExactlyTheBytesOfAJSONResponse() throws {
        let server = try TestServer()
        server.route("GET /json", .json(#"{"a":1}"#))
        let answer = try Client.exchange(server.port, "GET /json")
        #expect(answer == "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"a\":1}")
    }

    @Test func addsFieldsToTextAndJSONResponses() throws {
        let server = try TestServer()
        server.route("GET /json", .json("{}", status: 201, headers: ["ETag": "1", "X-A": "b"]))
        server.route("GET /text", .text("a", headers: ["X-A": "b"]))
        let json =
            "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nETag: 1\r\nX-A: b\r\nContent-Length: 2\r\n\r\n{}"
        #expect(try Client.exchange(server.port, "GET /json") == json)
        let text = "Content-Type: text/plain; charset=utf-8\r\nX-A: b\r\nContent-Length: 1\r\n\r\na"
        #expect(try Client.exchange(server.port, "GET /text").hasSuffix(text))
        server.route("GET /own", .json("{}", headers: ["content-type": "a/b+json"]))
        let own = "HTTP/1.1 200 OK\r\ncontent-type: a/b+json\r\nContent-Length: 2\r\n\r\n{}"
        #expect(try Client.exchange(server.port, "GET /own") == own)
    }

    @Test func answersTwoRequestsOnOneConnection() throws {
        let server = try TestServer()
        server.route("/a", .text("first"))
        server.route("/b", [.interim(103, headers: ["Link": "</x>"]), .status(204)])
        let client = try Client(port: server.port)
        try client.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        let expected = """
            HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 5\r\n\r\nfirst\
            HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n
            """
        #expect(try client.receive(asLongAs: expected) == expected)
        #expect(server.statistics.accepted == 1)
    }

    @Test func answersHeadRequestsWithoutABody() throws {
        let server = try TestServer()
        server.route("/chunks", .chunked(chunks: ["abc"]))
        let plain = try Client.exchange(server.port, "HEAD /text")
        #expect(plain.hasPrefix("HTTP/1.1 200 OK\r\n") && plain.hasSuffix("\r\n\r\n"))
        let chunked = try Client.exchange(server.port, "HEAD /chunks")
        #expect(chunked == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    }

    @Test func sendsChunksWithTheirSizesAndTrailers() throws {
        let server = try TestServer()
        let chunks = ["abc", "", "0123456789abcdef"]
        server.route("GET /", .chunked(headers: ["X": "1"], chunks: chunks, trailers: ["T": "2"]))
        let head = "HTTP/1.1 200 OK\r\nX: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
        let answer = try Client.exchange(server.port, "GET /")
        #expect(answer == head + "3\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nT: 2\r\n\r\n")
    }

    @Test(arguments: [1, 7, 4096, 100_000]) func sendsABlockAsOftenAsItIsRepeated(size: Int) throws {
        let server = try TestServer()
        let block = Data((0..<size).map { UInt8(truncatingIfNeeded: 33 + $0 % 90) })
        server.route("GET /", .respond(repeating: block, count: 33))
        let answer = try Client.exchange(server.port, "GET /")
        let body = String(decoding: block, as: UTF8.self)
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(size * 33)\r\n\r\n"
        #expect(answer == head + String(repeating: body, count: 33))
    }

    @Test func sendsFewerBytesThanATruncatedResponsePromises() throws {
        let server = try TestServer()
        server.route("GET /", .truncated(body: Data("ab".utf8), promising: 10))
        #expect(try Client.exchange(server.port, "GET /") == "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab")
    }

    @Test func sendsABodyInSmallPieces() throws {
        let server = try TestServer()
        let bytes = Data("HTTP/1.1 200 OK\r\n\r\nhello".utf8)
        server.route("GET /", [.send(bytes, inCrumbsOf: 5, pause: .milliseconds(1)), .close])
        #expect(try Client.exchange(server.port, "GET /") == "HTTP/1.1 200 OK\r\n\r\nhello")
    }

    @Test func resetsTheConnectionInsteadOfAResponse() throws {
        let server = try TestServer()
        server.route("GET /", .reset)
        let error = #expect(throws: Client.Failure.self) { try Client.exchange(server.port, "GET /") }
        #expect(error?.number == ECONNRESET)
    }

    @Test func readsOnAfterItHasEndedItsOwnDirection() throws {
        let server = try TestServer()
        server.route("GET /", [.status(200), .halfClose, .read(bytes: 4), .close])
        let client = try Client(port: server.port)
        try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try client.receiveAll() == "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        try client.send("more")
        #expect(server.waitBlocking(for: .closes(1)))
        #expect(server.connections[0].received == Data("GET / HTTP/1.1\r\nHost: a\r\n\r\nmore".utf8))
        #expect(server.connections[0].ending == .closedByServer)
    }

    @Test func describesTheRequestInItsEcho() throws {
        let server = try TestServer()
        let client = try Client(port: server.port)
        try client.send("PUT /x?y=1 HTTP/1.1\r\nhost: a\r\nX-A: \"1\"\r\nX-a:\t2 \r\nContent-Length: 3\r\n\r\n\u{7F}é")
        client.finishSending()
        let answer = try client.receiveAll()
        let body = #"""
            {"connection":0,"method":"PUT","target":"/x?y=1","version":"HTTP/1.1","headers":[["host","a"],\#
            ["X-A","\"1\""],["X-a","2"],["Content-Length","3"]],"bodyLength":3,"body":"\u007fé"}
            """#
        #expect(answer.hasSuffix("\r\n\r\n" + body))
    }

    @Test func sendsWhatAHandlerRespondsAnd500IfItThrows() throws {
        struct Refused: Error {}
        let server = try TestServer()
        server.route("POST /twice") { request, connection in
            try connection.run(.interim(100))
            try connection.respond(201, headers: ["X": request["x-in"] ?? ""], body: request.body + request.body)
        }
        server.route("GET /throws") { _, _ in throw Refused() }
        let client = try Client(port: server.port)
        try client.send("POST /twice HTTP/1.1\r\nHost: a\r\nX-In: v\r\nContent-Length: 2\r\n\r\nab")
        let expected =
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nX: v\r\nContent-Length: 4\r\n\r\nabab"
        #expect(try client.receive(asLongAs: expected) == expected)
        #expect(try Client.exchange(server.port, "GET /throws").hasPrefix("HTTP/1.1 500 "))
        #expect(server.handlerErrors.count == 1 && server.handlerErrors.first is Refused)
    }

    @Test func resetsAfterAHandlerThatFailsWithinItsResponse() throws {
        struct Refused: Error {}
        let server = try TestServer()
        server.route("/") { _, connection in
            try connection.run(.interim(103))
            try connection.send("HTTP/1.1 200 OK\r\n\r\npartial")
            throw Refused()
        }
        server.route("/interim") { _, connection in
            try connection.run(.interim(103))
            throw Refused()
        }
        let client = try Client(port: server.port)
        try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        let expected = "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\npartial"
        #expect(try client.receive(asLongAs: expected) == expected)
        let error = #expect(throws: Client.Failure.self) { try client.receive() }
        #expect(error?.number == ECONNRESET)
        #expect(try Client.exchange(server.port, "GET /interim").contains("HTTP/1.1 500 "))
        #expect(server.handlerErrors.count == 2)
    }

    @Test func letsAHandlerReadTheBodyAfterTheHead() throws {
        let server = try TestServer()
        server.route(
            "/",
            [
                .readHeadOnly,
                .handler { request, connection in
                    try connection.respond(headers: ["X": request.bodyText], body: try connection.readBody())
                    try connection.close()
                },
            ])
        let client = try Client(port: server.port)
        try client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
        #expect(try client.receiveAll() == "HTTP/1.1 200 OK\r\nX: \r\nContent-Length: 3\r\n\r\nabc")
    }

    @Test func givesHandlersAtLeast300KiBOfStack() throws {
        // A KiB for each level, and no more than sanitizers leave of 1 MiB.
        @Sendable func depth(_ levels: Int) -> Int {
            withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 16) { bytes in
                bytes[0] = 1
                return levels == 0 ? 0 : depth(levels - 1) + Int(bytes[0])
            }
        }
        let server = try TestServer()
        server.route("/") { _, connection in
            try connection.respond(body: Data("\(depth(300))".utf8))
        }
        #expect(try Client.exchange(server.port, "GET /").hasSuffix("\r\n300"))
    }

    /// RFC 9110 9.3.6: a success for CONNECT has no length, and what follows it is the tunnel.
    @Test func beginsATunnelDirectlyAfterTheHeadOfASuccess() throws {
        let server = try TestServer()
        server.route("CONNECT a.test:443", .text("not sent"))
        server.route("b.test:443", .status(403))
        server.route("GET /inside", .status(204))
        let client = try Client(port: server.port)
        try client.send("CONNECT a.test:443 HTTP/1.1\r\nHost: a\r\n\r\nGET /inside HTTP/1.1\r\nHost: a\r\n\r\n")
        let expected =
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"
        #expect(try client.receive(asLongAs: expected) == expected)
        #expect(try Client.exchange(server.port, "CONNECT b.test:443").hasSuffix("Content-Length: 0\r\n\r\n"))
    }

    #if compiler(>=6.2)
        /// It would end the text of the fields, and those behind it would be missing.
        @Test func refusesNULInHeaderFields() async {
            await #expect(processExitsWith: .failure) {
                _ = Script.status(200, headers: ["A": "b\0c", "D": "e"])
            }
        }
    #endif
}
