import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// What goes on the wire and what comes out, when all is well.
@Suite struct RequestRunTests {
    let server: TestServer

    init() throws {
        server = try TestServer()
    }

    // MARK: Sent

    @Test func fieldsHeadersAndQuery() async throws {
        let url = server.urlString("/people?x=y")
        let run = await swiftaf("post", url, "name=Ada", "born:=1815", "X-Trace:17", "page==2", "Accept:")
        #expect(run.exit == 0)
        let request = try #require(server.requests.first)
        #expect(request.method == "POST")
        #expect(request.target == "/people?x=y&page=2")
        #expect(request.bodyText == #"{"name":"Ada","born":1815}"#)
        #expect(request["Content-Type"] == "application/json")
        #expect(request["Content-Length"] == "26")
        #expect(request["X-Trace"] == "17")
        #expect(request["Accept"] == nil)
        #expect(request["User-Agent"]?.hasPrefix("swiftaf/") == true)
    }

    @Test func methodsAndRawData() async throws {
        #expect(await swiftaf("request", "pUrGe", server.urlString(), "-d", "raw").exit == 0)
        #expect(await swiftaf("delete", server.urlString()).exit == 0)
        #expect(await swiftaf("head", server.urlString()).text.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(server.requests.map(\.method) == ["pUrGe", "DELETE", "HEAD"])
        #expect(server.requests[0].bodyText == "raw")
        #expect(server.requests[0]["Content-Type"] == nil)
    }

    @Test func sendsContentLengthOfEmptyBodies() async throws {
        #expect(await swiftaf("post", server.urlString("/a b?ä")).exit == 0)
        #expect(await swiftaf("put", server.urlString(), "-d", "").exit == 0)
        #expect(await swiftaf("get", server.urlString()).exit == 0)
        #expect(server.requests.map { $0["Content-Length"] } == ["0", "0", nil])
        #expect(server.requests[0].target.uppercased() == "/A%20B?%C3%A4")
    }

    @Test func filesAreSentWithTheirLength() async throws {
        let file = try TemporaryFile(Data(repeating: 7, count: 300_000))
        let run = await swiftaf("put", server.urlString(), "-d", "@\(file.path)")
        #expect(run.exit == 0)
        let request = try #require(server.requests.first)
        #expect(request["Content-Length"] == "300000")
        #expect(request.body == file.content)
    }

    @Test func standardInputIsStreamedInChunks() async throws {
        let pipe = try InputPipe()
        let body = Data((0..<500_000).map { UInt8(truncatingIfNeeded: $0) })
        pipe.send(body)
        let run = await swiftaf("post", server.urlString(), "-d", "@-", input: pipe.reading)
        #expect(run.exit == 0)
        let request = try #require(server.requests.first)
        #expect(request["Transfer-Encoding"] == "chunked")
        #expect(request["Content-Length"] == nil)
        #expect(request.body == body)
    }

    @Test func userInfoBecomesCredentialsAndAppearsNowhere() async throws {
        server.route("/start", .redirect(to: "/end"))
        server.route("/start", times: 1, .status(401, headers: ["WWW-Authenticate": "Basic realm=\"x\""]))
        let url = "http://ada:s%33cret@127.0.0.1:\(server.port)/start"
        let run = await swiftaf("get", url, "--json", "-v", "--timings")
        #expect(run.exit == 0)
        let sent = "Basic YWRhOnMzY3JldA=="
        #expect(server.requests.map { $0["Authorization"] } == [nil, sent, sent])
        for secret in ["s3cret", "s%33cret", "ada"] {
            #expect(run.json["url"]?.string?.contains(secret) == false)
            #expect(run.json["redirects"]?.description.contains(secret) == false)
            #expect(!run.error.contains(secret))
        }
    }

    @Test func acceptsCompressedResponsesByDefault() async throws {
        #expect(await swiftaf("get", server.urlString()).exit == 0)
        #expect(await swiftaf("get", server.urlString(), "--no-compressed").exit == 0)
        #expect(server.requests[0]["Accept-Encoding"]?.contains("gzip") == true)
        #expect(server.requests[1]["Accept-Encoding"] == "identity")
    }

    // MARK: Printed

