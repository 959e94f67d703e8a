import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// The console of WebSockets: `ws`.
@Suite struct SocketTests {
    private let server: TestServer
    private let url: String

    init() throws {
        server = try TestServer()
        server.route("/", [.upgrade(), .echoFrames])
        server.route("/v1", [.upgrade(headers: ["Sec-WebSocket-Protocol": "v1"]), .echoFrames])
        url = "ws" + server.urlString().drop { $0 != ":" }
    }

    private func input(_ text: String) throws -> Int32 {
        let pipe = try InputPipe()
        pipe.send(Data(text.utf8))
        return pipe.reading
    }

    /// The ends of an input that doesn't end by itself. Close only the end for writing: like that of ``InputPipe``, the
    /// other may still be read when a run is over.
    private func openInput() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, streamCloseOnExec, 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    private func events(_ run: RunResult) -> [JSONValue] {
        run.text.split(separator: "\n").map { (try? JSONValue(parsing: Data($0.utf8))) ?? .null }
    }

    @Test func linesAreMessagesInBothDirections() async throws {
        let run = await swiftaf(
            "ws", url + "v1", "--subprotocol", "v2", "--subprotocol", "v1", "X-A:1", "q==2",
            input: try input("one\ngr\u{FC}n\r\n\nlast"))
        #expect([run.error, run.text] == ["", "one\ngr\u{FC}n\n\nlast\n"])
        #expect(run.exit == 0)
        let request = try #require(server.requests.first)
        #expect(request["Sec-WebSocket-Protocol"] == "v2, v1" && request["X-A"] == "1")
        #expect(request.target == "/v1?q=2")
    }

    @Test func whatAnOptionReadsIsNoMessage() async throws {
        let file = try TemporaryFile("s3cret\n")
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        let run = await swiftaf("ws", url, "--bearer", "@/dev/fd/\(descriptor)", input: descriptor)
        #expect(run.exit == 0 && run.text.isEmpty && run.error.isEmpty)
        #expect(server.requests.first?["Authorization"] == "Bearer s3cret")
    }

    @Test(arguments: [
        ["--connect-timeout", "0.1"], ["--timeout", "0.1"], ["--connect-timeout", "9", "-m", "0.1"],
        ["--connect-timeout", "0", "-m", "0.1"],
    ])
    func namesTheOptionOfAHandshakeThatTakesTooLong(limits: [String]) async {
        server.route("/never", .stall(at: "never"))
        let run = await swiftaf(["ws", url + "never", "--json"] + limits)
        let isTotal = limits.count == 4 || limits[0] == "--timeout"
        #expect(run.exit == 4 && run.error.contains("; \(isTotal ? "--timeout" : "--connect-timeout") S allows more"))
        #expect(run.json["error"]?["reason"]?.string == (isTotal ? "total" : "connect"))
        server.open("never")
    }

    /// A run that is over doesn't wait long for a server that keeps the socket open.
    @Test(.timeLimit(.minutes(1))) func endsAtTheTimeLimitWithoutACloseFrameOfTheServer() async throws {
        server.route("/silent", [.upgrade(), .stall(at: "never")])
        #expect(await swiftaf("ws", url + "silent", "--timeout", "0.5", input: try input("")).exit == 4)
        server.open("never")
    }

    @Test func eventsAreJSON() async throws {
        let run = await swiftaf("ws", "--json", "--subprotocol", "v1", url + "v1", input: try input("one\n"))
        let events = events(run)
        #expect(run.exit == 0 && events.map { $0["event"]?.string } == ["open", "message", "close"])
        #expect(events.first?["status"]?.integer == 101 && events.first?["protocol"]?.string == "v1")
        #expect(events.dropFirst().first?["text"]?.string == "one")
        #expect(events.last?["code"]?.integer == 1000 && events.last?["ok"]?.bool == true)
        let binary = await swiftaf("ws", "--json", "--binary", url, input: try input("one\n"))
        #expect(self.events(binary).dropFirst().first?["base64"]?.string == "b25l")
    }

    @Test func binaryMessagesArePassedOnButNotToATerminal() async throws {
        let run = await swiftaf("ws", "--binary", url, input: try input("one\ntwo"))
        #expect(run.exit == 0 && run.text == "onetwo")
        let terminal = await swiftaf(
            "ws", "--binary", url, input: try input("one"), output: MemorySink(isTerminal: true))
        #expect(terminal.exit == 0 && terminal.text == "")
        #expect(terminal.error.contains("a binary message of 3 bytes"))
    }

