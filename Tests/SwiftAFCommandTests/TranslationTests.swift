import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// The table of docs/cli-from-curl.md: what curl sends, and what the translations send.
@Suite(
    .enabled(if: ProgramRun.isExpected && access("/usr/bin/curl", X_OK) == 0, "the program or curl is missing"),
    .timeLimit(.minutes(10)))
struct TranslationTests {
    /// Options that are tried over TLS.
    private static let trusting = [
        " -k ", " --cacert ", " -E ", "--tlsv1.3", "--tls-min", "--pinnedpubkey", "--pin ",
    ]

    struct Row: Sendable, CustomTestStringConvertible {
        let curl: String
        /// Nil if HTTPie has no such option.
        let httpie: String?
        let translations: [String]
        var testDescription: String { curl }
    }

    static let rows: [Row] = {
        let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "docs/cli-from-curl.md")
        let text = (try? String(contentsOf: page, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").filter { $0.hasPrefix("| `curl ") }.map { line in
            let spans = line.split(separator: "`", omittingEmptySubsequences: false).map(String.init)
            let commands = spans.enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
            return Row(
                curl: commands[0], httpie: commands.first { $0.hasPrefix("http ") },
                translations: commands.filter { $0.hasPrefix("swiftaf ") })
        }
    }()

    @Test func theTableHasAHundredLines() {
        #expect(Self.rows.count >= 100 && Self.rows.allSatisfy { !$0.translations.isEmpty })
    }

    @Test(arguments: rows)
    func theTranslationSendsTheSame(row: Row) async throws {
        let expected = try await sent(by: row.curl, like: row.curl)
        #expect(expected != nil)
        for line in row.translations {
            let found = try await sent(by: line, like: row.curl)
            #expect(found == expected, "\(line)")
        }
    }

    /// Where `Scripts/setup` installs HTTPie.
    private static let httpie: String? = {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["XDG_CACHE_HOME"] ?? (environment["HOME"] ?? "") + "/.cache"
        let path = (environment["AF_VENV"] ?? cache + "/swiftaf/venv") + "/bin/http"
        return access(path, X_OK) == 0 ? path : nil
    }()

    @Test(
        .enabled(if: httpie != nil, "HTTPie is missing: run Scripts/setup"),
        arguments: rows.filter { $0.httpie != nil })
    func httpieSendsTheSame(row: Row) async throws {
        let line = try #require(row.httpie)
        let translation = try #require(row.translations.first)
        let found = try await sent(by: line, like: row.curl)
        let expected = try await sent(by: translation, like: row.curl)
        #expect(found?.inHTTPiesTerms(line) == expected?.inHTTPiesTerms(line))
        #expect(found != nil && expected != nil)
    }

    /// `--as-curl` prints a line that sends the same, and follows the same redirects.
    @Test(arguments: [
        "swiftaf URL q==1", "swiftaf URL a=1 b:=2", "swiftaf URL --form a=1", "swiftaf put URL X-A:b a=1",
        "swiftaf head URL", "swiftaf delete URL", "swiftaf URL -d text", "swiftaf upload URL f@file.png",
        "swiftaf URL -d @file", "swiftaf URL -H 'X-A: b c' -A own", "swiftaf MOVED", "swiftaf MOVED -d text",
        "swiftaf MOVED --max-redirects 1", "swiftaf MOVED --no-redirects --accept-status 302",
        "swiftaf http://a.example:PORT/page --resolve a.example:PORT:127.0.0.1",
        "swiftaf URL --netrc=netrc", "swiftaf URL --cookies cookies", "swiftaf http://a.example/ --proxy PROXY",
        "swiftaf URL --no-compressed", "swiftaf URL -i", "swiftaf -O URL", "swiftaf download URL -o out",
        "swiftaf URL --limit-rate 1M --retry 1 -4 --timeout 60", "swiftaf -P . URL", "swiftaf -OJ URL",
        "swiftaf URL -c jar --noproxy '*'", "swiftaf -k URL", "swiftaf --tls-min 1.3 URL", "swiftaf --pin PIN URL",
        "swiftaf -E me.pem --key key.pem URL", "swiftaf 'http://127.0.0.1:PORT/page?a b\"<c>\\^`{|}[d]%7Be'",
    ])
    func theCurlCommandSendsTheSame(line: String) async throws {
        let expected = try await sent(by: line)
        #expect(expected != nil)
        #expect(try await sent(by: "\(line) --as-curl > script && sh script") == expected)
    }

