import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// What is printed to standard output, and when.
@Suite struct StreamingOutputTests {
    let server: TestServer

    init() throws {
        server = try TestServer()
    }

    @Test(arguments: [false, true])
    func piecesArePrintedWhenTheyArrive(isTerminal: Bool) async throws {
        server.route(
            "/",
            [
                .respond(200, headers: ["Content-Length": "10"], body: Data("first\n".utf8)), .stall(at: "rest"),
                .send("rest"),
            ])
        // The rest is sent only once the first piece was printed.
        let output = MemorySink(isTerminal: isTerminal) { [server] text in
            if text == "first\n" { server.open("rest") }
        }
        let run = await swiftaf("get", server.urlString(), output: output)
        #expect(run.exit == 0)
        #expect(run.text == (isTerminal ? "first\nrest\n" : "first\nrest"))
    }

    @Test func whatCameBeforeAFailureStaysPrinted() async throws {
        server.route("/", [.respond(200, headers: ["Content-Length": "9"], body: Data("first".utf8)), .close])
        let run = await swiftaf("get", server.urlString())
        #expect(run.exit == 3 && run.text == "first")
        #expect(run.error.contains("swiftaf:"))
    }

    @Test func bodiesBeyondTheLimitInMemoryArePrinted() async throws {
        let size = 65 << 20
        server.route("/", .respond(200, body: Data(count: size)))
        let run = await swiftaf("get", server.urlString())
        #expect(run.exit == 0 && run.output.count == size)
        let limited = await swiftaf("get", server.urlString(), "--max-body", "1M")
        #expect(limited.exit == 6 && limited.output.isEmpty)
    }

    @Test func aClosedOutputEndsTheTransfer() async throws {
        server.route("/", .respond(200, body: Data(count: 1 << 20)))
        let run = await swiftaf("get", server.urlString(), output: MemorySink(failure: 32))
        #expect(run.exit == 8 && run.error.contains("standard output"))
    }

    @Test func binaryBodiesAreNotPrintedOnATerminal() async throws {
        server.route("/", .respond(200, headers: ["Content-Type": "image/png"], body: Data([0x89, 0x50, 0, 1])))
        let run = await swiftaf("get", server.urlString(), output: MemorySink(isTerminal: true))
        #expect(run.exit == 0 && run.output.isEmpty && run.error.contains("-o PATH"))
        #expect(await swiftaf("get", server.urlString()).output == Data([0x89, 0x50, 0, 1]))
        #expect(await swiftaf("get", server.urlString(), "-o", "-").output == Data([0x89, 0x50, 0, 1]))
    }

    @Test func textIsShownInItsCharset() async throws {
        let body = Data([0x67, 0x72, 0xFC, 0x6E])
        server.route("/", .respond(200, headers: ["Content-Type": "text/plain; charset=iso-8859-1"], body: body))
        #expect(await swiftaf("get", server.urlString(), output: MemorySink(isTerminal: true)).text == "gr\u{FC}n\n")
        #expect(await swiftaf("get", server.urlString()).output == body)
    }

    @Test(arguments: ["iso-8859-1", "windows-1252", "iso-8859-15", "gb18030"])
    func linesInACharsetAppearAtOnce(charset: String) async throws {
        let isWestern = charset != "gb18030"
        let (bytes, line) = (Data(isWestern ? [0x67, 0xFC, 0x0A] : [0xC4, 0xE3, 0x0A]), isWestern ? "gü\n" : "你\n")
        server.route(
            "/",
            [
                .respond(
                    200, headers: ["Content-Type": "text/plain; charset=\(charset)", "Content-Length": "8"],
                    body: bytes + bytes.prefix(1)), .stall(at: "rest"), .send(bytes.dropFirst() + bytes.prefix(2)),
            ])
        // The rest is sent only once the first line was printed.
        let output = MemorySink(isTerminal: true) { [server] text in
            if text == line { server.open("rest") }
        }
        let run = await swiftaf("get", server.urlString(), output: output)
        #expect(run.exit == 0 && run.text == line + line + line)
    }

    @Test func longTextIsConvertedToItsEnd() async throws {
        let block = Data((0..<1 << 20).map { $0 % 2 == 0 ? 0xFC : 0x0A })
        server.route(
            "/", .respond(200, headers: ["Content-Type": "text/plain; charset=iso-8859-1"], repeating: block, count: 9))
        let run = await swiftaf("get", server.urlString(), output: MemorySink(isTerminal: true))
        #expect(run.exit == 0 && run.output.count == 9 * block.count / 2 * 3)
    }

