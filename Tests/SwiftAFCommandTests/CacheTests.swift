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

    private func get(_ arguments: String...) async -> Run {
        await swiftaf(["get", server.urlString("/fresh"), "--json"] + arguments)
    }

    private func cache(_ arguments: String...) async -> Run {
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

    @Test func cacheOnlyNeverAsksTheServer() async {
        let missing = await get(option, "--cache-only")
        #expect(missing.exit == 2 && missing.code == "status" && missing.json["cache"]?.string == "missing")
        #expect(missing.error.contains("nothing is stored"))
        #expect(server.requests.isEmpty)
        _ = await get(option)
        #expect(await get(option, "--cache-only").json["body"]?.string == "fresh")
        #expect(server.requests.count == 1)
    }

    @Test func storedResponsesAreListedShownAndRemoved() async {
        #expect(await cache("list").text == "")
        _ = await get(option)
        let url = server.urlString("/fresh")
        let listed = await cache("list")
        #expect(listed.exit == 0 && listed.text.contains(url) && listed.text.contains("fresh"))
        let entries = await cache("list", "--json").json["entries"]?.array ?? []
        #expect(entries.count == 1 && entries.first?["url"]?.string == url)
        #expect(entries.first?["bodyBytes"]?.integer == 5 && entries.first?["lifetime"]?.integer == 1000)
        let shown = await cache("show", url)
        #expect(shown.text.hasPrefix("HTTP/1.1 200 ") && shown.text.hasSuffix("\n\nfresh"))
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
}
