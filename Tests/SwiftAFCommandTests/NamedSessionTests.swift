import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// `--session NAME`: what later runs send again.
@Suite struct NamedSessionTests {
    private let server: TestServer
    private let folder: TemporaryFolder

    init() throws {
        server = try TestServer()
        folder = try TemporaryFolder()
        server.route("/", .respond(200, headers: ["Set-Cookie": "k=v; Max-Age=1000"]))
    }

    private func run(_ words: String...) async -> RunResult {
        await swiftaf([server.urlString()] + words, environment: ["XDG_CONFIG_HOME": folder.path])
    }

    private func run(_ words: [String]) async -> RunResult {
        await swiftaf([server.urlString()] + words, environment: ["XDG_CONFIG_HOME": folder.path])
    }

    private var place: String { "swiftaf/sessions/http_127.0.0.1_\(server.port)" }

    @Test func laterRunsSendWhatWasKept() async {
        #expect(await run("--session", "a", "X-Token:1", "X-Other:2", "-u", "joe:s3cret", "--auth", "basic").exit == 0)
        #expect(await run("--session", "a", "X-Other:3").exit == 0)
        let second = server.requests.last
        #expect(second?["X-Token"] == "1" && second?["X-Other"] == "3" && second?["Cookie"] == "k=v")
        #expect(second?["Authorization"] == "Basic am9lOnMzY3JldA==")
        // What was replaced stays replaced, what was removed stays removed.
        #expect(await run("--session", "a", "X-Token:").exit == 0)
        #expect(await run("--session", "a").exit == 0)
        #expect(server.requests.last?["X-Other"] == "3" && server.requests.last?["X-Token"] == nil)
        for name in ["a.json", "a.cookies"] {
            #expect(folder.mode(of: RawText("\(place)/\(name)")) & 0o777 == 0o600)
        }
        #expect(folder.mode(of: RawText(place)) & 0o777 == 0o700)
    }

    /// The path is kept, and not what the file held.
    @Test func headersFromFilesAreKept() async {
        let path = folder.path + "/key"
        folder.write("first\n", to: "key")
        #expect(await run("--session", "a", "X-Key:@\(path)", "X-Other:1").exit == 0)
        folder.write("second\n", to: "key")
        for words in [[], ["X-Other:2"]] {
            #expect(await run(["--session", "a"] + words).exit == 0)
            #expect(server.requests.last?["X-Key"] == "second")
        }
        #expect(server.requests.last?["X-Other"] == "2")
        #expect(folder.content(of: RawText("\(place)/a.json"))?.contains("second") == false)
        // As a value does, it replaces what was kept, and is replaced.
        #expect(await run("--session", "a", "X-Other:@\(path)", "X-Key:3").exit == 0)
        #expect(await run("--session", "a").exit == 0)
        #expect(server.requests.last?["X-Other"] == "second" && server.requests.last?["X-Key"] == "3")
        #expect(await run("--session", "a", "X-Other:").exit == 0)
        #expect(await run("--session", "a").exit == 0)
        #expect(server.requests.last?["X-Other"] == nil)
    }

    /// JSON is text, so the session has no place for other bytes.
    @Test func saysThatAHeaderIsNotKept() async {
        let header = RawText(Array("X-Bytes:".utf8) + [0xFF])
        for (words, isNoted) in [([], true), (["-q"], true), (["-s"], false)] {
            var runner = Runner(console: Console(input: -1, output: MemorySink(), error: MemorySink()))
            let error = MemorySink()
            runner.console.error = error
            runner.environment = ["XDG_CONFIG_HOME": folder.path]
            let all = ([server.urlString(), "--session", "a", "X-Text:1"] + words).map { RawText($0) }
            #expect(await runner.run(all + [header]) == .success)
            #expect(server.requests.last?["X-Bytes"] != nil)
            let note = "swiftaf: the session doesn't keep X-Bytes: its value is not UTF-8\n"
            #expect(String(decoding: error.content, as: UTF8.self) == (isNoted ? note : ""))
        }
        #expect(await run("--session", "a").error.isEmpty)
        #expect(server.requests.last?["X-Text"] == "1" && server.requests.last?["X-Bytes"] == nil)
    }