    @Test func codesOfTheServerDecideTheExitStatus() async throws {
        let ends = try openInput()
        for (code, exit) in [(1000, 0), (1001, 0), (1011, 3), (4000, 3)] {
            let reason = Data([UInt8(code >> 8), UInt8(code & 0xFF)]) + Data("bye".utf8)
            server.route("/close", [.upgrade(), .frame(0x88, reason), .waitForPeerClose])
            let run = await swiftaf("ws", url + "close", "--json", input: ends.reading)
            let last = events(run).last ?? .null
            #expect(run.exit == Int32(exit), "code \(code)")
            #expect(last["code"]?.integer == Int64(code) && last["reason"]?.string == "bye")
            #expect(last["error"]?["code"]?.string == (exit == 0 ? nil : "closed"))
            if exit != 0 { #expect(run.error.contains("closed the socket with code \(code): bye")) }
        }
        close(ends.writing)
    }

    @Test func lostConnectionsAndRefusalsAreFailures() async throws {
        server.route("/lost", [.upgrade(), .close])
        let problem = #"{"title":"no token"}"#
        let type: Script.Headers = ["Content-Type": "application/problem+json"]
        server.route("/refused", .respond(403, headers: type, body: problem))
        server.route("/login", .respond(401, body: "who?"))
        let ends = try openInput()
        let lost = await swiftaf("ws", url + "lost", input: ends.reading)
        #expect(lost.exit == 3 && lost.error.hasPrefix("swiftaf: "))
        let refused = await swiftaf("ws", url + "refused", "--json", input: ends.reading)
        #expect(refused.exit == 2 && refused.json["status"]?.integer == 403 && refused.code == "status")
        #expect(refused.json["body"]?.string == problem && refused.json["bodyBytes"]?.integer == 20)
        #expect(refused.json["json"]?["title"]?.string == "no token")
        let login = await swiftaf("ws", url + "login", input: ends.reading)
        #expect(login.exit == 7 && login.text == "who?")
        close(ends.writing)
    }

    @Test func cancellingClosesTheSocket() async throws {
        let ends = try openInput()
        let url = url
        let (opened, open) = AsyncStream<Void>.makeStream()
        let output = MemorySink { text in if text.contains("open") { open.yield() } }
        let run = Task { await swiftaf("ws", "--json", url, input: ends.reading, output: output) }
        for await _ in opened { break }
        run.cancel()
        let ended = await run.value
        // The server has echoed the code.
        #expect(ended.exit == 130 && events(ended).last?["code"]?.integer == 1001)
        #expect(events(ended).last?["error"]?["code"]?.string == "cancelled")
        close(ends.writing)
    }

    @Test func withoutACloseTheRunOutlivesItsInput() async throws {
        let input = try input("one\n")
        let (received, receive) = AsyncStream<Void>.makeStream()
        let output = MemorySink { text in if text.contains("message") { receive.yield() } }
        let url = url
        let run = Task { await swiftaf("ws", "--json", "--no-close", url, input: input, output: output) }
        for await _ in received { break }
        run.cancel()
        let ended = await run.value
        // Otherwise 1000, for the end of the input.
        #expect(ended.exit == 130 && events(ended).last?["code"]?.integer == 1001)
    }

    @Test func aMessageThatIsTooLongNamesTheLimit() async throws {
        server.route("/long", [.upgrade(), .frame(0x81, Data(count: 2000)), .waitForPeerClose])
        let ends = try openInput()
        let run = await swiftaf("ws", url + "long", "--max-body", "1k", input: ends.reading)
        #expect(run.exit == 6 && run.error.contains("--max-body"))
        close(ends.writing)
    }

    @Test func timeLimitIsForTheWholeRun() async throws {
        let ends = try openInput()
        #expect(await swiftaf("ws", url, "--timeout", "300ms", input: ends.reading).exit == 4)
        close(ends.writing)
    }

    @Test func aFullOutputEndsTheRun() async throws {
        let run = await swiftaf("ws", url, input: try input("one\n"), output: MemorySink(failure: ENOSPC))
        #expect(run.exit == 8 && run.error.contains("standard output"))
    }

    @Test func inputsThatCanNotBeSentAreRefused() async throws {
        let pipe = try InputPipe()
        pipe.send(Data([0x67, 0xFC, 0x0A]))
        let run = await swiftaf("ws", url, input: pipe.reading)
        #expect(run.exit == 1 && run.error.contains("--binary"))
        #expect(await swiftaf("ws", url, "a=b").exit == 1)
        #expect(await swiftaf("ws", url, "--form").exit == 1)
        #expect(await swiftaf("ws", url, "--idle-timeout", "1").exit == 1)
        #expect(await swiftaf("get", url, "--ping", "1").exit == 1)
        #expect(await swiftaf("ws").exit == 1)
        let scheme = await swiftaf("ws", "ftp://example.org/", "--json")
        #expect(scheme.code == "invalidInput")
        #expect(scheme.error.contains("scheme \"ftp\" of a WebSocket: expected ws, wss, http or https"))
        #expect(await swiftaf("ws", url, "--subprotocol", "a b", input: try input("")).exit == 1)
    }

    @Test(arguments: [16 << 20 - 20, 16 << 20 + 1, 17 << 20])
    func refusesTooLongInputLineAtAnyReadBoundary(size: Int) async throws {
        let folder = try TemporaryFolder()
        folder.write(String(repeating: "x", count: size) + "\nnext\n", to: "lines")
        // A file is read in whole pieces.
        let file = open(folder.path + "/lines", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        let run = await swiftaf("ws", url, "--json", "--timeout", "300", input: file)
        #expect(run.exit == 6 && run.error.contains("a line of the input is longer than 16777152 bytes"))
        #expect(events(run).last?["error"]?["code"]?.string == "tooLarge")
    }

    @Test(.enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
    func aTerminalIsAConsole() async throws {
        let run = try TerminalRun("ws", url)
        await run.read(until: "swiftaf: connected")
        run.type("hi\n")
        // What is typed, and what is received.
        await run.read(until: "hi\r\nhi\r\n")
        run.type("\u{4}")
        #expect(await run.end() == 0)
        let interrupted = try TerminalRun("ws", url)
        await interrupted.read(until: "swiftaf: connected")
        interrupted.type("\u{3}")
        #expect(await interrupted.end() == 130)
        // The terminal echoes the keys, perhaps only after the program has written its last line.
        #expect(interrupted.screen.contains { $0.hasSuffix("swiftaf: cancelled") }, "\(interrupted.screen)")
        #expect(interrupted.echoes)
    }
}
