import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Standard input as the body: which one, how often it can be sent, and what is said while nothing comes.
@Suite(.timeLimit(.minutes(10))) struct StandardInputTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
        server.route("/") { request, connection in try connection.respond(body: Data(request.bodyText.utf8)) }
        server.route("/secret") { request, connection in
            guard request["Authorization"] == nil else { return try connection.respond(body: Data("in".utf8)) }
            try connection.respond(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""])
        }
        server.route("/moved", .redirect(to: "/", status: 307))
    }

    /// A file that is open for reading, from a position.
    private func withFile(_ content: String, from offset: off_t = 0, _ use: (Int32) async throws -> Void) async throws {
        let file = try TemporaryFile(content)
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        lseek(descriptor, offset, SEEK_SET)
        try await use(descriptor)
    }

    // MARK: Which one is the body

    @Test(arguments: [[], ["-q"], ["--json"]])
    func saysThatASilentPipeIsNotTheBody(words: [String]) async throws {
        let pipe = try InputPipe()
        let run = await swiftaf([server.urlString()] + words, input: pipe.reading)
        #expect(run.exit == 0 && server.requests.last?.method == "GET")
        #expect(run.error.contains("swiftaf: standard input had no data within 1 s: the request has no body; post"))
    }

    @Test(arguments: ["@-", "<-"])
    func aSecondPartOfStandardInputIsRefused(source: String) async throws {
        let pipe = try InputPipe()
        pipe.send(Data("text".utf8))
        let words = ["post", server.urlString(), "-F", "a=@-", "-F", "b=\(source)"]
        let run = await swiftaf(words + ["--json"], input: pipe.reading)
        #expect(run.code == "usage" && run.error.contains("only one part can be standard input"))
        #expect(server.requests.isEmpty)
        #expect(await swiftaf(Array(words.dropLast(2)), input: pipe.reading).text.contains("\r\n\r\ntext\r\n"))
    }

    @Test func saysNothingAboutAPipeAtItsEnd() async throws {
        let pipe = try InputPipe()
        pipe.send(Data())
        let run = await swiftaf(server.urlString(), input: pipe.reading)
        #expect(run.exit == 0 && run.error.isEmpty && server.requests.last?.method == "GET")
    }

    @Test func sendsAnEmptyFile() async throws {
        try await withFile("") { file in
            #expect(await swiftaf(server.urlString(), input: file).exit == 0)
            #expect(server.requests.last?.method == "POST" && server.requests.last?["Content-Length"] == "0")
        }
    }

    @Test func sendsNoFileThatWasReadToItsEnd() async throws {
        try await withFile("read", from: 4) { file in
            #expect(await swiftaf(server.urlString(), input: file).exit == 0)
            #expect(server.requests.last?.method == "GET")
        }
    }

    @Test(arguments: [[], ["-d", "@-"]])
    func sendsTheRestOfAFileAndLeavesItAtItsEnd(words: [String]) async throws {
        try await withFile("read rest", from: 5) { file in
            let run = await swiftaf([server.urlString()] + words, input: file)
            #expect(run.exit == 0 && run.text == "rest" && lseek(file, 0, SEEK_CUR) == 9)
            let request = server.requests.last
            #expect(request?["Content-Length"] == (words.isEmpty ? "4" : nil))
            #expect(request?["Transfer-Encoding"] == (words.isEmpty ? nil : "chunked"))
        }
    }

    // MARK: What an option reads

    @Test(arguments: [
        ["--user", "@PATH", "--auth", "basic"], ["--bearer", "@PATH"], ["-b", "@PATH"], ["X-Key:@PATH"], ["q==@PATH"],
        ["--netrc=PATH"], ["-G", "--data-urlencode", "@PATH"],
    ])
    func whatAnOptionReadsIsNotTheBody(words: [String]) async throws {
        try await withFile("a=b:c") { file in
            let paths = ["/dev/fd/\(file)", "/proc/self/fd/\(file)", try name(of: file)]
            for path in paths {
                let words = words.map { $0.replacing("PATH", with: path) }
                let run = await swiftaf([server.urlString("/moved")] + words, input: file)
                #expect(run.exit == 0, "\(run.error)")
                let first = words[0] == "-G" ? "get" : "post"
                #expect(await swiftaf([first, server.urlString("/moved")] + words, input: file).exit == 0)
            }
            #expect(server.requests.count == 4 * paths.count)
            #expect(server.requests.allSatisfy { $0.bodyText.isEmpty })
            #expect(server.requests.prefix(2).allSatisfy { $0.method == "GET" })
        }
    }

    private func name(of file: Int32) throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(file)")
    }

    @Test(.enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
    func aPipeThatAnOptionReadsIsNotTheBody() async throws {
        let shell = "printf 'token\\n' | \"$@\"; exit"
        let run = try await launch(RawText(server.urlString()), "--bearer", "@/dev/stdin", shell: shell)
        let request = server.requests.last
        #expect(run.exit == 0 && request?.method == "GET" && request?["Authorization"] == "Bearer token")
    }

    @Test(arguments: [["-d", "@-"], ["-T", "-"], ["-F", "a=@-"], ["-F", "a=<-"], ["-d", "@PATH"]])
    func aBodyThatAnOptionReadsIsRefused(words: [String]) async throws {
        try await withFile("s3cret") { file in
            let path = "/dev/fd/\(file)"
            let words = words.map { $0.replacing("PATH", with: path) }
            let run = await swiftaf([server.urlString(), "--bearer", "@\(path)"] + words, input: file)
            #expect(run.exit == 1 && run.error.contains("standard input can't be the body: --bearer reads it"))
            // Another file is another body.
            let other = try TemporaryFile("other")
            let allowed = await swiftaf(server.urlString(), "--bearer", "@\(other.path)", "-d", "@-", input: file)
            #expect(allowed.exit == 0 && server.requests.last?.bodyText == "s3cret")
        }
    }

    // MARK: Sending it again

    @Test(arguments: ["/secret", "/moved"])
    func sendsAFileAgain(path: String) async throws {
        try await withFile("from a file") { file in
            let run = await swiftaf("post", server.urlString(path), "-u", "joe:pw", input: file)
            #expect(run.exit == 0 && server.requests.count == 2)
            #expect(server.requests.last?.bodyText == "from a file")
        }
    }

    @Test(arguments: [("/secret", "; --auth basic sends them at once, -d @FILE"), ("/moved", "; -d @FILE")])
    func saysHowABodyFromAPipeCouldBeSent(path: String, advice: String) async throws {
        let pipe = try InputPipe()
        pipe.send(Data("from a pipe".utf8))
        let run = await swiftaf("post", server.urlString(path), "-u", "joe:pw", "--json", input: pipe.reading)
        #expect(run.exit == 3 && run.code == "redirect" && run.error.contains(advice))
    }

    @Test func aFileThatBecomesShorterIsAnError() async throws {
        try await withFile("abc") { file in
            var pieces = ByteStream(descriptor: file, range: 0..<10).makeAsyncIterator()
            #expect(try await pieces.next() == Data("abc".utf8))
            do {
                _ = try await pieces.next()
                Issue.record("the file isn't missed")
            } catch let error as SessionError {
                #expect(error.code == .file)
            }
        }
    }

    // MARK: Waiting for it

    @Test(arguments: [
        (InputBody.Origin.implicit, "--ignore-stdin or < /dev/null sends none"),
        (.option, "< /dev/null sends an empty one"),
    ])
    func saysOnceThatItWaits(origin: InputBody.Origin, advice: String) async throws {
        let pipe = try InputPipe()
        let notes = Locked<[String]>([])
        let input = InputBody(
            input: pipe.reading,
            note: { note in
                notes.withLock { $0.append(note) }
                pipe.send(Data("late".utf8))
            }, silence: .zero)
        var content = Data()
        for try await piece in input.pipe(origin) { content += piece }
        #expect(content == Data("late".utf8))
        #expect(notes.withLock { $0 } == ["waiting for standard input, which is the body: \(advice)"])
    }

    /// A bar would be drawn over what the terminal echoes.
    @Test(.enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
    func showsNoBarWhileTheBodyIsTyped() async throws {
        server.route("/slow", [.pause(.seconds(1)), .text("done\n")])
        let run = try TerminalRun("-d", "@-", server.urlString("/slow"))
        run.type("typed\n\u{4}")
        #expect(await run.end() == 0)
        #expect(run.screen.last == "done" && !run.text.contains("B/s"))
    }

    // MARK: -v

    @Test func showsTheHeadsBeforeTheBody() async throws {
        server.route("/text", .text("the body\n"))
        let both = MemorySink()
        #expect(await swiftaf("-v", server.urlString("/text"), output: both, error: both).exit == 0)
        let lines = String(decoding: both.content, as: UTF8.self).split(separator: "\n")
        #expect(lines.last == "the body" && lines.dropLast().allSatisfy { "*><".contains($0.first ?? " ") })
    }

    @Test(.enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
    func showsTheHeadsBeforeALongBody() async throws {
        let body = Data(repeating: UInt8(ascii: "b"), count: 2 << 20)
        server.route("/long", .respond(200, body: body))
        let run = try await launch("-v", RawText(server.urlString("/long")), shell: "exec 2>&1")
        #expect(run.exit == 0 && run.output.suffix(body.count) == body && run.output.starts(with: Data("* ".utf8)))
    }
}