    private static let wide: [(String, [UInt8])] = [
        ("utf-16", [0xFF, 0xFE, 0x67, 0, 0x0A, 0, 0xFC, 0]), ("UTF-16", [0, 0x67, 0, 0x0A, 0, 0xFC]),
        ("utf-16le", [0x67, 0, 0x0A, 0, 0xFC, 0]), ("utf-16be", [0, 0x67, 0, 0x0A, 0, 0xFC]),
        ("utf-32le", [0x67, 0, 0, 0, 0x0A, 0, 0, 0, 0xFC, 0, 0, 0]),
        ("utf-32", [0, 0, 0, 0x67, 0, 0, 0, 0x0A, 0, 0, 0, 0xFC]),
        ("", [0xFF, 0xFE, 0x67, 0, 0x0A, 0, 0xFC, 0]), ("", [0xFE, 0xFF, 0, 0x67, 0, 0x0A, 0, 0xFC]),
        ("", [0xFF, 0xFE, 0, 0, 0x67, 0, 0, 0, 0x0A, 0, 0, 0, 0xFC, 0, 0, 0]),
        ("", [0, 0, 0xFE, 0xFF, 0, 0, 0, 0x67, 0, 0, 0, 0x0A, 0, 0, 0, 0xFC]),
    ]

    @Test(arguments: wide) func textOfWideUnitsIsShown(charset: String, bytes: [UInt8]) async throws {
        let type = "text/plain" + (charset.isEmpty ? "" : "; charset=\(charset)")
        server.route("/", .respond(200, headers: ["Content-Type": type], body: Data(bytes)))
        let run = await swiftaf("get", server.urlString(), output: MemorySink(isTerminal: true))
        #expect(run.exit == 0 && run.text == "g\n\u{FC}\n" && run.error.isEmpty)
        let retried = await swiftaf("get", server.urlString(), "--retry", "1", output: MemorySink(isTerminal: true))
        #expect(retried.text == "g\n\u{FC}\n")
        #expect(await swiftaf("get", server.urlString()).output == Data(bytes))
        #expect(await swiftaf("get", server.urlString(), "-o", "-").output == Data(bytes))
    }

    @Test func jsonOfWideUnitsIsShownInLines() async throws {
        let body = "[1]".utf8.flatMap { (unit: UInt8) -> [UInt8] in [unit, 0] }
        let type = "application/json; charset=utf-16le"
        server.route("/", .respond(200, headers: ["Content-Type": type], body: Data(body)))
        let run = await swiftaf("get", server.urlString(), output: MemorySink(isTerminal: true))
        #expect(run.exit == 0 && run.text == "[\n  1\n]\n")
    }

    @Test(
        arguments: [
            ("text/plain; charset=utf-16le", [0x67, 0, 0x67]), ("text/plain; charset=utf-16le", [0, 0xD8]),
            ("text/plain; charset=utf-16le", [0x67, 0, 0, 0]),
            ("text/plain; charset=iso-8859-1", [0xFF, 0xFE, 0x67, 0]),
            ("text/plain", [0x67, 0xFF, 0xFE, 0x67, 0]), ("application/octet-stream", [0xFF, 0xFE, 0, 0xD8, 0, 0]),
        ] as [(String, [UInt8])])
    func whatIsNoTextOfWideUnitsIsBinary(type: String, bytes: [UInt8]) async throws {
        server.route("/", .respond(200, headers: ["Content-Type": type], body: Data(bytes)))
        let run = await swiftaf("get", server.urlString(), output: MemorySink(isTerminal: true))
        #expect(run.exit == 0 && run.output.isEmpty && run.error.contains("-o PATH"))
    }

    // MARK: Parts

    @Test(arguments: [["get", "-i"], ["get", "--print", "hb"], ["options"]])
    func headsArePrintedOnRequest(arguments: [String]) async throws {
        server.route("/", .respond(200, headers: ["X": "1"], body: Data("body".utf8)))
        let run = await swiftaf(arguments + [server.urlString()])
        #expect(run.text == "HTTP/1.1 200 OK\r\nX: 1\r\nContent-Length: 4\r\n\r\nbody")
    }

    @Test(arguments: [["head"], ["-I"]])
    func headPrintsTheHead(arguments: [String]) async throws {
        server.route("/", .respond(404, headers: ["X": "1"]))
        let run = await swiftaf(arguments + [server.urlString()])
        #expect(run.exit == 2 && run.text.hasPrefix("HTTP/1.1 404 Not Found\r\nX: 1\r\n"))
    }

