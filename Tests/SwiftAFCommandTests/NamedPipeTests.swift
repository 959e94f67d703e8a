import AFTestServer
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Named pipes as input. They are read once there is a writer, unless the run is cancelled.
@Suite(.timeLimit(.minutes(5))) struct NamedPipeTests {
    private static let words = [
        ["-d", "@PIPE"], ["-T", "PIPE"], ["a=@PIPE"], ["a:=@PIPE"], ["--multipart", "a=@PIPE"],
    ]

    private let server: TestServer
    private let folder: TemporaryFolder
    private var pipe: String { folder.path + "/pipe" }

    init() throws {
        server = try TestServer()
        folder = try TemporaryFolder()
        server.route("/", .text("done"))
        #expect(mkfifo(folder.path + "/pipe", 0o600) == 0)
    }

    private func arguments(_ words: [String]) -> [String] {
        ["post", server.urlString()] + words.map { $0.replacing("PIPE", with: pipe) }
    }

    /// Opens the pipe for writing, as soon as it has a reader.
    private func writer() async -> Int32 {
        while true {
            let descriptor = open(pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            if descriptor >= 0 { return descriptor }
            await Task.yield()
        }
    }

    @Test(arguments: ["--har", "-c"])
    func aPipeWithoutAReaderIsNamed(option: String) async {
        let run = await swiftaf(server.urlString(), option, pipe)
        #expect(run.exit == 8 && run.error.contains("the pipe \(pipe) has no reader") && run.text == "done")
    }

    @Test(arguments: words + [["X:@PIPE"], ["q==@PIPE"], ["--bearer", "@PIPE"], ["--cacert", "PIPE"]])
    func cancellingEndsTheWaitForAWriter(words: [String]) async {
        let arguments = arguments(words)
        let run = Task { await swiftaf(arguments) }
        run.cancel()
        #expect(await run.value.exit == 130)
    }

    @Test(.enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"), arguments: words)
    func aWriterThatComesLaterIsReadToItsEnd(words: [String]) async throws {
        // Not in this process: reading blocks a thread, and tests have few.
        let run = try Launch(arguments(words).map { RawText($0) })
        let writer = await writer()
        for text in ["1", "2"] {
            #expect(text.withCString { write(writer, $0, 1) } == 1)
            await Task.yield()
        }
        close(writer)
        #expect(try await run.end().exit == 0)
        #expect(server.requests.first?.bodyText.contains("12") == true)
    }

    @Test(arguments: [["a=@PIPE"], ["X:@PIPE"], ["q==@PIPE"], ["--bearer", "@PIPE"], ["--cacert", "PIPE"]])
    func theWaitForAWriterIsLimited(words: [String]) async {
        let run = await swiftaf(arguments(words) + ["--timeout", "0.1", "--json"])
        #expect(run.exit == 4 && run.json["error"]?["reason"] == "total" && server.requests.isEmpty)
    }

    @Test func theWaitForStandardInputCounts() async throws {
        let input = try InputPipe()
        let run = await swiftaf(server.urlString(), "--timeout", "0.1", "--json", input: input.reading)
        #expect(run.exit == 4 && run.json["error"]?["reason"] == "total" && server.requests.isEmpty)
        withExtendedLifetime(input) {}
    }

    @Test func theWaitForAReaderIsLimited() async {
        let run = await swiftaf(server.urlString(), "-o", pipe, "--timeout", "0.1", "--json")
        #expect(
            run.exit == 4 && run.json["error"]?["reason"] == "total" && run.error.contains("; --timeout S allows more"))
        #expect(server.requests.isEmpty)
    }

    @Test(
        .enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"),
        arguments: words, [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
    func aSignalEndsTheWaitForInput(words: [String], signal: (number: Int32, status: Int32)) async throws {
        let run = try TerminalRun(arguments(words))
        let writer = await writer()
        run.send(signal.number)
        #expect(await run.end() == signal.status)
        #expect(run.screen == ["swiftaf: cancelled"])
        close(writer)
    }
}
