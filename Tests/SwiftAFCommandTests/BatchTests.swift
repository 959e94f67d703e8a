import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Several downloads in one command line.
@Suite struct BatchArgumentTests {
    private func parse(_ words: String...) -> ParsedCommand {
        ArgumentParser.parse(["download"] + words).command
    }

    @Test func wordsThatAreURLs() throws {
        guard case .request(let command) = try parse("http://h/a", "X:1", "HTTPS://h/b", "q==1").get()
        else { throw UsageError("no request") }
        #expect(command.each.map(\.url) == ["http://h/a", "HTTPS://h/b"])
        #expect(command.each.allSatisfy { $0.items == command.items && $0.purpose == .download && $0.moreURLs.isEmpty })
        #expect(command.items.count == 2)
    }

    @Test(arguments: [
        ("127.0.0.1:8000/a2", "http://127.0.0.1:8000/a2"), ("localhost:8000", "http://localhost:8000"),
        ("example.org:8443/b?x=1&y==2", "https://example.org:8443/b?x=1&y==2"), ("[::1]:80/b", "http://[::1]:80/b"),
        (":8000/b", "http://localhost:8000/b"),
        ("h.org/b", "https://h.org/b"),
        ("127.0.0.1:8000/b@2x;v=1", "http://127.0.0.1:8000/b@2x;v=1"),
    ])
    func wordsWithPortsAreURLs(word: String, url: String) throws {
        guard case .request(let command) = try parse("127.0.0.1:8000/a", word, "--content-disposition").get()
        else { throw UsageError("no request") }
        #expect(command.each.map(\.url) == ["http://127.0.0.1:8000/a", url] && command.items.isEmpty)
    }

    @Test(arguments: [
        "X:1", "Range:bytes=0-5", "From:joe@example.org", "X.Y:a", "Age:10;", "q==1", "Referer:h.org/a", "X-V:2/beta",
    ])
    func wordsThatAreItems(word: String) throws {
        guard case .request(let command) = try parse("http://h/a", word).get() else { throw UsageError("no request") }
        #expect(command.moreURLs.isEmpty && command.items.count == 1)
    }

    @Test(arguments: [
        ["http://h/a", "http://h/b", "-o", "c"], ["http://h/a", "http://h/b/a?c"], ["http://h/a", "http://h/"],
        ["http://h/", "http://h/a"],
    ])
    func refusesConflictingFilesOfBatch(words: [String]) {
        #expect(throws: UsageError.self) { try ArgumentParser.parse(["download"] + words).command.get() }
    }

    @Test func answersNameThemAll() throws {
        _ = try parse("http://h/a", "http://i/a", "--content-disposition").get()
    }

    @Test func refusesSeveralURLsExceptForDownload() {
        #expect(throws: UsageError.self) { try ArgumentParser.parse(["get", "http://h/", "http://i/"]).command.get() }
    }
}