    @Test func theCurlCommandHasNoPassword() async throws {
        let run = await swiftaf(
            "http://j%20e:s3cret@example.org/", "--proxy", "http://ann:s3cret@proxy.example:1", "--key", "k",
            "--cert", "c", "--key-password", "s3cret", "--as-curl")
        #expect(run.exit == 0 && run.text.contains("--proxy http://proxy.example:1") && !run.text.contains("s3cret"))
        #expect(run.text.contains("--anyauth --user NAME ") && !run.text.contains("j e"))
        let resolved = await swiftaf("example.org", "--doh", "https://ann:s3cret@dns.example/q", "--as-curl")
        #expect(resolved.text.contains("--doh-url https://dns.example/q") && !resolved.text.contains("s3cret"))
        let asked = await swiftaf("example.org", "--user", "joe:s3cret", "--auth", "digest", "--as-curl")
        #expect(asked.text.contains("--digest --user joe ") && !asked.text.contains("s3cret"))
        let secret = try TemporaryFile("ann:s3cret\n")
        let stored = await swiftaf("example.org", "--user", "@\(secret.path)", "--as-curl")
        #expect(stored.text.contains("--anyauth --user ann ") && !stored.text.contains("s3cret"))
        #expect(await swiftaf("example.org", "--auth", "negotiate", "--as-curl").text.contains("--negotiate --user :"))
    }