    @Test func notesAreAboutHeadersThatWouldBeKept() {
        let bytes = RawText([0xFF])
        let items: [Item] = [
            .header(name: "If-Match", value: bytes), .headerFromFile(name: "X-File", path: bytes),
            .header(name: "X-Text", value: "a"), .removedHeader(name: "X-None"),
            .field(name: bytes, value: .text(bytes)),
        ]
        let notes = NamedSession.notes(onHeadersOf: RequestCommand(method: .get, url: "http://h/", items: items))
        #expect(notes == ["the session doesn't keep X-File: the path of its file is not UTF-8"])
    }

    @Test func rangesFromFilesAreNotKept() async {
        folder.write("bytes=0-\n", to: "range")
        #expect(await run("--session", "a", "Range:@\(folder.path)/range").exit == 0)
        #expect(await run("--session", "a").exit == 0)
        #expect(server.requests.map { $0["Range"] } == ["bytes=0-", nil])
    }

    @Test func thePathOfTheDocumentNamesTheSession() async {
        #expect(await run("--session", folder.path + "/s.json", "X-Token:1").exit == 0)
        #expect(folder.names.contains(Array("s.json".utf8)) && !folder.names.contains(Array("s.json.json".utf8)))
        #expect(await run("--session", folder.path + "/s").exit == 0)
        #expect(server.requests.last?["X-Token"] == "1")
        let other = await swiftaf("http://h.test:81/", "--session", folder.path + "/s")
        #expect(other.exit == 1 && other.error.contains("the session belongs to http://127.0.0.1:\(server.port); "))
    }

    // MARK: Credentials

    @Test(arguments: [["-u", "joe:pw"], ["--bearer", "token"], ["Authorization:own"]])
    func credentialsOfTheCommandLineReplaceThoseThatWereKept(first: [String]) async {
        let all: [[String]] = [["-u", "ann:pw", "--auth", "basic"], ["--bearer", "other"], ["Authorization:other"]]
        for (index, later) in all.enumerated() {
            let session = ["--session", "s\(index)"]
            #expect(await run(session + first).exit == 0)
            #expect(await run(session + later).exit == 0)
            let expected = ["Basic YW5uOnB3", "Bearer other", "other"][index]
            #expect(server.requests.last?["Authorization"] == expected)
            #expect(await run(session).exit == 0)
            #expect(server.requests.last?["Authorization"] == expected)
        }
    }

    @Test(arguments: [["-u", "joe:pw", "--auth", "basic"], ["--bearer", "token"], ["Authorization:own"]])
    func aUserInTheURLReplacesCredentialsForOneRequest(kept: [String]) async {
        #expect(await run(["--session", "a"] + kept).exit == 0)
        let former = server.requests.last?["Authorization"]
        let url = server.urlString().replacing("://", with: "://ann:pw@")
        let environment = ["XDG_CONFIG_HOME": folder.path]
        let other = await swiftaf(url, "--session", "a", "--auth", "basic", environment: environment)
        #expect(other.exit == 0 && server.requests.last?["Authorization"] == "Basic YW5uOnB3")
        #expect(await run("--session", "a").exit == 0)
        #expect(former != nil && server.requests.last?["Authorization"] == former)
    }

    @Test func aSchemeIsKeptWithItsUserOnly() async {
        let url = server.urlString().replacing("://", with: "://joe:pw@")
        let environment = ["XDG_CONFIG_HOME": folder.path]
        #expect(await swiftaf(url, "--session", "a", "--auth", "basic", environment: environment).exit == 0)
        #expect(await run("--session", "a").exit == 0)
        #expect(server.requests.last?["Authorization"] == nil)
        let content = "{\"origin\": \"http://127.0.0.1_\(server.port)\", \"auth\": \"basic\"}"
        folder.write(content, to: RawText("\(place)/old.json"))
        #expect(await run("--session", "old").exit == 0)
    }

