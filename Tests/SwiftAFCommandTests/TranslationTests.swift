import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// The table of docs/cli.md: what curl sends, and what the translations send.
@Suite(
    .enabled(if: ProgramRun.path != nil && access("/usr/bin/curl", X_OK) == 0, "the program or curl is missing"),
    .timeLimit(.minutes(10)))
struct TranslationTests {
    /// Options that need TLS or another address.
    private static let untried = [
        " -k ", "--cacert", " -E ", "--tlsv1.3", "--pinnedpubkey", "--resolve", "--unix-socket", "--doh-url",
    ]

    struct Row: Sendable, CustomTestStringConvertible {
        let curl: String
        let translations: [String]
        var testDescription: String { curl }
    }

    static let rows: [Row] = {
        let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "docs/cli.md")
        let text = (try? String(contentsOf: page, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").filter { $0.hasPrefix("| `curl ") }.map { line in
            let spans = line.split(separator: "`", omittingEmptySubsequences: false).map(String.init)
            let commands = spans.enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
            return Row(curl: commands[0], translations: commands.filter { $0.hasPrefix("swiftaf ") })
        }
    }()

    @Test func theTableHasAHundredLines() {
        #expect(Self.rows.count >= 80 && Self.rows.allSatisfy { !$0.translations.isEmpty })
    }

    @Test(arguments: rows.filter { row in !untried.contains { row.curl.contains($0) } })
    func theTranslationSendsTheSame(row: Row) async throws {
        let expected = try await sent(by: row.curl)
        #expect(expected != nil)
        for line in row.translations {
            let found = try await sent(by: line)
            #expect(found == expected, "\(line)")
        }
    }

    /// The last request that a command line sends; nil if it fails.
    private func sent(by line: String) async throws -> Sent? {
        let server = try TestServer()
        let needsUser = ["joe", "netrc"].contains { line.contains($0) }
        for path in ["/page", "http://a.example/"] {
            server.route(path) { request, connection in
                guard !needsUser || request["Authorization"] != nil else {
                    return try connection.respond(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""])
                }
                try connection.respond(headers: ["Set-Cookie": "a=b"], body: Data("body".utf8))
            }
        }
        let folder = try TemporaryFolder()
        folder.write("content", to: "file")
        folder.write("content", to: "file.png")
        folder.write("{\"x\":1}", to: "file.json")
        folder.write("machine 127.0.0.1 login joe password pw", to: "netrc")
        let shell =
            "cd '\(folder.path)' && PATH=.:$PATH && "
            + line.replacing("URL", with: server.urlString("/page")).replacing("PROXY", with: server.urlString(""))
        #expect(symlink(ProgramRun.path ?? "", folder.path + "/swiftaf") == 0)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        defer { posix_spawn_file_actions_destroy(&actions) }
        let words = ["/bin/sh", "-c", shell].map { RawText($0) }
        let process = try Launch.spawn(words, ["HOME": folder.path], &actions)
        guard await Launch.wait(for: process) == 0, let request = server.requests.last else { return nil }
        return Sent(request, namesProgram: line.contains("-A "), port: server.port)
    }

    /// What both programs have to send alike.
    struct Sent: Equatable {
        var method: String
        var target: String
        var body: String
        var fields: [String]

        init(_ request: TestServer.Request, namesProgram: Bool, port: some BinaryInteger) {
            method = request.method
            // A space has two spellings in forms and queries.
            target = request.target.replacing("+", with: "%20")
            let boundary = request["Content-Type"]?.split(separator: "boundary=").last.map(String.init) ?? "none"
            body = request.bodyText.replacing(boundary, with: "boundary").replacing("+", with: "%20")
            let own = [
                "accept-encoding", "connection", "content-length", "transfer-encoding", "expect", "proxy-connection",
            ]
            fields = request.headers.compactMap { field in
                let name = field.name.lowercased()
                guard !own.contains(name), name != "user-agent" || namesProgram else { return nil }
                let value = field.value.replacing(boundary, with: "boundary").replacing(":\(port)", with: "")
                return "\(name): \(value)"
            }
            .sorted()
        }
    }
}
