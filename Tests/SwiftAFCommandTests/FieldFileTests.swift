import AFTestServer
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Body fields whose value is a file: they are built in memory.
@Suite(.timeLimit(.minutes(2))) struct FieldFileTests {
    private let server: TestServer
    private let file: TemporaryFile

    init() throws {
        server = try TestServer()
        file = try TemporaryFile("")
    }

    @Test(arguments: [["a=@"], ["a:=@"], ["--form", "a=@"], ["--multipart", "a=@"]])
    func aLargeFileIsRefusedAtOnce(words: [String]) async {
        #expect(truncate(file.path, off_t(InputKind.field.maximumSize + 1)) == 0)
        let run = await swiftaf(["put", server.urlString()] + words.dropLast() + [words[words.count - 1] + file.path])
        #expect(run.exit == 1 && server.requests.isEmpty)
        #expect(run.error.contains("64") && run.error.contains("; -d @PATH sends a file of any size"))
    }

    /// Encoding the body doesn't notice that the run is cancelled, and takes much longer than the program waits for it.
    /// `timeout` and a closing terminal send two signals at once, of which the second mustn't switch off that limit.
    @Test(.enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
    func signalsEndABodyThatIsBeingBuilt() async throws {
        let size = 48 << 20
        #expect(truncate(file.path, off_t(size)) == 0)
        let run = try ProgramRun(ProgramRun.path ?? "", "put", server.urlString(), "a=@\(file.path)")
        // Nothing but the content of the file, and then its text, takes that much memory.
        while let bytes = run.peakResidentBytes, bytes < 2 * size { await Duration.milliseconds(5).pause() }
        #expect(!run.hasEnded)
        let start = Instant.now
        run.interrupt()
        run.interrupt(with: SIGTERM)
        #expect(await run.wait() == 130)
        #expect(Instant.now - start < .seconds(20))
        #expect(server.requests.isEmpty)
    }

    @Test func fieldsAreWrittenInOrder() throws {
        let text = JSONText.object([("a", .string("x\0\"")), ("b", .array([.null, .string("")])), ("c", .object([]))])
        #expect(String(decoding: text.bytes, as: UTF8.self) == #"{"a":"x\u0000\"","b":[null,""],"c":{}}"#)
        #expect(text.depth == 2 && JSONText.string("[[").depth == 0)
    }
}
