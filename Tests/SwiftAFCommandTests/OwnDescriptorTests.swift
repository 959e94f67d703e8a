import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Paths that name a descriptor of the program, and named pipes: they are written to, and never replaced.
@Suite(.timeLimit(.minutes(5)), .enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
struct OwnDescriptorTests {
    private let server: TestServer
    private let folder: TemporaryFolder
    private var url: RawText { RawText(server.urlString()) }
    private var log: String { folder.path + "/log" }

    init() throws {
        server = try TestServer()
        folder = try TemporaryFolder()
        server.route("/", .respond(headers: ["Set-Cookie": "a=b"], body: Data("body\n".utf8)))
        server.route("/gone", .text("error page", status: 404))
        folder.write("before\n", to: "log")
    }

    // MARK: Descriptors

    @Test(
        arguments: ["get", "download"],
        [
            ("/dev/stdout", 1), ("/dev/stderr", 2), ("/dev/fd/3", 3), ("/proc/self/fd/3", 3), ("link", 3),
            ("/proc/thread-self/fd/3", 3),
        ] as [(RawText, Int32)])
    func descriptorsAreAppendedTo(command: RawText, target: (path: RawText, number: Int32)) async throws {
        #expect(symlink("/dev/fd/3", folder.path + "/link") == 0)
        let run = try await launch(
            command, url, "-q", "-o", target.path, folder: folder.path, shell: "exec \(target.number)>>'\(log)'")
        #expect(run.exit == 0)
        #expect(folder.content(of: "log") == "before\nbody\n")
        #expect(folder.names.count == 2)
    }

    @Test func headsAndErrorsOfDescriptors() async throws {
        let shell = "exec 3>>'\(log)'"
        #expect(try await launch("head", url, "-o", "/dev/fd/3", shell: shell).exit == 0)
        #expect(folder.content(of: "log")?.hasPrefix("before\nHTTP/1.1 200 OK\r\n") == true)
        let gone = try await launch(RawText(server.urlString("/gone")), "-o", "/dev/fd/4")
        #expect(gone.exit == 8 && gone.error.contains("/dev/fd/4 can't be written: Bad file descriptor"))
        let report = try await launch(url, "--json", "-o", "/dev/stdout")
        #expect(report.exit == 1 && report.code == "usage" && server.requests.count == 1)
    }

    @Test(arguments: ["--har", "-c"])
    func filesOfARunAreAppendedToDescriptors(option: RawText) async throws {
        let run = try await launch(url, option, "/dev/fd/3", shell: "exec 3>>'\(log)'")
        #expect(run.exit == 0 && run.text == "body\n")
        #expect(folder.content(of: "log")?.hasPrefix("before\n") == true)
        #expect((folder.content(of: "log")?.count ?? 0) > 10 && folder.names.count == 1)
    }

    // MARK: Pipes

    /// Runs with a named pipe as the file, and returns what its reader got.
    private func piped(_ words: RawText...) async throws -> (run: RunResult, text: String) {
        let pipe = folder.path + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let reading = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reading) }
        let run = try await Launch(words + ["-o", RawText(pipe)]).end()
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(reading, &bytes, bytes.count)
        return (run, String(decoding: bytes.prefix(max(0, count)), as: UTF8.self))
    }

    @Test(arguments: ["get", "download"])
    func pipesGetNoErrorPages(command: RawText) async throws {
        let (run, text) = try await piped(command, RawText(server.urlString("/gone")), "--json")
        #expect(run.exit == 2 && text.isEmpty)
        #expect(run.json["file"] == .null && run.json["bodyBytes"] == 10 && run.json["body"] == .null)
    }

    @Test func reportsAboutPipesAreComplete() async throws {
        let (run, text) = try await piped(url, "--json")
        #expect(run.exit == 0 && text == "body\n")
        #expect(run.json["file"]?.string == folder.path + "/pipe" && run.json["bodyBytes"] == 5)
        #expect(run.json["timings"] != .null && run.json["received"] == 5 && run.json["body"] == .null)
    }

    @Test func downloadsToPipesSayWhereTheyWrote() async throws {
        let (run, text) = try await piped("download", url)
        #expect(run.exit == 0 && text == "body\n" && run.error.hasSuffix("/pipe, 5 B\n"))
    }

    @Test func acceptedStatusesGoToPipes() async throws {
        let (run, text) = try await piped(RawText(server.urlString("/gone")), "--accept-status", "404")
        #expect(run.exit == 0 && text == "error page")
    }

    @Test func pipesAreNotResumed() async throws {
        let (run, _) = try await piped("download", url, "--resume")
        #expect(run.exit == 1 && run.error.contains("--resume needs a regular file"))
        #expect(await swiftaf("download", server.urlString(), "--resume", "-o", "-").exit == 1)
    }

    // MARK: Files

    @Test func headsReplaceFilesAtomically() async throws {
        let descriptor = open(log, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        #expect(await swiftaf("head", server.urlString(), "-o", log).exit == 0)
        #expect(folder.content(of: "log")?.hasPrefix("HTTP/1.1 200 OK\r\n") == true && folder.names.count == 1)
        // A process that has opened the former file reads it to its end.
        var bytes = [UInt8](repeating: 0, count: 16)
        #expect(read(descriptor, &bytes, bytes.count) == 7)
        #expect(await swiftaf("head", server.urlString(), "-o", log, "--no-clobber").exit == 8)
    }

    @Test(arguments: ["--har", "-c", "--cookies", "--hsts", "-o"])
    func filesMayHaveTheLongestNames(option: String) async throws {
        for size in [243, 255] {
            let name = String(repeating: "n", count: size)
            #expect(await swiftaf("get", server.urlString(), option, "\(folder.path)/\(name)").exit == 0)
            #expect(folder.content(of: RawText(name)) != nil)
        }
        #expect(folder.names.count == 3)
    }
}