    // MARK: The file

    @Test(arguments: [
        "\"user\": 1", "\"bearer\": [\"t\"]", "\"auth\": \"own\"", "\"headers\": [[\"X-A\", 1]]",
        "\"headers\": [[\"X-A\"]]", "\"headers\": {\"X-A\": \"1\"}",
        "\"headerFiles\": [[\"X-A\"]]",
    ])
    func refusesASessionThatWouldNotBeKept(member: String) async {
        let content = "{\"origin\": \"http://127.0.0.1_\(server.port)\", \(member)}"
        folder.write(content, to: "mine.json")
        let run = await run("--session", folder.path + "/mine", "--json")
        #expect(run.exit == 1 && run.code == "invalidInput" && run.error.contains("mine.json isn't a session: '"))
        #expect(server.requests.isEmpty && folder.content(of: "mine.json") == content)
    }

    @Test(arguments: ["{}", "text", "{\"user\": 1}"])
    func aSessionThatWasChangedMeanwhileIsKept(content: String) async {
        let folder = folder
        server.route("/") { _, connection in
            folder.write(content, to: "mine.json")
            try connection.respond(body: Data("done".utf8))
        }
        let run = await run("--session", folder.path + "/mine", "--json", "X-A:1")
        #expect(run.exit == 8 && run.code == "file" && run.json["status"] == 200)
        #expect(folder.content(of: "mine.json") == content)
    }

    @Test func relativeFoldersAreIgnored() async {
        let home = ["HOME": folder.path, "XDG_CONFIG_HOME": "relative"]
        #expect(await swiftaf(server.urlString(), "--session", "a", "X-A:1", environment: home).exit == 0)
        #expect(folder.content(of: RawText(".config/\(place)/a.json"))?.contains("X-A") == true)
        #expect(access("relative", F_OK) != 0)
        let none = ["HOME": "relative", "XDG_CONFIG_HOME": ""]
        #expect(await swiftaf(server.urlString(), "--session", "a", environment: none).exit == 1)
        #expect(await swiftaf(server.urlString(), "--netrc", environment: none).exit == 1)
        #expect(await swiftaf(server.urlString(), "X:@~/x", environment: none).error.contains("~/x can't be read"))
    }

    @Test func anEmptyHomeIsUnset() async {
        let home = ["HOME": "", "XDG_CONFIG_HOME": ""]
        let run = await swiftaf(server.urlString(), "--session", "a", environment: home)
        #expect(run.exit == 1 && run.error.contains("HOME isn't set"))
        #expect(await swiftaf(server.urlString(), "--netrc", environment: home).error.contains("HOME isn't set"))
    }