    @Test func requestsAndMetricsCanBePrinted() async throws {
        server.route("/", .text("answer"))
        let run = await swiftaf("post", server.urlString(), "a=b", "--bearer", "s3cret", "--print", "HBbm")
        #expect(run.text.hasPrefix("POST / HTTP/1.1\r\n"))
        #expect(run.text.contains("\r\n\r\n{\"a\":\"b\"}\n\nanswer"))
        #expect(run.text.contains("first byte"))
        #expect(!run.text.contains("s3cret"))
        #expect(await swiftaf("get", server.urlString(), "--print", "h").text.hasSuffix("\r\n\r\n"))
    }

    @Test func terminalsHaveColoursUnlessTheyAreUnwanted() async throws {
        server.route("/", .json(#"{"a":"b"}"#))
        let colours = ["NO_COLOR": "", "TERM": "xterm"]
        let shown = await swiftaf("get", server.urlString(), output: MemorySink(isTerminal: true), environment: colours)
        #expect(shown.text == "{\n  \u{1B}[36m\"a\"\u{1B}[0m: \u{1B}[32m\"b\"\u{1B}[0m\n}\n")
        #expect(await swiftaf("get", server.urlString(), environment: colours).text == #"{"a":"b"}"#)
        let failed = await swiftaf(
            "get", "nowhere", error: MemorySink(isTerminal: true), environment: colours)
        #expect(failed.error.hasPrefix("\u{1B}[31mswiftaf:\u{1B}[0m "))
    }

    @Test func silentRunsPrintNoError() async throws {
        server.route("/", .respond(404))
        #expect(await swiftaf("get", server.urlString(), "-s").error.isEmpty)
        // But for an option that doesn't exist, as with curl.
        #expect(await swiftaf("get", server.urlString(), "-s", "--nosuch").error.contains("--nosuch"))
        #expect(await swiftaf("get", server.urlString(), "-sS").error.contains("404"))
    }

    @Test func acceptedStatusesAreASuccess() async throws {
        server.route("/", .respond(404, body: Data("gone".utf8)))
        let run = await swiftaf("get", server.urlString(), "--accept-status", "304,4xx")
        #expect(run.exit == 0 && run.text == "gone")
        #expect(await swiftaf("get", server.urlString(), "--accept-status", "304").exit == 2)
    }
}

/// What is printed beside a body that goes into a file.
@Suite struct PartsBesideAFileTests {
    private let server: TestServer
    private let folder: TemporaryFolder
    private var file: String { folder.path + "/name" }

    init() throws {
        server = try TestServer()
        folder = try TemporaryFolder()
        server.route("/name", .respond(200, headers: ["X-A": "b"], body: Data("body".utf8)))
    }

    @Test(arguments: [
        ["-i", "-o", "FILE"], ["--print", "h", "-o", "FILE"], ["-i", "-P", "DIR"], ["-i", "-O", "-P", "DIR"],
    ])
    func headsArePrinted(words: [String]) async {
        let words = words.map { $0 == "FILE" ? file : $0 == "DIR" ? folder.path : $0 }
        let run = await swiftaf([server.urlString("/name")] + words)
        #expect(run.exit == 0 && run.text.hasPrefix("HTTP/1.1 200 OK\r\n") && run.text.hasSuffix("\r\n\r\n"))
        #expect(run.text.contains("X-A: b\r\n") && !run.text.contains("body"))
        #expect(folder.content(of: "name") == "body")
    }

    @Test func requestsAndMetricsArePrinted() async {
        let run = await swiftaf(server.urlString("/name"), "-d", "sent", "--print", "HBhbm", "-o", file)
        #expect(run.exit == 0 && run.text.hasPrefix("POST /name HTTP/1.1\r\n"))
        #expect(run.text.contains("\r\n\r\nsent\n\nHTTP/1.1 200 OK\r\n") && run.text.contains(" ms"))
        #expect(folder.content(of: "name") == "body")
        let bodies = await swiftaf(server.urlString("/name"), "-d", "sent", "--print", "Bb", "-o", file)
        #expect(bodies.text == "sent\n" && folder.content(of: "name") == "body")
    }

    @Test func headsOfRefusedResponsesArePrinted() async {
        server.route("/none", .respond(404, headers: ["X-A": "b"], body: Data("body".utf8)))
        let run = await swiftaf(server.urlString("/none"), "-i", "-o", file)
        #expect(run.exit == 2 && run.text.hasPrefix("HTTP/1.1 404") && !run.text.contains("body"))
        #expect(folder.names.isEmpty)
    }

    @Test func bodiesOfRequestsArePrinted() async throws {
        server.route("/", .text("done"))
        let file = try TemporaryFile("from a file")
        let words = ["post", server.urlString(), "-p", "Bb"]
        #expect(await swiftaf(words + ["-d", "@\(file.path)"]).text == "from a file\n\ndone")
        let form = await swiftaf(words + ["--multipart", "a=1", "f@\(file.path)"])
        #expect(form.text.contains("name=\"a\"\r\n\r\n1\r\n--") && form.text.contains("\r\n\r\nfrom a file\r\n--"))
        #expect(
            form.text.hasSuffix("--\r\n\ndone") && server.requests.last.map { form.text.hasPrefix($0.bodyText) } == true
        )
        let upload = await swiftaf("upload", server.urlString(), "-F", "a=1", "-p", "B")
        #expect(upload.exit == 0 && upload.text.contains("name=\"a\""))
        let binary = try TemporaryFile(Data([0x61, 0, 0x62]))
        let shown = await swiftaf(words + ["-d", "@\(binary.path)"], output: MemorySink(isTerminal: true))
        #expect(shown.text == "[a binary body]\n\ndone\n")
    }

    @Test func optionsThatMeanSomethingAreTaken() async throws {
        server.route("/a", .text("content"))
        let folder = try TemporaryFolder()
        let pipe = try InputPipe()
        let words = ["download", server.urlString("/a"), "-P", folder.path, "--ignore-stdin"]
        let head = await swiftaf(words + ["-i"], input: pipe.reading)
        #expect(head.exit == 0 && head.text.hasPrefix("HTTP/1.1 200 OK\r\n") && folder.content(of: "a") == "content")
        #expect(await swiftaf(words + ["-p", "h"], input: pipe.reading).text == head.text)
        let upload = await swiftaf("upload", server.urlString("/a"), "-i", "a=1")
        #expect(upload.text.hasPrefix("HTTP/1.1 200 OK\r\n") && upload.text.hasSuffix("content"))
        withExtendedLifetime(pipe) {}
    }

    @Test func aPipeGetsTheBodyOnly() async throws {
        #expect(mkfifo(file, 0o600) == 0)
        let reader = open(file, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let run = await swiftaf(server.urlString("/name"), "-i", "-o", file)
        #expect(run.exit == 0 && run.text.hasPrefix("HTTP/1.1 200 OK\r\n") && !run.text.contains("body"))
        var bytes = [UInt8](repeating: 0, count: 100)
        #expect(read(reader, &bytes, bytes.count) == 4)
    }

    @Test(arguments: [["-I"], ["head"], ["HEAD"]])
    func theHeadIsTheContentOfAHeadRequest(words: [String]) async {
        folder.write(
            "old and longer than the head, or so it should be: " + String(repeating: "x", count: 500), to: "name")
        let run = await swiftaf(words + [server.urlString("/name"), "-o", file])
        #expect(run.exit == 0 && run.text.isEmpty)
        let head = folder.content(of: "name")
        #expect(head?.hasPrefix("HTTP/1.1 200 OK\r\n") == true && head?.hasSuffix("\r\n\r\n") == true)
        #expect(head?.contains("X-A: b\r\n") == true)
        // What is asked for besides goes to standard output, as ever.
        for (option, isPrinted) in [(["-i"], true), (["-p", "h"], true), (["-p", "b"], false), (["--json"], false)] {
            #expect(unlink(file) == 0)
            let run = await swiftaf(words + [server.urlString("/name"), "-o", file] + option)
            #expect(run.exit == 0 && run.text.hasPrefix("HTTP/1.1 200 OK\r\n") == isPrinted)
            #expect(folder.content(of: "name") == head)
        }
        let checked = await swiftaf(words + [server.urlString("/name"), "-o", file, "--timestamps"])
        #expect(checked.exit == 1 && checked.error.contains("HEAD or -I saves the head only"))
    }

    @Test(arguments: [["-I", "-X", "POST"], ["-X", "POST", "-I", "a=b"], ["-I", "-T", "/dev/null"]])
    func theHeadIsTheContentOfAnotherMethodWithTheOptionOfHeads(words: [String]) async {
        let run = await swiftaf([server.urlString("/name"), "-o", file] + words)
        #expect(run.exit == 0 && run.text.isEmpty)
        #expect(server.requests.last?.method == (words.contains("-X") ? "POST" : "PUT"))
        let head = folder.content(of: "name")
        #expect(head?.hasPrefix("HTTP/1.1 200 OK\r\n") == true && head?.hasSuffix("\r\n\r\n") == true)
        let json = await swiftaf([server.urlString("/name"), "-o", file, "--json"] + words)
        #expect(json.json["file"]?.string == file && json.json["body"] == .null && folder.content(of: "name") == head)
        // A part that was asked for goes to standard output, and the body to the file.
        let printed = await swiftaf([server.urlString("/name"), "-o", file, "--print", "h"] + words)
        #expect(printed.text.hasPrefix("HTTP/1.1 200 OK\r\n") && folder.content(of: "name") == "body")
        #expect(await swiftaf([server.urlString("/name"), "-o", file, "--timestamps"] + words).exit == 1)
    }

    @Test func aPipeGetsTheHeadOfAnotherMethodWithTheOptionOfHeads() async throws {
        #expect(mkfifo(file, 0o600) == 0)
        let reader = open(file, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let run = await swiftaf(server.urlString("/name"), "-I", "-X", "POST", "-o", file)
        var bytes = [UInt8](repeating: 0, count: 1000)
        let count = read(reader, &bytes, bytes.count)
        let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        #expect(run.exit == 0 && run.text.isEmpty && text.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(text.hasSuffix("\r\n\r\n"))
    }

    @Test func severalURLsHaveNoHeads() async {
        let run = await swiftaf("-i", "-O", server.urlString("/name"), server.urlString("/other"), "-P", folder.path)
        #expect(run.exit == 1 && run.error.contains("--include and --print") && server.requests.isEmpty)
    }
}

/// Options and items that people know from curl and HTTPie.
@Suite struct HabitTests {
    let server: TestServer

    init() throws {
        server = try TestServer()
    }

    @Test func curlsShortOptions() async throws {
        let run = await swiftaf(
            server.urlString("/p"), "-sSLk", "-H", "X-One: 1", "-H", "X-Empty;", "-H", "Accept:", "-A", "agent/1", "-e",
            "http://from/",
            "-b", "a=1; b=2", "-X", "PUT", "-d", "body", "-m", "20")
        #expect(run.exit == 0)
        let request = try #require(server.requests.first)
        #expect(request.method == "PUT" && request.bodyText == "body")
        #expect(request["X-One"] == "1" && request["X-Empty"] == "" && request["Accept"] == nil)
        #expect(request["User-Agent"] == "agent/1" && request["Referer"] == "http://from/")
        #expect(request["Cookie"] == "a=1; b=2")
    }

    @Test func methodFollowsFromTheBody() async throws {
        #expect(await swiftaf(server.urlString()).exit == 0)
        #expect(await swiftaf(server.urlString(), "-d", "x").exit == 0)
        #expect(await swiftaf(server.urlString(), "a=b", "list[]:=1").exit == 0)
        #expect(await swiftaf(server.urlString(), "-F", "a=b").exit == 0)
        #expect(server.requests.map(\.method) == ["GET", "POST", "POST", "POST"])
        #expect(server.requests[2].bodyText == #"{"a":"b","list":[1]}"#)
        #expect(server.requests[3]["Content-Type"]?.hasPrefix("multipart/form-data") == true)
    }

    @Test(arguments: ["PROPFIND", "REPORT", "QUERY", "GET", "HEAD", "DELETE", "OPTIONS", "TRACE"])
    func standardInputIsTheBodyByMethod(method: String) async throws {
        let pipe = try InputPipe()
        pipe.send(Data("<x/>".utf8))
        #expect(await swiftaf("request", method, server.urlString(), input: pipe.reading).exit == 0)
        let takesBody = ["PROPFIND", "REPORT", "QUERY"].contains(method)
        #expect(server.requests.last?.bodyText == (takesBody ? "<x/>" : ""))
    }

    @Test func standardInputIsTheBody() async throws {
        let pipe = try InputPipe()
        pipe.send(Data("from a pipe".utf8))
        var wait = pollfd(fd: pipe.reading, events: Int16(POLLIN), revents: 0)
        #expect(poll(&wait, 1, -1) == 1)
        #expect(await swiftaf(server.urlString(), input: pipe.reading).exit == 0)
        #expect(server.requests.last?.method == "POST" && server.requests.last?.bodyText == "from a pipe")
        let ignored = try InputPipe()
        ignored.send(Data("from a pipe".utf8))
        #expect(await swiftaf("post", server.urlString(), "--ignore-stdin", input: ignored.reading).exit == 0)
        #expect(server.requests.last?.bodyText == "")
        let read = try InputPipe()
        read.send(Data("from a pipe".utf8))
        #expect(await swiftaf("get", server.urlString(), input: read.reading).exit == 0)
        #expect(server.requests.last?.method == "GET" && server.requests.last?.bodyText == "")
    }

    @Test func valuesComeFromFiles() async throws {
        let file = try TemporaryFile("[1, 2]\n")
        let run = await swiftaf(
            "post", server.urlString(), "json:=@\(file.path)", "query==@\(file.path)", "X-File:@\(file.path)")
        #expect(run.exit == 0)
        let request = try #require(server.requests.first)
        #expect(request.bodyText.hasPrefix(#"{"json":[1, 2]"#))
        #expect(request["X-File"] == "[1, 2]")
        #expect(request.target.hasPrefix("/?query=%5B1"))
    }

    @Test func secretsComeFromFilesAndVariables() async throws {
        let file = try TemporaryFile("tok3n\n")
        #expect(await swiftaf("get", server.urlString(), "--bearer", "@\(file.path)").exit == 0)
        #expect(
            await swiftaf("get", server.urlString(), "--bearer", "env:TOKEN", environment: ["TOKEN": "t"]).exit == 0)
        #expect(server.requests.map { $0["Authorization"] } == ["Bearer tok3n", "Bearer t"])
        let missing = await swiftaf("get", server.urlString(), "--bearer", "env:SWIFTAF_NO_SUCH")
        #expect(missing.exit == 1 && missing.error.contains("SWIFTAF_NO_SUCH"))
    }

    /// A pipe can be read once, and has to be read for all.
    @Test(
        .enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"),
        arguments: [
            (["--bearer", "@IN"], "tok3n", "Bearer tok3n"),
            (["--user", "@IN", "--auth", "basic"], "a:b", "Basic YTpi"),
            (["--netrc=IN", "--auth", "basic"], "machine 127.0.0.1 login a password b", "Basic YTpi"),
            (["Authorization:@IN"], "own", "own"),
        ])
    func secretsFromAPipeAreForAllDownloads(words: [String], content: String, sent: String) async throws {
        let folder = try TemporaryFolder()
        for name in ["/a", "/b", "/c"] { server.route(name, .text("text")) }
        let options = words.map { RawText($0.replacing("IN", with: "/dev/stdin")) }
        let urls = ["/a", "/b", "/c"].map { RawText(server.urlString($0)) }
        // The shell makes a pipe of it, in place of the file that standard input is.
        let run = try await Launch(
            ["download", "-P", RawText(folder.path)] + urls + options,
            shell: "exec <<'E'\n\(content)\nE\n[ -p /dev/stdin ] || exit 99"
        ).end()
        #expect(run.exit == 0)
        #expect(server.requests.map { $0["Authorization"] } == [sent, sent, sent])
    }

    @Test func netrcNamesTheCredentials() async throws {
        let file = try TemporaryFile("machine 127.0.0.1 login ada password pw")
        let run = await swiftaf("get", server.urlString(), "--netrc=\(file.path)", "--auth", "basic")
        #expect(run.exit == 0)
        #expect(server.requests.first?["Authorization"] == "Basic YWRhOnB3")
    }

    @Test func secretsOfArgumentsAreFound() {
        let arguments = [
            "get", "http://u:p@h/", "--user", "a:b", "--bearer=tok", "-uc:d", "--timeout", "1", "-E", "p:w",
        ]
        let secrets = ArgumentParser.parse(arguments).secrets
        #expect(
            secrets == [
                SecretPlace(argument: 1, offset: 7), SecretPlace(argument: 3, offset: 0),
                SecretPlace(argument: 4, offset: 9),
                SecretPlace(argument: 5, offset: 2), SecretPlace(argument: 9, offset: 0),
            ])
    }

    @Test(arguments: [
        (["-x", "http://u:p@h:1"], 7), (["--proxy=u:p@h:1"], 8), (["-xsocks5://u@h"], 11),
        (["-e", "http://u:p@h/"], 7),
        (["--doh", "https://u:p@h/"], 8), (["-H", "Authorization: Bearer x"], 14), (["--header=COOKIE: a=b"], 16),
        (["-H", "Proxy-Authorization: x"], 20), (["Authorization:Bearer x"], 14), (["cookie:a=b"], 7),
        (["proxy-authorization:x"], 20), (["Referer:http://u:p@h/"], 15), (["--", "http://u:p@h/"], 7),
        (["--", "Cookie:a"], 7), (["-x", "http://h:1"], nil), (["-e", "http://h/?a@b"], nil), (["-H", "X-A: x"], nil),
        (["u:p@myserver"], 0), (["get", "u:p@myserver"], 0), (["https:/u:p@h/"], 0), (["--", "u:p@myserver"], 0),
        (["-H", "Authorization:"], nil), (["X-Cookie:a"], nil), (["name@path"], nil), (["h/?u=http://a@b"], nil),
    ])
    func secretsOfFieldsAndURLsAreFound(arguments: [String], offset: Int?) {
        let places = offset.map { [SecretPlace(argument: arguments.count - 1, offset: $0)] }
        #expect(ArgumentParser.parse(arguments).secrets == places ?? [])
    }

    @Test func cookiesAreKeptInAFile() async throws {
        server.route("/set", .respond(200, headers: ["Set-Cookie": "a=1; Max-Age=1000"]))
        let file = try TemporaryFile()
        #expect(await swiftaf("get", server.urlString("/set"), "--cookies", file.path).exit == 0)
        #expect(await swiftaf("get", server.urlString("/"), "--cookies", file.path).exit == 0)
        #expect(await swiftaf("get", server.urlString("/"), "-b", file.path).exit == 0)
        #expect(server.requests.map { $0["Cookie"] } == [nil, "a=1", "a=1"])
    }

    @Test(arguments: [["-b", ""], ["-b", "/dev/null"], ["--cookies", "/dev/null"]])
    func cookiesAreKeptForRedirectsWithAnEmptyJar(words: [String]) async {
        server.route("/set", .respond(302, headers: ["Set-Cookie": "a=1", "Location": "/"]))
        #expect(await swiftaf(["get", server.urlString("/set")] + words).exit == 0)
        #expect(server.requests.map { $0["Cookie"] } == [nil, "a=1"])
    }

    @Test func theNameOfAJarCanBeAnyBytes() async throws {
        server.route("/set", .respond(200, headers: ["Set-Cookie": "a=1"]))
        let folder = try TemporaryFolder()
        for path in ["/set", "/"] {
            let words = [RawText(server.urlString(path)), "--cookies", folder.path(RawText([0x6A, 0xFF]))]
            let console = Console(input: -1, output: MemorySink(), error: MemorySink())
            #expect(await Runner(console: console).run(words) == .success)
        }
        #expect(server.requests.map { $0["Cookie"] } == [nil, "a=1"])
    }

    @Test(arguments: ["-b", "--cookies"]) func refusesFolderAsAJarBeforeAnythingIsSent(option: String) async throws {
        let folder = try TemporaryFolder()
        let run = await swiftaf("get", server.urlString(), option, folder.path, "--json")
        #expect(run.exit == 1 && run.code == "invalidInput" && server.requests.isEmpty)
    }

    @Test func cookiesAreSentInOneField() async throws {
        let run = await swiftaf("get", server.urlString(), "-b", "a=1; ", "-b", "b=2;c=3", "-b", "d=4")
        #expect(run.exit == 0)
        #expect(await swiftaf("get", server.urlString(), "Cookie:b=2", "-b", "c=3", "Cookie:d=4").exit == 0)
        #expect(await swiftaf("get", server.urlString(), "-b", "a=1", "Cookie:b=2").exit == 0)
        let sent = server.requests.map { $0.headers.filter { $0.name.lowercased() == "cookie" }.map(\.value) }
        #expect(sent == [["a=1; b=2;c=3; d=4"], ["b=2; d=4; c=3"], ["b=2; a=1"]])
    }

    @Test(arguments: [
        ["-b", "given=2", "-b", "JAR"], ["-b", "JAR", "-b", "given=2"], ["--cookies", "JAR", "-b", "given=2"],
        ["--cookies", "JAR", "Cookie:given=2"], ["-b", "JAR", "-H", "Cookie: given=2"],
    ])
    func cookiesAreSentBesideThoseOfAJar(words: [String]) async throws {
        let jar = "127.0.0.1\tFALSE\t/\tFALSE\t0\tkept\t1\n127.0.0.1\tFALSE\t/\tFALSE\t0\tgiven\t1\n"
        let file = try TemporaryFile(jar + "a.example\tFALSE\t/\tFALSE\t0\tother\t1\n")
        let words = words.map { $0 == "JAR" ? file.path : $0 }
        #expect(await swiftaf([server.urlString()] + words).exit == 0)
        #expect(server.requests.last?["Cookie"] == "given=2; kept=1")
        #expect(await swiftaf(["download", server.urlString("/name"), "-o", file.folder + "/name"] + words).exit == 0)
        #expect(server.requests.last?["Cookie"] == "given=2; kept=1")
    }

    @Test func aJarIsAskedAgainAfterARedirect() async throws {
        server.route("/a", .respond(302, headers: ["Location": "/b", "Set-Cookie": "new=1"]))
        let file = try TemporaryFile()
        #expect(await swiftaf("get", server.urlString("/a"), "--cookies", file.path, "-b", "given=2").exit == 0)
        #expect(server.requests.map { $0["Cookie"] } == ["given=2", "given=2; new=1"])
        let other = server.urlString("/b").replacing("127.0.0.1", with: "localhost")
        server.route("/a", .respond(302, headers: ["Location": other]))
        #expect(await swiftaf("get", server.urlString("/a"), "--cookies", file.path, "-b", "given=2").exit == 0)
        #expect(server.requests.suffix(2).map { $0["Cookie"] } == ["given=2; new=1", nil])
    }

    @Test func namesAndSocketsAreOverridden() async throws {
        let port = server.port
        let run = await swiftaf(
            "get", "http://api.example:\(port)/", "--resolve", "api.example:\(port):127.0.0.1", "--noproxy", "*")
        #expect(run.exit == 0 && server.requests.first?["Host"] == "api.example:\(port)")
    }

    @Test func requestsArePrintedAsCurlCommands() async throws {
        let run = await swiftaf("post", "example.org/a", "x=1", "--bearer", "s3cret", "--as-curl")
        #expect(run.exit == 0 && run.text.hasPrefix("curl ") && run.text.contains("https://example.org/a"))
        #expect(!run.text.contains("s3cret"))
    }

    @Test func archivesAreWritten() async throws {
        server.route("/", .text("answer"))
        let file = try TemporaryFile()
        #expect(await swiftaf("get", server.urlString(), "--har", file.path).exit == 0)
        let archive = try JSONValue(parsing: Data(contentsOf: URL(filePath: file.path)))
        #expect(archive["log"]?["entries"]?[0]?["response"]?["status"]?.integer == 200)
        let failed = await swiftaf("get", server.urlString(), "--har", "/no/such/folder/x.har")
        #expect(failed.exit == 8)
    }

    @Test func archivesHaveAllDownloads() async throws {
        let folder = try TemporaryFolder()
        for name in ["/a", "/b"] { server.route(name, .text(name)) }
        server.route("/gone", .text("no", status: 404))
        let urls = ["/a", "/b", "/gone"].map { server.urlString($0) }
        let words = ["download", "-P", folder.path, "--har", folder.path + "/har"]
        #expect(await swiftaf(words + urls).exit == 2)
        let archive = try JSONValue(parsing: Data(contentsOf: URL(filePath: folder.path + "/har")))
        let entries = archive["log"]?["entries"]?.array ?? []
        #expect(Set(entries.compactMap { $0["request"]?["url"]?.string }) == Set(urls) && entries.count == 3)
        let unwritten = await swiftaf(["download", "-P", folder.path, "--har", "/no/such/folder/har"] + urls.prefix(2))
        #expect(unwritten.exit == 8 && unwritten.error.contains("/no/such/folder/har can't be written"))
        #expect(unwritten.error.count(where: { $0 == "\n" }) == 3)
    }

    @Test func filesGoToFolders() async throws {
        server.route("/name.txt", .text("content"))
        let folder = try TemporaryFolder()
        #expect(await swiftaf("get", server.urlString("/name.txt"), "-o", folder.path + "/").exit == 0)
        #expect(
            try String(decoding: Data(contentsOf: URL(filePath: folder.path + "/name.txt")), as: UTF8.self) == "content"
        )
        let kept = await swiftaf("download", server.urlString("/name.txt"), "-P", folder.path, "--no-clobber")
        #expect(kept.exit == 8)
        #expect(await swiftaf("get", server.urlString("/name.txt"), "-O", "-P", folder.path).exit == 0)
    }
}
