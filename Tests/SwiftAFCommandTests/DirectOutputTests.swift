import AFTestServer
import Dispatch
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Bodies that the core writes straight to standard output.
@Suite struct DirectOutputTests {
    let server: TestServer

    init() throws {
        server = try TestServer()
    }

    /// Runs the program with a socket as standard output, whose reader takes what `reader` takes of it.
    private func run(
        _ arguments: String..., reader: @escaping @Sendable (Int32) -> Data = DirectOutputTests.readAll
    ) async throws -> (exit: ExitCode, output: Data, error: String) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, streamCloseOnExec, 0, &ends) == 0)
        let (reading, writing) = (ends[0], ends[1])
        let error = MemorySink()
        async let output = withCheckedContinuation { continuation in
            DispatchQueue(label: "tests.reader").async { continuation.resume(returning: reader(reading)) }
        }
        let console = Console(input: -1, output: DescriptorSink(descriptor: writing), error: error)
        let exit = await Runner(console: console).run(arguments)
        close(writing)
        return (exit, await output, String(decoding: error.content, as: UTF8.self))
    }

    @Sendable private static func readAll(_ descriptor: Int32) -> Data {
        var all = Data()
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = read(descriptor, &bytes, bytes.count), count > 0 { all += bytes.prefix(count) }
        close(descriptor)
        return all
    }

    @Test func bodiesAreWrittenUnchanged() async throws {
        let body = Data((0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
        server.route("/", .respond(200, headers: ["Content-Type": "application/json"], body: body))
        let run = try await run("get", server.urlString())
        #expect(run.exit == .success && run.output == body && run.error == "")
    }

    @Test func headsComeBeforeTheBody() async throws {
        server.route("/", .respond(404, headers: ["X": "1"], body: Data("body".utf8)))
        let run = try await run("get", "-i", server.urlString())
        let text = "HTTP/1.1 404 Not Found\r\nX: 1\r\nContent-Length: 4\r\n\r\nbody"
        #expect(run.exit == .status && String(decoding: run.output, as: UTF8.self) == text)
    }

    @Test func longHeadsComeBeforeTheBody() async throws {
        let value = String(repeating: "x", count: 100_000)
        server.route("/", .respond(200, headers: ["X": value], body: Data("body".utf8)))
        let run = try await run("get", "-i", server.urlString())
        let text = "HTTP/1.1 200 OK\r\nX: \(value)\r\nContent-Length: 4\r\n\r\nbody"
        #expect(run.exit == .success && String(decoding: run.output, as: UTF8.self) == text)
    }

    @Test func metricsComeBehindTheBody() async throws {
        server.route("/", .respond(200, body: Data("body\n".utf8)))
        let run = try await run("get", "--print", "bm", server.urlString())
        #expect(String(decoding: run.output, as: UTF8.self).hasPrefix("body\n\n") && run.output.count > 10)
    }

    @Test func whatCameBeforeAFailureIsWritten() async throws {
        let half = Data(repeating: 0x78, count: 1 << 20)
        server.route("/", [.respond(200, headers: ["Content-Length": "\(2 << 20)"], body: half), .close])
        let run = try await run("get", server.urlString())
        #expect(run.exit == .network && run.output == half)
    }

    @Test func limitOfTheBodyCounts() async throws {
        server.route("/", .respond(200, body: Data(count: 1 << 20)))
        let run = try await run("get", "--max-body", "1K", server.urlString())
        #expect(run.exit == .limit && run.output.isEmpty)
    }

    @Test func aReaderThatLeavesEndsTheTransfer() async throws {
        server.route("/", .respond(repeating: Data(count: 1 << 16), count: nil))
        let run = try await run("get", server.urlString()) { descriptor in
            var byte: UInt8 = 0
            let count = read(descriptor, &byte, 1)
            close(descriptor)
            return count == 1 ? Data([byte]) : Data()
        }
        #expect(run.exit == .file && run.output.count == 1)
        #expect(run.error == "swiftaf: standard output can't be written: Broken pipe\n")
    }

    @Test func bodiesOfErrorsAreHidden() async throws {
        server.route("/", .respond(404, body: Data("body".utf8)))
        let run = try await run("get", "-f", server.urlString())
        #expect(run.exit == .status && run.output.isEmpty)
    }

    @Test(arguments: [false, true])
    func regularFilesAreWritten(isLarge: Bool) async throws {
        let body = Data(repeating: 0x78, count: isLarge ? 2 << 20 : 1000)
        server.route("/", .respond(200, body: body))
        let folder = try TemporaryFolder()
        let path = folder.path + "/file"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        let console = Console(input: -1, output: DescriptorSink(descriptor: descriptor), error: MemorySink())
        for _ in 0..<2 { #expect(await Runner(console: console).run(["get", server.urlString()]) == .success) }
        close(descriptor)
        #expect(try Data(contentsOf: URL(filePath: path)) == body + body)
    }
}
