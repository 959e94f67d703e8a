import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Options that would have no effect are refused.
@Suite struct IgnoredOptionTests {
    private let server: TestServer
    private let folder: TemporaryFolder

    init() throws {
        server = try TestServer()
        folder = try TemporaryFolder()
        server.route("/f", .text("abc"))
    }

    private func message(of words: [String]) async -> String {
        let run = await swiftaf([server.urlString("/f"), "--json"] + words)
        #expect(run.exit == 1 && run.code == "usage" && server.requests.isEmpty)
        return run.error
    }

    @Test(arguments: [
        ["--cache"], ["--cache-only"], ["--refresh"], ["--form"], ["--multipart"],
    ])
    func downloadsRefuseOptionsOfRequests(words: [String]) async {
        #expect(await message(of: ["-O"] + words).contains("\(words[0]) can't be used with -O"))
        let resumed = ["-o", folder.path + "/f", "-C", "-"] + words
        #expect(await message(of: resumed).contains("\(words[0]) can't be used with -C"))
    }

    @Test func downloadsAcceptOptionsThatTheyObey() async {
        for words in [["-f"], ["-N"], ["-G", "-d", "a=1"], ["-X", "GET"], ["--no-cache"]] {
            #expect(await swiftaf([server.urlString("/f"), "-O", "-P", folder.path] + words).exit == 0)
        }
    }

    @Test(arguments: [
        (["--json", "-p", "h"], "-p can't be used with --json"), (["-o", "-"], "-o - can't be used with --json"),
        (["--ignore-stdin", "-d", "@-"], "--ignore-stdin can't be used with -d @-"),
        (["-T", "-", "--ignore-stdin"], "--ignore-stdin can't be used with -T -"),
        (["--cache-only", "--refresh"], "--refresh can't be used with --cache-only"),
        (["--refresh", "--cache-only"], "--refresh can't be used with --cache-only"),
        (["--unix-socket", "/s", "-x", "http://h:1"], "-x can't be used with --unix-socket"),
        (["--interface", "lo", "--unix-socket", "/s"], "--interface can't be used with --unix-socket"),
        (["--resolve", "h:1:127.0.0.1", "--unix-socket", "/s"], "--resolve can't be used with --unix-socket"),
        (["--doh", "https://h", "--unix-socket", "/s"], "--doh can't be used with --unix-socket"),
    ])
    func contradictionsAreRefused(words: [String], expected: String) async {
        #expect(await message(of: words).contains(expected))
    }

    @Test func theReportOmitsTheBodyThatFailHides() async {
        server.route("/f", .respond(404, headers: ["Content-Type": "application/json"], body: Data("{}".utf8)))
        let run = await swiftaf(server.urlString("/f"), "--json", "-f")
        #expect(run.exit == 2 && run.json["body"] == .null && run.json["json"] == .null)
        #expect(run.json["bodyBytes"] == 2)
        #expect(await swiftaf(server.urlString("/f"), "--json", "-i").json["body"] == "{}")
    }
}
