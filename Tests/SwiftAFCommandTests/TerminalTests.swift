import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// The built program in a terminal.
@Suite(.enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
struct TerminalTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
        server.route("/") { request, connection in
            guard request["Authorization"] == nil else { return try connection.respond(body: Data("in\n".utf8)) }
            try connection.respond(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""])
        }
    }

    @Test func aPasswordIsAskedForWithoutEcho() async throws {
        let run = try TerminalRun("-u", "joe", server.urlString())
        await run.read(until: ": ")
        #expect(!run.echoes)
        run.type("s3cret\n")
        #expect(await run.end() == 0)
        #expect(run.screen.last == "in" && !run.screen.joined().contains("s3cret"))
        #expect(server.requests.last?["Authorization"] == "Basic am9lOnMzY3JldA==")
    }

    @Test func aPasswordThatIsNotUTF8IsRefused() async throws {
        let run = try TerminalRun("-u", "joe", server.urlString())
        await run.read(until: ": ")
        run.type([0x70, 0xE9, 0x0A])
        #expect(await run.end() == 1)
        #expect(run.screen.contains("swiftaf: the password is not UTF-8") && server.requests.isEmpty)
    }

    @Test(arguments: [["--bearer", "env:SECRET"], ["-u", "env:SECRET"]])
    func aVariableThatIsNotUTF8IsRefused(words: [String]) async throws {
        let run = try await Launch(
            ([server.urlString()] + words).map { RawText($0) }, shell: "export SECRET=$(printf 'a:p\\351')"
        ).end()
        #expect(run.exit == 1 && run.error.contains("SECRET is not UTF-8") && server.requests.isEmpty)
        let other = try await launch(
            RawText(server.urlString()), "--bearer", "env:SECRET", environment: ["SECRET": "p\u{FFFD}"])
        #expect(other.exit == 0)
    }

    @Test func aPasswordIsAskedForOncePerHost() async throws {
        let folder = try TemporaryFolder()
        let other = server.urlString("/c").replacing("127.0.0.1", with: "localhost")
        for name in ["a", "b", "c"] {
            server.route("/\(name)") { request, connection in
                try connection.respond(body: Data((request["Authorization"] ?? "").utf8))
            }
        }
        let run = try TerminalRun(
            "download", "-u", "joe", "--auth", "basic", server.urlString("/a"), server.urlString("/b"), other, "-P",
            folder.path)
        await run.read(until: "/a: ")
        run.type("s3cret\n")
        await run.read(until: "/c: ")
        run.type("other\n")
        #expect(await run.end() == 0)
        #expect(!run.text.contains("/b: "))
        #expect(
            folder.content(of: "a") == "Basic am9lOnMzY3JldA==" && folder.content(of: "b") == folder.content(of: "a"))
        #expect(folder.content(of: "c") == "Basic am9lOm90aGVy")
    }

    @Test func keysThatEndOrStopTheProgramAreOffAtThePrompt() async throws {
        let run = try TerminalRun("-u", "joe", server.urlString())
        await run.read(until: ": ")
        // Ctrl-\ and Ctrl-Z, which aren't a part of the password either.
        run.type("\u{1C}s3\u{1A}cret\n")
        #expect(await run.end() == 0)
        #expect(server.requests.last?["Authorization"] == "Basic am9lOnMzY3JldA==")
    }

    @Test(arguments: [(SIGINT, 130 as Int32), (SIGTERM, 143 as Int32)] as [(Int32, Int32)])
    func aSignalAtThePromptTurnsTheEchoOn(signal: Int32, status: Int32) async throws {
        let run = try TerminalRun("-u", "joe", server.urlString())
        await run.read(until: ": ")
        if signal == SIGINT { run.type("\u{3}") } else { run.send(signal) }
        #expect(await run.end() == status)
        #expect(run.echoes)
        #expect(run.screen.last == "swiftaf: cancelled")
        #expect(server.requests.isEmpty)
    }

    // MARK: Jobs in the background

    @Test func aPasswordIsAskedForInTheForeground() async throws {
        let run = try TerminalRun(inBackground: ["-u", "joe", server.urlString()])
        await run.read(until: ": ")
        #expect(run.text.contains("the job has stopped"))
        // The return key, as the terminal's settings take it.
        run.type("s3cret\r")
        #expect(await run.end() == 0)
        #expect(run.screen.last == "in")
        #expect(server.requests.last?["Authorization"] == "Basic am9lOnMzY3JldA==")
    }

    @Test func aBodyIsReadInTheForeground() async throws {
        server.route("/echo") { request, connection in try connection.respond(body: Data(request.bodyText.utf8)) }
        let run = try TerminalRun(inBackground: ["post", server.urlString("/echo"), "-d", "@-"])
        await run.read(until: "the job has stopped")
        run.type("typed\n\u{4}")
        #expect(await run.end() == 0)
        #expect(run.screen.filter { $0 == "typed" }.count == 2)
    }

    @Test func messagesAreReadInTheForeground() async throws {
        server.route("/ws", [.upgrade(), .echoFrames])
        let url = "ws" + server.urlString("/ws").drop { $0 != ":" }
        let run = try TerminalRun(inBackground: ["ws", url])
        await run.read(until: "the job has stopped")
        run.type("typed\n")
        // The terminal echoes it at once, the server later: the shell and the program may write lines between them.
        await run.read(until: "typed", times: 2)
        run.type("\u{4}")
        #expect(await run.end() == 0)
    }

    @Test func theEndOfTheInputIsNoPassword() async throws {
        let run = try TerminalRun("-u", "joe", server.urlString())
        await run.read(until: ": ")
        run.type("\u{4}")
        #expect(await run.end() == 130)
        #expect(run.echoes && run.screen.last == "swiftaf: cancelled" && server.requests.isEmpty)
    }

    // MARK: What is shown

    @Test func coloursFollowTheTerminal() async throws {
        server.route(
            "/json", .respond(200, headers: ["Content-Type": "application/json"], body: Data("{\"a\":1}".utf8)))
        let coloured = try TerminalRun("-i", server.urlString("/json"), environment: ["NO_COLOR": ""])
        #expect(await coloured.end() == 0)
        #expect(coloured.text.contains("\u{1B}[32mHTTP/1.1 200 OK") && coloured.text.contains("\u{1B}[36m\"a\""))
        let plain = try TerminalRun("-i", server.urlString("/json"), environment: ["NO_COLOR": "1"])
        #expect(await plain.end() == 0)
        #expect(!plain.text.contains("\u{1B}") && plain.screen.contains("  \"a\": 1"))
    }

    @Test func aDumbTerminalGetsNoBars() async throws {
        let folder = try TemporaryFolder()
        server.route("/film", [.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n12345"), .stall(at: "never")])
        let words = ["download", server.urlString("/film"), "-o", folder.path + "/film", "--timeout", "1"]
        for type in ["dumb", ""] {
            let run = try TerminalRun(words, environment: ["TERM": type])
            #expect(await run.end() == 4)
            #expect(!run.text.contains("\u{1B}") && !run.text.contains("%"))
        }
        let other = try TerminalRun(words)
        #expect(await other.end() == 4)
        #expect(other.text.contains("55%"))
    }

    @Test func aTerminalOfUnknownTypeGetsNoColours() {
        let terminal = MemorySink(isTerminal: true)
        #expect(!Style(for: terminal, [:]).isColoured && Style(for: terminal, ["TERM": "xterm"]).isColoured)
    }

    @Test func progressFollowsTheWidthOfTheTerminal() async throws {
        let folder = try TemporaryFolder()
        server.route(
            "/film",
            [.send("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 100\r\n\r\n12345"), .stall(at: "never")])
        let run = try TerminalRun("download", server.urlString("/film"), "-o", folder.path + "/film")
        await run.read(until: "5% [")
        run.resize(columns: 40)
        // Narrower than this, there is no bar.
        await run.read(until: "\r  5%  ")
        run.type("\u{3}")
        #expect(await run.end() == 130)
        // The terminal echoes the keys; nothing of the bars stays.
        #expect(run.screen.first == "swiftaf: cancelled")
        #expect(folder.content(of: "film") == nil)
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt16])
    func downloadsOnTheNarrowestTerminals(columns: UInt16) async throws {
        let folder = try TemporaryFolder()
        let urls = ["/one", "/two"].map { server.urlString($0) }
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n12345"
        for name in ["/one", "/two"] { server.route(name, [.send(head), .stall(at: "bars"), .send("6789")]) }
        let run = try TerminalRun(["download", "-P", folder.path] + urls, columns: columns)
        await run.read(until: "\u{1B}[K")
        server.open("bars")
        #expect(await run.end() == 0)
        #expect(folder.content(of: "one") == "123456789" && folder.content(of: "two") == "123456789")
    }

    /// What the shell wrote meanwhile stays: the bars are drawn below it.
    @Test func redrawsBarsAfterStop() async throws {
        let folder = try TemporaryFolder()
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n12345"
        let names = ["/one", "/two", "/three"]
        for name in names { server.route(name, [.send(head), .stall(at: "bars"), .send("6789")]) }
        let run = try TerminalRun(["download", "-P", folder.path] + names.map { server.urlString($0) })
        await run.read(until: "three   55% [")
        await run.stop()
        run.writeAsShell("\n[1]+  Stopped\n$ fg\nswiftaf download\n")
        run.send(SIGCONT)
        await run.read(until: "swiftaf download\r\n\rone")
        server.open("bars")
        #expect(await run.end() == 0)
        for line in ["[1]+  Stopped", "$ fg", "swiftaf download"] { #expect(run.screen.contains(line)) }
        #expect(run.screen.suffix(3).allSatisfy { $0.hasPrefix("swiftaf: wrote ") })
    }

    @Test func notesOfSeveralDownloadsStandAboveTheBars() async throws {
        let folder = try TemporaryFolder()
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n12345"
        server.route("/one", times: 1, [.stall(at: "failure"), .status(503)])
        for name in ["/one", "/two"] { server.route(name, [.send(head), .stall(at: "bars"), .send("6789")]) }
        let run = try TerminalRun(
            "download", "--retry", "2", "--timings", "-P", folder.path, server.urlString("/one"),
            server.urlString("/two"))
        await run.read(until: "55% [")
        server.open("failure")
        await run.read(until: "; retry 1 of 2 in ")
        server.open("bars")
        #expect(await run.end() == 0)
        let place = "swiftaf: \(server.urlString("/one")): "
        #expect(run.screen.contains { $0.hasPrefix("\(place)the server responded with 503; retry 1 of 2") })
        #expect(run.screen.filter { $0.contains("total") }.allSatisfy { !$0.contains("%") })
        #expect(folder.content(of: "one") == "123456789" && folder.content(of: "two") == "123456789")
    }

    @Test func printedRequestsAreShownAsResponses() async throws {
        server.route("/post", .text("done"))
        let url = server.urlString("/post")
        let coloured = try TerminalRun("-p", "HB", "post", url, "a=1", environment: ["NO_COLOR": ""])
        #expect(await coloured.end() == 0)
        #expect(coloured.text.contains("\u{1B}[1mPOST /post HTTP/1.1") && coloured.text.contains("\u{1B}[36mHost"))
        #expect(coloured.text.contains("  \u{1B}[36m\"a\""))
        let file = try TemporaryFile("\u{1B}[31mfirst\nsecond")
        for body in ["\u{1B}[31mfirst\nsecond", "@" + file.path] {
            let run = try TerminalRun("-p", "B", "post", url, "-d", body, environment: ["NO_COLOR": "1"])
            #expect(await run.end() == 0)
            #expect(!run.text.contains("\u{1B}") && run.text.contains("[31mfirst\r\nsecond"))
        }
    }
}
