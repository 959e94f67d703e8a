import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

/// What only a process of its own can show.
@Suite(.serialized, .enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
struct ProgramTests {
    private let path = ProgramRun.path ?? ""

    @Test func versionListsLibrariesAndFeatures() async throws {
        let run = try ProgramRun(path, "--version")
        let lines = await run.readAll().split(separator: "\n")
        #expect(await run.wait() == 0)
        #expect(lines.count == 5)
        for (line, name) in zip(lines, ["swiftaf 0", "libafcore 0", "libcurl 7", "OpenSSL 3", "features "]) {
            #expect(line.hasPrefix(name.dropLast()))
        }
    }

    @Test func demoPassesAllSteps() async throws {
        let run = try ProgramRun(path, "demo")
        let text = await run.readAll()
        #expect(await run.wait() == 0, "\(text)")
        #expect(text.contains("All 10 steps passed."))
        #expect(!text.contains("\u{1B}"))
        #expect((30...50).contains(text.split(separator: "\n", omittingEmptySubsequences: false).count))
    }

    @Test func theFirstInterruptCancels() async throws {
        let server = try TestServer()
        server.route("/", .stall(at: "never"))
        let run = try ProgramRun(path, "get", server.urlString(), "--idle-timeout", "0", "--json")
        #expect(await server.wait(for: .stalled(at: "never")))
        run.interrupt()
        let report = try await JSONValue(parsing: run.readAll())
        #expect(await run.wait() == 130)
        #expect(report["ok"] == false)
        #expect(report["error"]?["code"] == "cancelled")
    }

    /// Nobody reads, so the program hangs in a write that no cancellation reaches.
    @Test func theSecondInterruptEnds() async throws {
        let server = try TestServer()
        server.route("/", .respond(repeating: Data(repeating: 0x61, count: 64 << 10), count: 64))
        let run = try ProgramRun(path, "get", server.urlString())
        #expect(await !run.readSome().isEmpty)
        // Signals that come close together are merged into one, so two are not always two.
        while !run.hasEnded { run.interrupt() }
        #expect(await run.wait() == 130)
    }
}