    /// The last request that a command line sends, and what comes out; nil if it fails.
    ///
    /// - Parameter curl: The line of curl that means the same; nil for `line` itself.
    private func sent(by line: String, like curl: String? = nil) async throws -> Sent? {
        let folder = try TemporaryFolder()
        let meaning = curl ?? line
        let isTrusting = Self.trusting.contains { meaning.contains($0) }
        let server = try isTrusting ? secureServer(folder) : TestServer()
        let needsUser = ["joe", "netrc"].contains { meaning.contains($0) }
        for path in ["/page", "/", "/file"] {
            server.route(path) { request, connection in
                guard !needsUser || request["Authorization"] != nil else {
                    return try connection.respond(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""])
                }
                try connection.respond(headers: ["Set-Cookie": "a=b"], body: Data("body".utf8))
            }
        }
        server.route("/moved", .redirect(to: "/page"))
        folder.write("127.0.0.1\tFALSE\t/\tFALSE\t0\ta\tb\n", to: "cookies")
        folder.write("content", to: "file")
        folder.write("content", to: "file.png")
        folder.write("{\"x\":1}", to: "file.json")
        folder.write("machine 127.0.0.1 login joe password pw", to: "netrc")
        let names = line.contains("--doh") ? try nameServer(folder) : nil
        let relay = line.contains("--unix-socket") ? try Relay(path: folder.path + "/socket", to: server.port) : nil
        defer { withExtendedLifetime(relay) {} }
        let given = folder.names
        // The lines without trust options of their own need the server's authority.
        let givesTrust = [" -k ", " --cacert "].contains { meaning.contains($0) }
        let isHTTPie = line.hasPrefix("http ")
        let option = isHTTPie ? "--verify=ca.pem " : "--cacert ca.pem "
        let trust = (isTrusting || names != nil) && !givesTrust ? option : ""
        let url = names == nil ? server.urlString("/page") : "http://a.example:\(server.port)/page"
        let shell =
            "cd '\(folder.path)' && PATH=.:$PATH && "
            + (isHTTPie ? onTerminal(line) : line)
            .replacing("URL", with: trust + url)
            .replacing(" D ", with: " \(names?.urlString("/query") ?? "") ")
            .replacing(" S ", with: " socket ")
            .replacing("PROXY", with: server.urlString(""))
            .replacing("MOVED", with: server.urlString("/moved"))
            .replacing("PORT", with: "\(server.port)")
            .replacing("PIN", with: "\"$(cat pin)\"")
        #expect(symlink(ProgramRun.path ?? "", folder.path + "/swiftaf") == 0)
        #expect(symlink(Self.httpie ?? "none", folder.path + "/http") == 0)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(
            &actions, STDOUT_FILENO, folder.path + "/output", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        defer { posix_spawn_file_actions_destroy(&actions) }
        let words = ["/bin/sh", "-c", shell].map { RawText($0) }
        let process = Child(try Launch.spawn(words, ["HOME": folder.path], &actions))
        guard await process.wait() == 0, let request = server.requests.last else { return nil }
        var sent = Sent(request, namesProgram: meaning.contains("-A "), port: server.port)
        // Jars and sessions have comments of their own.
        let own: [RawText] = ["swiftaf", "http", "script", "jar", "s", "s.json", "s.cookies", ".config"]
        for bytes in folder.names.subtracting(given) where !own.contains(RawText(bytes)) {
            sent.files[RawText(bytes)] = folder.content(of: RawText(bytes))
        }
        return sent
    }

    /// HTTPie's line, changed to mean without a terminal what it means on one: there it ignores standard input, and
    /// names the file of a download.
    private func onTerminal(_ line: String) -> String {
        let options = line.contains(" < ") || line.contains("--ignore-stdin") ? "" : " --ignore-stdin"
        let whole = "http" + options + line.dropFirst("http".count)
        return line.contains("--download") ? "script -qec \"\(whole)\" /dev/null" : whole
    }

    /// A server over TLS, with its authority, a client certificate and a pin in the folder.
    private func secureServer(_ folder: TemporaryFolder) throws -> TestServer {
        let authority = try TestCertificate.makeAuthority()
        let (leaf, client) = (try authority.issue(), try authority.issueClient(commonName: "me"))
        folder.write(authority.pem, to: "ca.pem")
        folder.write(client.pem, to: "me.pem")
        folder.write(client.keyPEM, to: "key.pem")
        folder.write("sha256//" + leaf.publicKeySHA256.base64EncodedString(), to: "pin")
        var tls = TestServer.TLS(leaf)
        tls.clientAuthorityPEM = authority.pem
        return try TestServer(tls: tls)
    }

    /// A server of DNS over HTTPS (RFC 8484), which has one address for all names: 127.0.0.1.
    private func nameServer(_ folder: TemporaryFolder) throws -> TestServer {
        let server = try secureServer(folder)
        server.route("/query") { request, connection in
            let question = Array(request.body)
            // A head of 12 bytes, labels with their lengths in front, a type and a class of two bytes each.
            var end = 12
            while end + 4 < question.count, question[end] > 0 { end += Int(question[end]) + 1 }
            guard end + 4 < question.count else { return try connection.respond(400) }
            let isAboutIPv4 = question[end + 2] == 1
            let counts: [UInt8] = [0, 1, 0, isAboutIPv4 ? 1 : 0, 0, 0, 0, 0]
            // The name of the question, type A, class IN, for a minute, four bytes.
            let address: [UInt8] = [0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]
            let answer = question[..<2] + [0x81, 0x80] + counts + question[12...end + 4] + (isAboutIPv4 ? address : [])
            try connection.respond(headers: ["Content-Type": "application/dns-message"], body: Data(answer))
        }
        return server
    }

    /// What both programs have to send alike, and to write.
    struct Sent: Equatable {
        var method: String
        var target: String
        var body: String
        var fields: [String]
        /// The files that were written, and the standard output.
        var files: [RawText: String] = [:]

        /// The same without what HTTPie writes differently: JSON with spaces, a charset in the type of a form, what it
        /// accepts. On standard output it writes more than curl for some options, and nothing of a head if there is no
        /// terminal.
        func inHTTPiesTerms(_ line: String) -> Sent {
            var sent = self
            if let json = try? JSONValue(parsing: Data(body.utf8)) { sent.body = json.description }
            sent.fields = fields.filter { !$0.hasPrefix("accept:") }.map { field in
                field.hasPrefix("content-type: ") ? String(field.prefix { $0 != ";" }) : field
            }
            let words = line.split(separator: " ")
            let isDifferent = ["-v", "-q", "-p", "HEAD", "OPTIONS", "--download"].contains { words.contains($0) }
            if isDifferent { sent.files["output"] = nil }
            return sent
        }

        init(_ request: TestServer.Request, namesProgram: Bool, port: some BinaryInteger) {
            method = request.method
            // A space has two spellings in forms and queries.
            target = request.target.replacing("+", with: "%20")
            let parts = request["Content-Type"]?.split(separator: "boundary=") ?? []
            let boundary = parts.count == 2 ? String(parts[1]) : "none"
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