    @Test func bodiesArePrintedAsTheyCame() async throws {
        server.route("/", .json(#"{"a":[1,2]}"#))
        #expect(await swiftaf("get", server.urlString()).text == #"{"a":[1,2]}"#)
        let terminal = MemorySink(isTerminal: true)
        #expect(
            await swiftaf("get", server.urlString(), output: terminal).text == "{\n  \"a\": [\n    1,\n    2\n  ]\n}\n")
    }

    @Test func terminalsGetALineBreakAndBrokenJSONAsItIs() async throws {
        server.route("/text", .text("hello"))
        server.route("/broken", .json("{"))
        #expect(await swiftaf("get", server.urlString("/text")).text == "hello")
        #expect(await swiftaf("get", server.urlString("/text"), output: MemorySink(isTerminal: true)).text == "hello\n")
        #expect(await swiftaf("get", server.urlString("/broken"), output: MemorySink(isTerminal: true)).text == "{\n")
    }

    @Test func theWholeObject() async throws {
        server.route(
            "/",
            .respond(200, headers: ["Content-Type": "application/json", "X": "1", "x": "2"], body: Data("[1]".utf8)))
        let url = server.urlString("/")
        let run = await swiftaf("post", url, "-d", "four", "--json")
        #expect(run.exit == 0)
        #expect(run.error.isEmpty)
        var expected: JSONValue = [
            "ok": true, "status": 200, "version": "1.1", "url": .string(url),
            "headers": [["Content-Type", "application/json"], ["X", "1"], ["x", "2"], ["Content-Length", "3"]],
            "body": "[1]", "bodyBase64": nil, "bodyBytes": 3, "json": [1], "file": nil, "redirects": [],
            "timings": nil, "reused": false, "sent": 4, "received": 3, "error": nil,
        ]
        let timings = try #require(run.json["timings"]?.object)
        #expect(timings.keys == ["dns", "connect", "tls", "firstByte", "total"])
        #expect(timings["tls"] == .null)
        let times = ["dns", "connect", "firstByte", "total"].compactMap { timings[$0]?.double }
        #expect(times.count == 4 && times == times.sorted())
        expected["timings"] = run.json["timings"]
        #expect(run.json == expected)
        #expect(run.json.object?.keys == expected.object?.keys)
    }

    @Test func trailersAreAField() async throws {
        let folder = try TemporaryFolder()
        let pipe = folder.path + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let reader = open(pipe, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        for status in [200, 404] {
            server.route("/", .chunked(status, chunks: ["hi"], trailers: ["X-After": "1"]))
            for words in [[], ["-o", folder.path + "/file"], ["-o", pipe]] {
                let run = await swiftaf([server.urlString(), "--json"] + words)
                #expect(run.json["status"]?.integer == Int64(status))
                #expect(run.json["trailers"] == [["X-After", "1"]], "\(status) \(words)")
            }
        }
        server.route("/", .chunked(chunks: ["hi"]))
        #expect(await swiftaf(server.urlString(), "--json").json["trailers"] == nil)
    }

    @Test func bodiesThatAreNoText() async throws {
        server.route("/", .respond(200, body: Data([0xFF, 0x00])))
        let run = await swiftaf("get", server.urlString(), "--json")
        #expect(run.json["body"] == .null)
        #expect(run.json["bodyBase64"] == "/wA=")
        #expect(run.json["bodyBytes"] == 2)
    }

    @Test func redirectsAreListed() async throws {
        server.route("/1", .redirect(to: "/2", status: 301))
        server.route("/2", .redirect(to: "/3"))
        server.route("/3", .text("end"))
        let run = await swiftaf("get", server.urlString("/1"), "--json")
        #expect(run.json["url"]?.string == server.urlString("/3"))
        #expect(
            run.json["redirects"] == [
                ["status": 301, "url": .string(server.urlString("/1")), "location": "/2"],
                ["status": 302, "url": .string(server.urlString("/2")), "location": "/3"],
            ])
    }

    @Test func withoutRedirectsThe3xxIsTheAnswer() async throws {
        server.route("/", .redirect(to: "/2"))
        let run = await swiftaf("get", server.urlString(), "--json", "--no-redirects")
        #expect(run.exit == 0)
        #expect(run.json["status"] == 302)
        #expect(run.json["redirects"] == [])
        #expect(server.requests.count == 1)
    }

    @Test func headsWithoutCredentials() async throws {
        server.route("/a", .respond(302, headers: ["Location": "/b", "Set-Cookie": "s3cret=1"]))
        server.route("/b", .respond(200, headers: ["X-Served-By": "b"], body: Data("body".utf8)))
        let run = await swiftaf("get", server.urlString("/a"), "-v", "Cookie:s3cret", "--bearer", "s3cret")
        #expect(run.text == "body")
        #expect(!run.error.contains("s3cret"))
        let lines = run.error.split(separator: "\n").map(String.init)
        for line in [
            "> GET /a HTTP/1.1", "> Host: 127.0.0.1:\(server.port)", "> Cookie: <hidden>", "> Authorization: <hidden>",
            "< HTTP/1.1 302 Found", "< Set-Cookie: <hidden>", "< Location: /b", "> GET /b HTTP/1.1",
            "< HTTP/1.1 200 OK",
            "< X-Served-By: b",
        ] {
            #expect(lines.contains(line), "\(line)")
        }
    }

    @Test func timingsOfEachHop() async throws {
        server.route("/a", .redirect(to: "/b"))
        let run = await swiftaf("get", server.urlString("/a"), "--timings", "-o", "/dev/null")
        let lines = run.error.split(separator: "\n")
        #expect(lines.count == 4)
        #expect(lines.first == "302 \(server.urlString("/a"))")
        #expect(lines.last?.hasSuffix("connection reused") == true)
    }

    // MARK: Files

    @Test func filesGetTheBody() async throws {
        server.route("/", .json("[1]"))
        let file = try TemporaryFile("before")
        let run = await swiftaf("get", server.urlString(), "-o", file.path, "--json")
        #expect(run.exit == 0)
        #expect(file.content == Data("[1]".utf8))
        #expect(run.json["file"]?.string == file.path)
        #expect(run.json["body"] == .null && run.json["json"] == .null)
        #expect(run.json["bodyBytes"] == 3)
        #expect(file.names == ["file"])
    }

    @Test(arguments: [
        Script.text("no", status: 404), .redirect(to: "/", status: 304), .truncated(body: Data("x".utf8), promising: 9),
    ])
    func filesGetNothingElse(script: Script) async throws {
        server.route("/", script)
        let file = try TemporaryFile("before")
        #expect(await swiftaf("get", server.urlString(), "-o", file.path).exit != 0)
        #expect(file.content == Data("before".utf8))
        #expect(file.names == ["file"])
        let free = try TemporaryFile()
        let run = await swiftaf("get", server.urlString(), "-o", free.path, "--json")
        #expect(run.json["file"] == .null && run.json["body"] == .null)
        #expect(free.names == [])
    }

    // MARK: Archives

    @Test func archivesHideCredentialsInURLsOfFields() async throws {
        let fields: Script.Headers = [
            "Content-Location": "http://u:s3cret@h/a", "Refresh": "5; url=http://u:s3cret@h/b",
            "Link": "<http://u:s3cret@h/c>; rel=next, <http://u:s3cret@h/d>", "Location": "//u:s3cret@h/e",
        ]
        server.route("/", .respond(200, headers: fields))
        let file = try TemporaryFile()
        #expect(await swiftaf("get", server.urlString(), "--har", file.path, "Referer:http://u:s3cret@h/f").exit == 0)
        let archive = String(decoding: try #require(file.content), as: UTF8.self)
        #expect(!archive.contains("s3cret"))
        for name in ["a", "b", "c", "d", "e", "f"] { #expect(archive.contains("//h/\(name)")) }
    }

    // MARK: Progress

    @Test func longTransfersShowABar() async throws {
        server.route(
            "/",
            [.respond(200, headers: ["Content-Length": "6"], body: Data("abc".utf8)), .stall(at: "bar"), .send("def")])
        // The rest comes only when the half of it is drawn.
        let terminal = MemorySink(isTerminal: true) { [server] text in
            if text.hasPrefix("\r 50% [") { server.open("bar") }
        }
        let run = await swiftaf("get", server.urlString(), error: terminal)
        #expect(run.text == "abcdef")
        #expect(run.error.hasPrefix("\r"))
        #expect(run.error.contains("\r 50% ["))
        #expect(run.error.hasSuffix("\r\u{1B}[K"))
    }

    @Test func quietMeansNoBar() async throws {
        server.route("/", [.pause(.milliseconds(700)), .text("late")])
        let run = await swiftaf("get", server.urlString(), "-q", error: MemorySink(isTerminal: true))
        #expect(run.text == "late")
        #expect(run.error.isEmpty)
    }
}
