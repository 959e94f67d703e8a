import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Options that people type because curl or HTTPie have them.
@Suite struct HabitOptionTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
        server.route("/", .text("done"))
    }

    private func request(_ words: String...) async -> TestServer.Request? {
        await request(words)
    }

    private func request(_ words: [String]) async -> TestServer.Request? {
        #expect(await swiftaf([server.urlString()] + words).exit == 0)
        return server.requests.last
    }

    @Test func textsOfDataAreJoined() async {
        let one = await request("-d", "a=1", "-d", "b=2", "--data-urlencode", "c=x &", "--data-raw", "@d")
        #expect(one?.method == "POST" && one?.bodyText == "a=1&b=2&c=x%20%26&@d")
        #expect(await swiftaf("-d", "a", "-d", "@-", server.urlString()).exit == 1)
        #expect(await swiftaf("--data-urlencode", "a@/no such file", server.urlString()).exit == 1)
        #expect(await swiftaf("--data-urlencode", "@-", server.urlString()).exit == 1)
    }

    /// A fragment isn't sent, so what follows a number sign would be lost.
    @Test func numberSignsInQueryDataAreKept() async throws {
        #expect(await request("-G", "-d", "a#b", "-d", "c#\u{301}")?.target == "/?a%23b&c%23%CC%81")
        let file = try TemporaryFile("#")
        let words = ["-G", "-d", "a#b", "--data-urlencode", "x@\(file.path)"]
        #expect(await request(words)?.target == "/?a%23b&x=%23")
        #expect(await swiftaf([server.urlString("/?z#top")] + words).exit == 0)
        #expect(server.requests.last?.target == "/?z&a%23b&x=%23")
    }

    @Test func dataOfFilesIsPercentEncoded() async throws {
        let file = try TemporaryFile("b &\n")
        let words = ["-d", "a=1", "--data-urlencode", "n@\(file.path)", "--data-urlencode", "@\(file.path)"]
        let one = await request(words + ["--data-urlencode", "m@x=y@z"])
        #expect(one?.method == "POST" && one?.bodyText == "a=1&n=b%20%26%0A&b%20%26%0A&m@x=y%40z")
        let two = await request(words + ["-G"])
        #expect(two?.method == "GET" && two?.target == "/?a=1&n=b%20%26%0A&b%20%26%0A" && two?.body.isEmpty == true)
    }

    @Test func getMovesDataToTheQuery() async {
        let one = await request("-G", "-d", "a=1", "--data-urlencode", "=x=y")
        #expect(one?.method == "GET" && one?.target == "/?a=1&x%3Dy" && one?.body.isEmpty == true)
        let empty = await request("-G")
        #expect(empty?.method == "GET" && empty?.target == "/")
        #expect(await swiftaf("-G", "-d", "@file", server.urlString()).exit == 1)
    }

    @Test func uploadFilePutsAFile() async throws {
        let folder = try TemporaryFolder()
        folder.write("content", to: "file")
        let one = await request("-T", folder.path + "/file")
        #expect(one?.method == "PUT" && one?.bodyText == "content")
    }

    @Test func aFormWithoutFieldsIsNoBody() async throws {
        let plain = await request("--form")
        #expect(plain?.method == "GET" && plain?["Content-Type"] == nil && plain?["Content-Length"] == nil)
        let pipe = try InputPipe()
        pipe.send(Data("a=1".utf8))
        #expect(await swiftaf("post", server.urlString(), "--form", input: pipe.reading).exit == 0)
        let piped = server.requests.last
        #expect(piped?.bodyText == "a=1" && piped?["Content-Type"] == "application/x-www-form-urlencoded")
    }

    @Test(arguments: [["-S", "-s"], ["-s", "-S"], ["-sS"], ["-Ss"], ["-S"]])
    func errorsAreShownInSpiteOfSilence(words: [String]) async {
        server.route("/", .status(404))
        #expect(
            await swiftaf([server.urlString()] + words).error == "swiftaf: the server responded with 404 Not Found\n")
        #expect(await swiftaf(server.urlString(), "-s").error.isEmpty)
    }

    @Test(arguments: [["--no-clobber"], ["-o", "-", "--no-clobber"]])
    func whatNeedsAFileIsRefusedWithoutOne(words: [String]) async {
        let run = await swiftaf([server.urlString(), "--json"] + words)
        #expect(run.exit == 1 && run.code == "usage" && server.requests.isEmpty)
    }

    @Test func failHidesTheBodyOfAnError() async {
        server.route("/", .respond(404, body: Data("page".utf8)))
        #expect(await swiftaf("-sf", server.urlString()).text.isEmpty)
        let run = await swiftaf("-fi", server.urlString())
        #expect(run.exit == 2 && run.text.hasPrefix("HTTP/1.1 404") && !run.text.contains("page"))
    }

    @Test func aPipeIsWrittenTo() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/pipe"
        #expect(mkfifo(path, 0o600) == 0)
        // Reading doesn't wait for a writer, nor writing for a reader.
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        #expect(await swiftaf(server.urlString(), "-o", path).exit == 0)
        var bytes = [UInt8](repeating: 0, count: 100)
        #expect(read(reader, &bytes, bytes.count) == 4)
        #expect(String(decoding: bytes.prefix(4), as: UTF8.self) == "done")
    }

    @Test func aFolderNamesTheFileByTheURL() async throws {
        let folder = try TemporaryFolder()
        server.route("/name", .text("done"))
        #expect(await swiftaf(server.urlString("/name"), "-P", folder.path).exit == 0)
        #expect(folder.content(of: "name") == "done")
    }

    @Test func aFolderIsMade() async throws {
        let folder = try TemporaryFolder()
        server.route("/name", .text("done"))
        let rows = [
            ["-P", "a/b"], ["-o", "c/"],
            ["-P", "d", "--checksum", "sha256:a4c3ed04a95a3da14a9d235c83d868bed7c0f45cf7f3faa751ee8f50598d2211"],
        ]
        for (index, row) in rows.enumerated() {
            let words = [row[0], folder.path + "/" + row[1]] + row.dropFirst(2)
            let commands = index < 2 ? [[], ["download"]] : [["download"]]
            for command in commands {
                #expect(await swiftaf(command + [server.urlString("/name")] + words).exit == 0)
            }
        }
        for name in ["a/b/name", "c/name", "d/name"] { #expect(folder.content(of: RawText(name)) == "done") }
        // A folder that isn't named as one may be a mistake.
        let run = await swiftaf("download", server.urlString("/name"), "-o", folder.path + "/e/name")
        #expect(run.exit == 8 && run.error.contains("No such file or directory"))
    }

    @Test(arguments: [["-I", "-X", "GET"], ["-X", "GET", "-I"]])
    func printsTheHeadOnlyOfAnotherMethod(words: [String]) async {
        let run = await swiftaf([server.urlString()] + words)
        #expect(run.exit == 0 && run.text.hasPrefix("HTTP/1.1 200") && !run.text.contains("done"))
        #expect(server.requests.last?.method == "GET")
    }

    @Test func emptyValuesRemoveHeaders() async {
        let one = await request("-A", "", "-e", "")
        #expect(one?["User-Agent"] == nil && one?["Referer"] == nil)
    }

    @Test func valuesThatCanNotBeMeantAreRefused() async {
        for words in [["--unix-socket", ""], ["--doh", ""], ["--doh-url", "http://a.example/"], ["--har", "-"]] {
            let run = await swiftaf([server.urlString(), "--json"] + words)
            #expect(run.exit == 1 && run.code == "usage", "\(words)")
        }
        #expect(server.requests.isEmpty)
    }

    @Test func severalDownloadsNeedNoScheme() {
        let invocation = ArgumentParser.parse(["download", ":80/a", ":80/b", "example.org/c", "X-A:b"])
        guard case .success(.request(let command)) = invocation.command else { return #expect(Bool(false)) }
        #expect(command.moreURLs == ["http://localhost:80/b", "https://example.org/c"])
        #expect(command.items.count == 1)
    }

    @Test func rawOutputShowsBinaryBodiesOnATerminal() async {
        server.route("/", .respond(200, body: Data([0, 1, 2])))
        let run = await swiftaf(server.urlString(), "-o", "-", output: MemorySink(isTerminal: true))
        #expect(run.exit == 0 && run.output == Data([0, 1, 2]) && run.error.isEmpty)
    }
}
