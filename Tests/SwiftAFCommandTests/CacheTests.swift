import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// `--cache` and the command `cache`.
@Suite struct CacheTests {
    private let server: TestServer
    private let folder: TemporaryFile

    init() throws {
        server = try TestServer()
        folder = try TemporaryFile()
        server.route("/fresh", .respond(200, headers: ["Cache-Control": "max-age=1000"], body: Data("fresh".utf8)))
    }

    private var option: String { "--cache=\(folder.path)" }

    private func get(_ arguments: String...) async -> RunResult {
        await swiftaf(["get", server.urlString("/fresh"), "--json"] + arguments)
    }

    private func cache(_ arguments: String...) async -> RunResult {
        await swiftaf(["cache"] + arguments + [option])
    }

    @Test func secondRunUsesTheStoredResponse() async {
        for (round, status) in ["server", "hit"].enumerated() {
            let run = await get(option)
            #expect(run.exit == 0 && run.json["cache"]?.string == status && run.json["body"]?.string == "fresh")
            #expect(server.requests.count == 1, "round \(round)")
        }
    }

    @Test func withoutTheOptionNothingIsStored() async {
        for arguments in [[], [option, "--no-cache"]] {
            let run = await swiftaf(["get", server.urlString("/fresh"), "--json"] + arguments)
            #expect(run.exit == 0 && run.json["cache"] == nil)
        }
        #expect(server.requests.count == 2)
    }

