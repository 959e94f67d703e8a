import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Files that are read whole: each kind has a maximum size, which a device without an end exceeds.
@Suite(.timeLimit(.minutes(2))) struct InputLimitTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
    }

    @Test(arguments: [
        (["X:@/dev/zero"], "/dev/zero", "1 MiB"), (["q==@/dev/zero"], "/dev/zero", "1 MiB"),
        (["-u", "@/dev/zero"], "--user", "64 KiB"), (["--bearer", "@/dev/zero"], "--bearer", "64 KiB"),
        (["-x", "@/dev/zero"], "--proxy", "64 KiB"), (["-b", "@/dev/zero"], "-b", "64 KiB"),
        (["--netrc=/dev/zero"], "/dev/zero", "8 MiB"), (["--cacert", "/dev/zero"], "/dev/zero", "8 MiB"),
        (["--cert", "/dev/zero"], "/dev/zero", "8 MiB"), (["--pin-cert", "/dev/zero"], "/dev/zero", "8 MiB"),
        (["-b", "/dev/zero"], "/dev/zero", "32 MiB"), (["--cookies", "/dev/zero"], "/dev/zero", "32 MiB"),
        (["-F", "a=</dev/zero;type=text/x"], "/dev/zero", "64 MiB"),
        (["--data-urlencode", "@/dev/zero"], "/dev/zero", "64 MiB"),
    ])
    func refusesInputWithoutEnd(words: [String], name: String, limit: String) async {
        let run = await swiftaf([server.urlString()] + words)
        #expect(run.exit == 1 && server.requests.isEmpty)
        #expect(run.error.contains(name) && run.error.contains(" is larger than \(limit), the limit for "))
    }

    @Test func refusesKeyWithoutEnd() async throws {
        let certificate = try TemporaryFile("")
        let run = await swiftaf(server.urlString(), "--cert", certificate.path, "--key", "/dev/zero")
        #expect(run.exit == 1 && run.error.contains("/dev/zero is larger than 8 MiB"))
    }

    @Test func acceptsFileOfTheMaximumSize() throws {
        let file = try TemporaryFile("")
        let limit = InputKind.secret.maximumSize
        #expect(truncate(file.path, off_t(limit)) == 0)
        #expect(try InputFile.bytes(RawText(file.path), as: .secret).count == limit)
        #expect(truncate(file.path, off_t(limit + 1)) == 0)
        #expect(throws: Failure.self) { try InputFile.bytes(RawText(file.path), as: .secret) }
    }

    @Test func endsReadingRegularFileOfCancelledRun() async throws {
        let file = try TemporaryFile("a")
        let path = RawText(file.path)
        let read = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            #expect(throws: Failure.self) { try InputFile.bytes(path, as: .item) }
            return try InputFile.bytes(path, as: .item, stopsWithRun: false)
        }
        #expect(try await read.value == Data("a".utf8))
    }

    @Test func endsReadingRegularFileAtTheTimeLimit() async throws {
        let file = try TemporaryFile("a")
        Deadline.$current.withValue(.now) {
            let failure = #expect(throws: Failure.self) { try InputFile.bytes(RawText(file.path), as: .item) }
            #expect(failure?.code.name == "timeout")
        }
    }

    @Test(arguments: [["-d", "@-"], ["-F", "a=@-"], ["-F", "a=<-"]])
    func sendsNothingIfStandardInputIsClosed(words: [String]) async throws {
        let arguments = ["post", server.urlString()] + words
        let run = try await Launch(arguments.map { RawText($0) }, shell: "exec <&-").end()
        #expect(run.exit == 1 && run.error.contains("standard input can't be read") && server.requests.isEmpty)
    }

    @Test func reportsLimitOfFileSize() async throws {
        server.route("/", .respond(200, body: Data(repeating: 97, count: 64 << 10)))
        let folder = try TemporaryFolder()
        let run = try await Launch(
            ["get", RawText(server.urlString()), "-o", folder.path("out")], shell: "ulimit -f 8"
        ).end()
        #expect(run.exit == 8 && run.error.contains("File too large"))
    }

    /// Wherever the descriptors run out.
    @Test(arguments: 6...12)
    func reportsLimitOfOpenFiles(limit: Int) async throws {
        server.route("/", .respond(200, body: Data(repeating: 97, count: 2 << 20)))
        let run = try await Launch(["get", RawText(server.urlString())], shell: "ulimit -n \(limit)").end()
        #expect(run.exit == 0 || run.error.lowercased().contains("too many open files"), "\(run.error)")
    }

    @Test func endsBySIGQUIT() async throws {
        server.route("/", [.stall(at: "never")])
        let run = try Launch(["get", RawText(server.urlString())])
        #expect(await server.wait(for: .stalled(at: "never")))
        run.send(SIGQUIT)
        #expect(try await run.end().exit == nil)
    }

    @Test func reportsNameThatIsTooLongForAPartialFile() async throws {
        server.route("/", .text("content"))
        let folder = try TemporaryFolder()
        let path = folder.path + "/" + String(repeating: "n", count: 255)
        let run = await swiftaf("download", server.urlString(), "-o", path)
        #expect(run.exit == 8 && run.error.contains("File name too long") && folder.names.isEmpty)
    }
}