/// They go into the current folder, which only a process can choose.
@Suite(.enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
struct BatchProgramTests {
    private let program = ProgramRun.path ?? ""
    private let server: TestServer
    private let file: TemporaryFile

    init() throws {
        server = try TestServer()
        file = try TemporaryFile()
        for name in ["a", "b", "c"] { server.route("/\(name)", .text("content of \(name)")) }
        server.route("/gone", .text("no", status: 404))
    }

    private func content(_ name: String) -> String? {
        try? String(contentsOfFile: "\(file.folder)/\(name)", encoding: .utf8)
    }

    @Test func eachHasItsFile() async throws {
        let run = try ProgramRun(
            program, "download", server.urlString("/a"), server.urlString("/b"), "X:1", server.urlString("/c"),
            "--json",
            folder: file.folder)
        let report = try await JSONValue(parsing: run.readAll())
        #expect(await run.wait() == 0)
        #expect(report["ok"] == true)
        #expect(report["error"] == .null)
        #expect(report["downloads"]?.array?.map { $0["file"]?.string } == ["a", "b", "c"])
        #expect(report["downloads"]?.array?.allSatisfy { $0["status"] == 200 } == true)
        for name in ["a", "b", "c"] { #expect(content(name) == "content of \(name)") }
        #expect(server.requests.allSatisfy { $0["X"] == "1" })
    }

    @Test func failuresDoNotStopTheRest() async throws {
        let run = try ProgramRun(
            program, "download", server.urlString("/gone"), server.urlString("/a"), "--json", folder: file.folder)
        let report = try await JSONValue(parsing: run.readAll())
        #expect(await run.wait() == 2)
        #expect(report["ok"] == false)
        #expect(report["error"]?["code"] == "status")
        #expect(report["downloads"]?.array?.map { $0["ok"] == true } == [false, true])
        #expect(file.names == ["a"])
    }

    @Test func interruptsEndAll() async throws {
        server.route("/slow/*", .stall(at: "never"))
        let urls = (1...6).map { server.urlString("/slow/\($0)") }
        let run = try ProgramRun(
            program, "download", urls[0], urls[1], urls[2], urls[3], urls[4], urls[5], "--idle-timeout", "0", "--json",
            folder: file.folder)
        // No more than four at once.
        #expect(await server.wait(for: .stalled(at: "never", count: 4)))
        #expect(server.requests.count == 4)
        run.interrupt()
        let report = try await JSONValue(parsing: run.readAll())
        #expect(await run.wait() == 130)
        #expect(report["downloads"]?.array?.count == 6)
        #expect(file.names == [])
    }
}

@Suite struct BatchOutcomeTests {
    @Test func cancellingGoesBeforeOtherFailures() {
        let (gone, cancelled) = (Failure(.status, .status, "404"), Failure(SessionError(.cancelled)))
        #expect(Outcome(parts: [gone, cancelled].map { Outcome(failure: $0) }).failure == cancelled)
        var outcome = Outcome(failure: gone)
        for later in [gone, cancelled] { outcome.add(later) }
        #expect(outcome.failure == gone && outcome.moreFailures == [cancelled])
        var several = Outcome(parts: [Outcome()])
        several.add(gone)
        #expect(several.failure == gone && several.moreFailures == [gone])
        #expect(Outcome(parts: [nil, gone, Failure(.file, .file, "")].map { Outcome(failure: $0) }).failure == gone)
    }
}

/// One line for each that is under way.
@Suite struct ProgressLinesTests {
    @Test(arguments: [0, 1, 2, 10]) func fitIntoAnyWidth(width: Int) {
        var lines = lines(["one", "three"])
        let drawn = lines.draw(width: width, now: .now)
        lines.end(0, "5 B")
        let ended = lines.draw(width: width, now: .now)
        for text in [drawn, ended, lines.clear(width: width)] {
            let shown = text.replacing(#/\u{1B}\[\d*[A-Z]/#, with: "")
            #expect(shown.split { $0.isNewline || $0 == "\r" }.allSatisfy { $0.count <= width })
        }
    }

    private let start = Instant.now

    private func lines(_ names: [String]) -> ProgressLines {
        var lines = ProgressLines()
        for (index, name) in names.enumerated() { lines.begin(index, name, at: start) }
        return lines
    }

    @Test func oneWithoutANameIsABar() {
        var one = lines([""])
        #expect(one.clear(width: 79) == "")
        one.note(.moved(TransferProgress(received: 512, receivedTotal: 1024)), of: 0, at: start)
        let text = one.draw(width: 79, now: start + .seconds(1))
        #expect(text.hasPrefix("\r 50% ["))
        #expect(text.hasSuffix("512 B/1.0 KiB       512 B/s  0:01 left\u{1B}[K"))
        #expect(one.clear(width: 79) == "\r\u{1B}[K")
    }

    @Test func restartedDownloadResetsItsLine() {
        var one = lines(["film"])
        one.note(.moved(TransferProgress(received: 4, receivedTotal: 4)), of: 0, at: start + .seconds(1))
        one.note(.restarted, of: 0, at: start + .seconds(60))
        let now = start + .seconds(61)
        let waiting = one.draw(width: 79, now: now)
        #expect(waiting.hasPrefix("\rfilm  - 0 B") && waiting.hasSuffix("  0:01\u{1B}[K"))
        one.note(.moved(TransferProgress(received: 1, receivedTotal: 4)), of: 0, at: now)
        #expect(one.draw(width: 79, now: now).hasSuffix("1 B/4 B         1 B/s  0:03 left\u{1B}[K"))
        one.end(0, "done")
        one.note(.restarted, of: 0, at: now)
        #expect(one.clear(width: 79) == "\rfilm  done\u{1B}[K\n\u{1B}[K")
    }

    @Test func severalStandUnderEachOther() {
        var some = lines(["a", "long"])
        some.note(.moved(TransferProgress(received: 1, receivedTotal: 2)), of: 1, at: start)
        let now = start + .seconds(1)
        var text = some.draw(width: 79, now: now)
        var shown = text.split(separator: "\n")
        #expect(shown.count == 2)
        #expect(shown[0].hasPrefix("\ra     - 0 B"))
        #expect(shown[1].hasPrefix("long   50% ["))
        #expect(shown[1].hasSuffix("1 B/2 B         1 B/s  0:01 left\u{1B}[K"))
        // Drawn over from the first line on; what has ended goes above and stays.
        some.end(1, "done")
        text = some.draw(width: 79, now: now)
        #expect(text.hasPrefix("\r\u{1B}[1Along  done\u{1B}[K\na     - 0 B"))
        #expect(!text.contains("\u{1B}[J"))
        some.end(0, "404")
        shown = some.clear(width: 79).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(shown == ["\ra     404\u{1B}[K", "\u{1B}[K"])
    }

    @Test func fewerLinesThanBeforeAreErased() {
        var some = lines(["a", "b", "c"])
        _ = some.draw(width: 79, now: start)
        some.end(1, "done")
        some.end(2, "done")
        #expect(some.draw(width: 79, now: start).hasPrefix("\r\u{1B}[2Ab  done\u{1B}[K\nc  done\u{1B}[K\na"))
        #expect(some.clear(width: 79) == "\r\u{1B}[K")
    }

    @Test func shortRunsShowNothing() {
        var some = lines(["a", "b"])
        some.end(0, "done")
        some.end(1, "done")
        #expect(some.clear(width: 79) == "")
    }

    @Test func longNamesLeaveRoom() {
        var one = lines(["a name that is as long as the line"])
        #expect(one.draw(width: 20, now: start) == "\ra name that is as lo\u{1B}[K")
    }

    /// A line that is too wide would be broken, and each drawing would leave a part of it on the screen.
    @Test func wideNamesFitIntoTheirColumns() {
        var some = lines(["\u{4E2D}\u{6587}\u{540D}\u{5B57}", "one"])
        let shown = some.draw(width: 30, now: start).split(separator: "\n")
        #expect(shown[0].hasPrefix("\r\u{4E2D}\u{6587}\u{540D}\u{5B57}  | 0 B"))
        #expect(shown[1].hasPrefix("one       | 0 B"))
        #expect(some.draw(width: 5, now: start).contains("\u{1B}[1A\u{4E2D}\u{6587}\u{1B}[K\none  \u{1B}[K"))
    }

    @Test(arguments: [
        ("", 0), ("film", 4), ("\u{E9}", 1), ("e\u{301}", 1), ("\u{4E2D}\u{6587}", 4), ("\u{D55C}", 2), ("\u{FF21}", 2),
        ("\u{1F600}", 2), ("\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}", 2), ("\u{2764}\u{FE0F}", 2), ("\u{2764}", 1),
        ("\u{20000}", 2), ("a\u{200B}b", 2),
    ])
    func textHasColumns(text: String, columns: Int) {
        #expect(text.columns == columns)
        for room in 0...5 {
            for part in [text.prefix(columns: room), text.suffix(columns: room)] {
                #expect(String(part).columns <= room && (columns > room || part == text))
            }
        }
    }

    @Test func aTerminalSeesThem() async throws {
        let server = try TestServer()
        for name in ["one", "two"] {
            server.route("/\(name)", [.chunkedHead(), .chunk(Data("x".utf8)), .stall(at: "bars"), .lastChunk()])
        }
        // The second time that something is drawn after both have begun, there are two lines.
        let draws = Locked(0)
        let terminal = MemorySink(isTerminal: true) { _ in
            guard server.statistics.requests == 2 else { return }
            let count = draws.withLock { count in
                count += 1
                return count
            }
            if count == 2 { server.open("bars") }
        }
        let console = Console(input: -1, output: MemorySink(), error: terminal)
        let folder = try TemporaryFile()
        let runs = ["one", "two"].map { name in
            RequestRun(
                request: HTTPRequest(server.urlString("/\(name)")),
                file: FileTarget(name: .path(RawText("\(folder.folder)/\(name)")), options: []),
                options: Options(),
                configuration: SessionConfiguration(), console: console)
        }
        let outcomes = await Batch(runs: runs, options: Options(), console: console).run()
        #expect(outcomes.map { $0.transfer?.file } == ["one", "two"].map { "\(folder.folder)/\($0)" })
        let text = String(decoding: terminal.content, as: UTF8.self)
        #expect(text.contains("\rone  "))
        #expect(text.contains("\ntwo  "))
        #expect(text.contains("one  1 B\u{1B}[K\n"))
        #expect(text.contains("two  1 B\u{1B}[K\n"))
    }
}
