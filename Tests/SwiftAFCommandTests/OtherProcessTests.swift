import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

/// Downloads that one process begins and another one finishes.
@Suite(.enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
struct OtherProcessTests {
    private static let size = 300_000
    private static let tag = "\"one\""
    private static let content = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 / 251 &+ $0) })

    private let program = ProgramRun.path ?? ""
    private let server: TestServer
    private let file: TemporaryFile
    private var url: String { server.urlString("/film") }

    init() throws {
        server = try TestServer()
        file = try TemporaryFile()
        server.route("/film") { request, connection in
            guard let range = request["Range"], request["If-Range"] == Self.tag,
                let start = Int(range.dropFirst("bytes=".count).dropLast())
            else { return try connection.respond(headers: ["ETag": Self.tag], body: Self.content) }
            let place = "bytes \(start)-\(Self.size - 1)/\(Self.size)"
            try connection.respond(
                206, headers: ["ETag": Self.tag, "Content-Range": place], body: Self.content[start...])
        }
    }

    private func size(of path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// A token as a program would keep it: as JSON in a file.
    private func kept(_ token: ResumeToken) throws -> ResumeToken {
        let place = URL(filePath: file.folder + "/token.json")
        try JSONEncoder().encode(token).write(to: place)
        defer { try? FileManager.default.removeItem(at: place) }
        return try JSONDecoder().decode(ResumeToken.self, from: try Data(contentsOf: place))
    }

    /// Killed, a process says nothing more: its token is what lies beside the file.
    @Test(arguments: [70_000, 150_000, 299_999])
    func resumesDownloadOfKilledProcess(count: Int) async throws {
        let head = "HTTP/1.1 200 OK\r\nETag: \(Self.tag)\r\nContent-Length: \(Self.size)\r\n\r\n"
        server.route("/film", times: 1, [.send(head), .send(Self.content.prefix(count)), .stall(at: "never")])
        let run = try ProgramRun(program, "download", url, "-o", file.path, "-q", "--idle-timeout", "0")
        #expect(await server.wait(for: .stalled(at: "never")))
        // What was sent is there only once it was written.
        while size(of: file.path + ".part") == 0, !run.hasEnded { await Task.yield() }
        run.kill()
        #expect(await run.wait() == -1)
        #expect(file.content == nil)

        let text = try String(contentsOfFile: file.path + ".part.resume", encoding: .utf8)
        let token = try kept(try ResumeToken(text: text, filePath: file.path))
        #expect(token.url == url)
        let answer = try await HTTPSessionManager().download(token.url, to: .resuming(token))
        #expect(answer.resumption == .resumed)
        #expect(answer.offset > 0 && answer.offset <= count)
        #expect(file.content == Self.content)
        #expect(file.names == ["file"])
    }

    @Test func resumesDownloadOfAnotherProcess() async throws {
        server.route(
            "/film", times: 1,
            .truncated(headers: ["ETag": Self.tag], body: Self.content.prefix(100_000), promising: Self.size))
        let error = await #expect(throws: SessionError.self) {
            try await HTTPSessionManager().download(
                HTTPRequest(url), to: file.path, options: .keepsPartialFile)
        }
        let token = try kept(try #require(error?.resumeToken))
        #expect(token.bytesReceived == 100_000)
        let run = try ProgramRun(program, "download", token.url, "-o", token.filePath, "--resume", "--json")
        let report = try await JSONValue(parsing: run.readAll())
        #expect(await run.wait() == 0)
        #expect(report["status"] == 206)
        #expect(report["received"]?.integer == Int64(Self.size - 100_000))
        #expect(file.content == Self.content)
        #expect(file.names == ["file"])
    }
}