    /// However a URL spells it, an origin has one session.
    @Test func sessionsAreOfOrigins() throws {
        func session(_ url: String) throws -> NamedSession {
            try NamedSession("a", url: url, environment: ["XDG_CONFIG_HOME": folder.path])
        }
        let path = try session("http://h.test/").path
        for url in ["HTTP://joe:pw@H.test:80/x y", "http://h.test?q=[1]"] { #expect(try session(url).path == path) }
        for url in ["https://h.test/", "http://h.test:8080/"] { #expect(try session(url).path != path) }
        #expect(try session("http://b\u{FC}cher.test/").path == session("http://xn--bcher-kva.test/").path)
        #expect(throws: Failure.self) { try session("http://[/") }
    }

    @Test(arguments: ["--session", "--cookies"])
    func cookiesWithoutADateAreKept(option: String) async {
        server.route("/", .respond(200, headers: ["Set-Cookie": "login=1; HttpOnly"]))
        let path = folder.path + "/jar"
        #expect(await run(option, path).exit == 0)
        #expect(await run(option, path).exit == 0)
        #expect(server.requests.last?["Cookie"] == "login=1")
    }

    @Test func sameSiteOfCookiesIsKept() async {
        server.route("/", .respond(200, headers: ["Set-Cookie": "a=1; SameSite=Lax; Max-Age=1000"]))
        let path = folder.path + "/jar"
        for _ in 1...2 {
            #expect(await run("--cookies", path).exit == 0)
            #expect(folder.content(of: "jar")?.contains("\n# SameSite=Lax\n127.0.0.1\tFALSE\t/\tFALSE\t") == true)
        }
    }

    @Test(arguments: ["# Notes\ntext\n", "text", "{}\n", "a\tb\n"])
    func otherFilesAreNotReplacedByCookies(content: String) async throws {
        let file = try TemporaryFile(content)
        let run = await swiftaf(server.urlString(), "--cookies", file.path, "--json")
        #expect(run.exit == 1 && run.code == "invalidInput" && run.error.contains("isn't a cookie jar"))
        #expect(server.requests.isEmpty && file.content == Data(content.utf8))
        #expect(await swiftaf(server.urlString(), "-b", file.path).exit == 0)
    }

    @Test(arguments: [
        "", "\n", "# Netscape HTTP Cookie File\n", "# HTTP Cookie File\n\n", "h\tFALSE\t/\tFALSE\t0\ta\t\n",
    ])
    func jarsAreReplaced(content: String) async throws {
        server.route("/", .respond(200, headers: ["Set-Cookie": "k=v"]))
        let file = try TemporaryFile(content)
        #expect(await swiftaf(server.urlString(), "--cookies", file.path).exit == 0)
        #expect(file.content.map { String(decoding: $0, as: UTF8.self).contains("\tk\tv\n") } == true)
    }

    @Test func aDeviceIsNotReplacedByCookies() async throws {
        let run = await run("-c", "/dev/full")
        #expect(run.exit == 8 && run.error.contains("/dev/full can't be written"))
        #expect(await swiftaf(server.urlString(), "-c", "/dev/null").exit == 0)
    }

    @Test func passingHeadersAndOtherNamesAreNotKept() async {
        #expect(await run("--session", "a", "If-None-Match:\"x\"", "Content-Type:a/b", "Range:bytes=0-").exit == 0)
        #expect(await run("--session", "a").exit == 0)
        let second = server.requests.last
        #expect(second?["If-None-Match"] == nil && second?["Content-Type"] == nil && second?["Range"] == nil)
        #expect(await run("--session", "b").exit == 0)
        #expect(server.requests.last?["Cookie"] == nil)
    }

    @Test func aSessionBelongsToItsOrigin() async throws {
        let path = folder.path + "/mine"
        #expect(await run("--session", path, "X-Token:1").exit == 0)
        #expect(folder.content(of: "mine.json")?.contains("X-Token") == true)
        let other = try TestServer()
        let run = await swiftaf(other.urlString(), "--session", path)
        #expect(run.exit == 1 && run.error.contains("belongs to http://127.0.0.1"))
        #expect(other.requests.isEmpty)
    }

    @Test(arguments: ["", ".a", "a b", "/tmp/", "./", "/tmp/.json"])
    func refusesInvalidSessionNames(name: String) async {
        #expect(await run("--session", name).exit == 1)
        #expect(server.requests.isEmpty)
    }

    @Test func refusesAFileThatIsNoSession() async {
        folder.write("{}", to: "mine.json")
        #expect(await run("--session", folder.path + "/mine").exit == 1)
        folder.write("x", to: "mine.json")
        #expect(await run("--session", folder.path + "/mine").exit == 1)
    }

    @Test func saysWhyASessionCanNotBeRead() async throws {
        #expect(mkdir(folder.path + "/mine.json", 0o700) == 0)
        let run = await run("--session", folder.path + "/mine")
        #expect(run.exit == 1 && run.error.contains("mine.json can't be read: Is a directory"))
        #expect(mkfifo(folder.path + "/pipe.json", 0o600) == 0)
        // Held open, so that it has a writer.
        let writer = open(folder.path + "/pipe.json", O_RDWR)
        defer { close(writer) }
        let late = await self.run("--session", folder.path + "/pipe", "-m", "0.1", "--json")
        #expect(late.exit == 4 && late.code == "timeout" && server.requests.isEmpty)
    }
}