    @Test func refreshAsksTheServerAndStores() async {
        for _ in 0..<2 { #expect(await get(option, "--refresh").json["cache"]?.string == "server") }
        #expect(server.requests.count == 2)
        #expect(await get(option).json["cache"]?.string == "hit")
    }

    /// The field of a response that isn't stored, sent by a server.
    @Test(arguments: [200, 504])
    func aServerCannotSayThatNothingIsStored(status: Int) async {
        server.route(
            "/", .respond(status, headers: ["Cache-Status": "afcore; detail=not-stored"], body: Data("ok".utf8)))
        for more in [[], ["--json"], ["--refresh"]] {
            let run = await swiftaf([server.urlString(), option] + more)
            #expect(run.exit == (status == 200 ? 0 : 2) && run.text.contains("ok"))
            #expect(!run.error.contains("stored"))
        }
    }

    @Test func cacheOnlyNeverAsksTheServer() async {
        let missing = await get(option, "--cache-only")
        #expect(missing.exit == 2 && missing.code == "status" && missing.json["cache"]?.string == "missing")
        #expect(missing.error.contains("nothing is stored"))
        #expect(server.requests.isEmpty)
        _ = await get(option)
        #expect(await get(option, "--cache-only").json["body"]?.string == "fresh")
        #expect(server.requests.count == 1)
    }

    @Test func storedJSONIsReported() async {
        let headers: Script.Headers = ["Cache-Control": "max-age=1000", "Content-Type": "application/json"]
        server.route("/json", .respond(200, headers: headers, body: Data(#"{"n":1.10}"#.utf8)))
        server.route("/broken", .respond(200, headers: headers, body: Data("{".utf8)))
        for path in ["/json", "/broken"] { _ = await swiftaf("get", server.urlString(path), option) }
        let shown = await cache("show", server.urlString("/json"), "--json")
        #expect(shown.exit == 0 && shown.text.contains(#""json":{"n":1.10}"#))
        #expect(await cache("show", server.urlString("/broken"), "--json").exit == 9)
        #expect(await cache("show", server.urlString("/broken")).exit == 0)
    }

    @Test func storedResponsesAreListedShownAndRemoved() async {
        _ = await get(option)
        let url = server.urlString("/fresh")
        let listed = await cache("list")
        #expect(listed.exit == 0 && listed.text.contains(url) && listed.text.contains("fresh"))
        let entries = await cache("list", "--json").json["entries"]?.array ?? []
        #expect(entries.count == 1 && entries.first?["url"]?.string == url)
        #expect(entries.first?["bodyBytes"]?.integer == 5 && entries.first?["lifetime"]?.integer == 1000)
        let shown = await cache("show", url)
        #expect(shown.text.hasPrefix("HTTP/1.1 200 ") && shown.text.hasSuffix("\r\n\r\nfresh"))
        #expect(await cache("show", url, "--json").json["body"]?.string == "fresh")
        let named = url.replacing("://", with: "://joe:secret@")
        #expect(await cache("show", named, "--json").json["url"]?.string == url)
        #expect(await cache("verify").text == "valid 1, 5 B; damaged and removed 0\n")
        #expect(await cache("verify", "--json").json["valid"]?.integer == 1)
        #expect(await cache("clear", "http://elsewhere.test/").text == "removed 0\n")
        #expect(await cache("clear", url).text == "removed 1\n")
        #expect(await cache("show", url).exit == 2)
        let missing = await cache("show", named)
        #expect(missing.exit == 2 && !missing.error.contains("secret"))
        _ = await get(option)
        #expect(await cache("clear", "--json").json["removed"]?.integer == 1)
        #expect(server.requests.count == 2)
    }

    /// The newest of the responses to several requests for a URL is shown: what selects one isn't given again.
    @Test(arguments: [["Accept:a/b"], [], ["-u", "joe:pw", "--auth", "basic"], ["--bearer", "token"], ["-b", "a=b"]])
    func showsAResponseWhateverSelectsIt(words: [String]) async {
        let headers: Script.Headers = ["Cache-Control": "max-age=1000", "Vary": "Accept"]
        server.route("/", .respond(200, headers: headers, body: Data("varies".utf8)))
        #expect(await swiftaf(["get", server.urlString("/"), option] + words).exit == 0)
        let shown = await cache("show", server.urlString("/"), "--json")
        #expect(shown.exit == 0 && shown.json["body"]?.string == "varies", "\(shown.error)")
        #expect(await cache("show", server.urlString("/other")).exit == 2)
        #expect(await cache("clear", server.urlString("/")).text == "removed 1\n")
        #expect(await cache("show", server.urlString("/")).exit == 2)
    }

    @Test(arguments: [(3, 1, 2), (1, 1, 0), (1, 2, 0)])
    func noFewerThanNoneAreRemoved(before: Int, after: Int, removed: Int) {
        #expect(CacheRun.removed(before, after) == removed)
    }

    /// Looking for stored responses makes no folder.
    @Test func aMissingCacheIsNotMade() async throws {
        for words in [["list"], ["verify"], ["show", "http://a.test/"], ["clear"]] {
            let run = await swiftaf(["cache"] + words + [option, "--json"])
            #expect(run.exit == 1 && run.code == "invalidInput")
            #expect(run.error.contains("there is no cache at \(folder.path)\n") && folder.names.isEmpty)
        }
        let home = ["XDG_CACHE_HOME": folder.folder]
        let list = await swiftaf("cache", "list", environment: home)
        #expect(list.exit == 0 && list.text.isEmpty)
        #expect(await swiftaf("cache", "clear", environment: home).text == "removed 0\n")
        #expect(await swiftaf("cache", "verify", "--json", environment: home).json["valid"]?.integer == 0)
        #expect(await swiftaf("cache", "show", "http://a.test/", environment: home).exit == 2)
        #expect(folder.names.isEmpty)
    }

    /// As one that the server sends.
    @Test func storedResponsesAreShownOnATerminal() async {
        func stored(_ type: String, _ body: Data) -> Script {
            .respond(200, headers: ["Cache-Control": "max-age=1000", "Content-Type": type], body: body)
        }
        let json = "{\"a\":1}"
        server.route("/json", stored("application/json", Data(json.utf8)))
        server.route("/text", stored("text/plain; charset=iso-8859-1", Data([0x66, 0xFC])))
        server.route("/binary", stored("image/png", Data([0x89, 0, 1])))
        for path in ["/json", "/text", "/binary"] { _ = await swiftaf("get", server.urlString(path), option) }
        func shown(_ path: String, _ environment: [String: String] = [:]) async -> RunResult {
            let terminal = MemorySink(isTerminal: true)
            let words = ["cache", "show", server.urlString(path), option]
            return await swiftaf(words, output: terminal, environment: environment)
        }
        #expect(await shown("/json").text.hasSuffix("\r\n\r\n{\n  \"a\": 1\n}\n"))
        #expect(await shown("/json", ["NO_COLOR": "", "TERM": "xterm"]).text.contains("\u{1B}[36m\"a\"\u{1B}[0m"))
        #expect(await shown("/text").text.hasSuffix("\r\n\r\nf\u{FC}\n"))
        let binary = await shown("/binary")
        #expect(binary.exit == 0 && binary.text.hasSuffix("\r\n\r\n") && binary.error.contains("the body is binary"))
        #expect(await cache("show", server.urlString("/binary")).output.suffix(3) == Data([0x89, 0, 1]))
    }

    @Test(arguments: [
        ["cache"], ["cache", "what"], ["cache", "list", "more"], ["cache", "show"], ["cache", "clear", "a.test", "b"],
        ["cache", "list", "--refresh"], ["cache", "list", "--timeout", "1"],
        ["download", "http://a.test/x", "--cache"],
    ])
    func wrongUseIsAnError(arguments: [String]) async {
        #expect(await swiftaf(arguments).exit == 1)
    }

    @Test func folderThatCannotBeMadeIsAnError() async {
        let run = await swiftaf(["get", server.urlString("/fresh"), "--cache=/proc/nowhere"])
        #expect(run.exit == 8 && server.requests.isEmpty)
    }

    /// As `-i` prints it, whose bytes stay as they were received.
    @Test func storedHeadsAreTheBytesThatWereReceived() async throws {
        let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=1000\r\nContent-Length: 1\r\nX: f"
        server.route("/bytes", .send(Data(head.utf8) + [0xFC] + Data("\r\n\r\nx".utf8)))
        let printed = await swiftaf("get", server.urlString("/bytes"), option, "-i")
        let shown = await cache("show", server.urlString("/bytes"))
        #expect(shown.exit == 0 && shown.output == printed.output && shown.output.contains(0xFC))
    }

    @Test func invalidURLsAreRefusedBeforeTheCacheIsOpened() async {
        for home in [folder.folder, folder.folder + "/none"] {
            for words in [["show", "http://[/"], ["clear", "http://[/"]] {
                let run = await swiftaf(["cache"] + words + ["--json"], environment: ["XDG_CACHE_HOME": home])
                #expect(run.exit == 1 && run.code == "invalidInput")
            }
        }
        #expect(await swiftaf("cache", "show", "http://[/", option).error.contains("URL"))
    }
}
