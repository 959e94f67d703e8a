import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// How the program ends, and what it leaves: signals, the screen, files.
@Suite(.enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
struct ContractEndingTests {
    private let server: TestServer
    private let folder: TemporaryFolder

    init() throws {
        server = try TestServer()
        folder = try TemporaryFolder()
    }

    private var url: RawText { RawText(server.urlString("/")) }

    // MARK: Signals

    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)] as [(Int32, Int32)])
    func signalsCleanUpAlike(signal: Int32, exit: Int32) async throws {
        server.route("/", [.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), .stall(at: "never")])
        let run = try Launch(["get", url, "-o", folder.path("file"), "--idle-timeout", "0", "--json"])
        #expect(await server.wait(for: .stalled(at: "never")))
        run.send(signal)
        let ended = try await run.end()
        #expect(ended.exit == exit)
        #expect(ended.code == "cancelled")
        #expect(folder.names.isEmpty)
    }

    @Test func aSignalReportsTheBodyReceivedSoFar() async throws {
        server.route("/", [.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome"), .stall(at: "never")])
        var text = ""
        // The core reads the body together with the head; on a busy machine the signal may come between them.
        for _ in 0..<3 where !text.contains("\"body\": \"some\"") {
            let run = try TerminalRun("get", url.shown, "--idle-timeout", "0", "--json", "-v")
            await run.read(until: "200 OK")
            run.type("\u{3}")
            #expect(await run.end() == 130)
            text = run.text
        }
        #expect(text.contains("\"body\": \"some\"") && text.contains("\"bodyBytes\": 4"), "\(text)")
    }

    @Test func aCancelledRunReportsTheBodyAsFarAsItIsKnown() {
        let run = RequestRun(
            request: HTTPRequest("http://h/"), file: nil, options: Options(), configuration: SessionConfiguration(),
            console: Console(input: -1, output: MemorySink(), error: MemorySink()))
        let response = HTTPResponse(status: 200, url: "http://h/")
        let error = SessionError(.cancelled, response: response, body: Data("some".utf8))
        let report = Report(outcome: run.outcome(of: error)).value
        #expect(report["ok"] == false && report["error"]?["code"] == "cancelled" && report["status"] == 200)
        #expect(report["body"] == "some" && report["bodyBytes"] == 4)
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func keepsPartOfDownloadAfterEverySignal(signal: Int32) async throws {
        let head = "HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: 200000\r\n\r\n"
        let part = Data(repeating: 0x61, count: 150_000)
        server.route("/", [.send(head), .send(part), .stall(at: "never")])
        let run = try Launch(["download", url, "-o", folder.path("file"), "--idle-timeout", "0", "--json"])
        #expect(await server.wait(for: .stalled(at: "never")))
        // What was sent is there only once it was written.
        while !folder.names.contains(Array("file.part".utf8)) { await Task.yield() }
        run.send(signal)
        let ended = try await run.end()
        #expect(ended.exit == 128 + signal)
        #expect(folder.content(of: "file") == nil)
        let kept: Set<[UInt8]> = [Array("file.part".utf8), Array("file.part.resume".utf8)]
        #expect(folder.names.isSubset(of: kept))
        #expect(ended.json["error"]?["resumable"]?.bool == !folder.names.isEmpty)
    }

    @Test(arguments: [("HUP", SIGHUP), ("INT", SIGINT), ("TERM", SIGTERM)])
    func ignoredSignalsStayIgnored(name: String, signal: Int32) async throws {
        server.route("/", [.stall(at: "door"), .text("through")])
        let run = try Launch(["get", url, "--idle-timeout", "0"], shell: "trap '' \(name)")
        #expect(await server.wait(for: .stalled(at: "door")))
        run.send(signal)
        // Signals of a process that are not ignored are there before the answer that is sent afterwards.
        server.open("door")
        let ended = try await run.end()
        #expect(ended.exit == 0)
        #expect(ended.text == "through")
    }

    // MARK: The screen

    @Test func interruptLeavesACleanScreen() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
        server.route("/", [.send(head), .send("some"), .stall(at: "never")])
        let run = try TerminalRun("get", url.shown, "--idle-timeout", "0")
        await run.read(until: "0% [")
        run.type("\u{3}")
        #expect(await run.end() == 130)
        #expect(run.screen == ["some", "swiftaf: cancelled"])
    }

    @Test func secondInterruptLeavesACleanScreenToo() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
        server.route("/", [.send(head), .send("some"), .stall(at: "never")])
        let run = try TerminalRun("get", url.shown, "--idle-timeout", "0")
        await run.read(until: "0% [")
        run.type("\u{3}\u{3}")
        #expect(await run.end() == 130)
        // So soon, it isn't that of a person, and the run cleans up.
        #expect(run.screen == ["some", "swiftaf: cancelled"])
    }

    /// `timeout` and a closing terminal send two signals.
    @Test(arguments: [SIGTERM, SIGHUP, SIGINT])
    func twoSignalsAtOnceCleanUp(signal: Int32) async throws {
        server.route("/", [.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome"), .stall(at: "never")])
        let run = try Launch([url, "--idle-timeout", "0", "--json"])
        #expect(await server.wait(for: .stalled(at: "never")))
        run.send(signal)
        run.send(SIGTERM)
        let ended = try await run.end()
        #expect([128 + signal, 128 + SIGTERM].contains(ended.exit ?? 0))
        #expect(ended.code == "cancelled" && ended.json["url"]?.string == url.shown)
    }

    @Test func onlyARepeatedInterruptEndsAtOnce() {
        #expect(
            !Interrupts.ends(SIGINT, after: .milliseconds(299)) && Interrupts.ends(SIGINT, after: .milliseconds(300)))
        for signal in [SIGTERM, SIGHUP] {
            #expect(!Interrupts.ends(signal, after: .seconds(9)) && Interrupts.ends(signal, after: .seconds(10)))
        }
    }

    @Test func verboseLinesAndBarsDoNotMix() async throws {
        // Trailers come while the bar is there.
        server.route(
            "/", [.chunkedHead(), .chunk(Data("some".utf8)), .stall(at: "bar"), .lastChunk(["X-After": "1"])])
        let run = try TerminalRun("get", url.shown, "-v", "--idle-timeout", "0")
        await run.read(until: "B/s")
        server.open("bar")
        #expect(await run.end() == 0)
        #expect(run.screen.contains("< X-After: 1"))
        #expect(run.screen.contains("some"))
        #expect(run.screen.allSatisfy { !$0.contains("B/s") })
    }

    // MARK: Files

    @Test(arguments: ["get", "download"])
    func replacedFilesKeepTheirPermissions(command: String) async throws {
        server.route("/", .text("new"))
        folder.write("old", to: "file", mode: 0o640)
        #expect(try await launch(RawText(command), url, "-o", folder.path("file")).exit == 0)
        #expect(folder.content(of: "file") == "new")
        #expect(folder.mode(of: "file") & 0o7777 == 0o640)
    }

    @Test(arguments: ["get", "download"])
    func symbolicLinksAreFollowed(command: String) async throws {
        server.route("/", .text("new"))
        folder.write("old", to: "target", mode: 0o600)
        #expect(symlink("target", folder.path("link").shown) == 0)
        #expect(symlink("fresh", folder.path("dangling").shown) == 0)
        let run = try await launch(RawText(command), url, "-o", folder.path("link"), "--json")
        #expect(run.exit == 0)
        #expect(run.json["file"]?.string == folder.path("link").shown)
        #expect(try await launch(RawText(command), url, "-o", folder.path("dangling")).exit == 0)
        #expect(folder.isLink("link") && folder.isLink("dangling"))
        #expect(folder.content(of: "target") == "new" && folder.content(of: "fresh") == "new")
        #expect(folder.mode(of: "target") & 0o7777 == 0o600)
        #expect(folder.names.count == 4)
    }
}
