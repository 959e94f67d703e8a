import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// The exit status and the code of every class of failure.
@Suite struct ExitTests {
    let server: TestServer

    init() throws {
        server = try TestServer()
    }

    /// Runs with `--json`, and checks what every failure has in common.
    private func failure(
        _ arguments: String..., exit: Int32, code: String, reason: String? = nil, input: Int32 = -1
    ) async -> RunResult {
        let run = await swiftaf(arguments + ["--json"], input: input)
        #expect(run.exit == exit)
        #expect(run.code == code)
        #expect(run.json["ok"] == false)
        #expect(run.json["error"]?["reason"]?.string == reason)
        #expect(run.json["error"]?["resumable"] == false)
        #expect(run.error.contains(run.json["error"]?["message"]?.string ?? "?"))
        return run
    }

    /// Files that can't be written, besides a failed exchange.
    @Test(arguments: ["--har", "--cookies", "-c", "--hsts", "--session"])
    func secondFailuresAreReported(option: String) async throws {
        server.route("/", .text("why", status: 404))
        let folder = try TemporaryFolder()
        // A session makes its folder. The name of its document is as long as names can be, that of its jar too long.
        let name = option == "--session" ? String(repeating: "x", count: 250) : "none/x"
        let path = "\(folder.path)/\(name)"
        let run = await swiftaf("get", server.urlString(), option, path)
        #expect(run.exit == 2 && run.text == "why")
        #expect(run.error.contains("swiftaf: the server responded with 404 Not Found\n"))
        #expect(run.error.contains(path))
        let json = await swiftaf("get", server.urlString(), "--json", option, path)
        #expect(json.exit == 2 && json.code == "status" && json.error.contains(path))
        #expect(await swiftaf("get", server.urlString(), "-s", option, path).error.isEmpty)
    }

    @Test func filesOfSeveralTransfersThatCanNotBeWrittenAreReported() async throws {
        server.route("/a", .text("a"))
        server.route("/b", .text("b"))
        let folder = try TemporaryFolder()
        folder.write("", to: "file")
        let run = await swiftaf(
            "download", server.urlString("/a"), server.urlString("/b"), "-P", folder.path, "-c",
            folder.path + "/file/x")
        #expect(run.exit == 8 && run.error.contains("file/x"))
    }

    // MARK: 1

    @Test func incompleteCommandLineExitsWith1() async {
        let run = await failure("get", exit: 1, code: "usage")
        #expect(run.json["status"] == .null && run.json["url"] == .null)
        #expect(await swiftaf("get").error == "swiftaf: the URL is missing\nswiftaf --help says how it is used\n")
    }

    @Test func invalidInputExitsWith1() async {
        _ = await failure("get", "no:where", exit: 1, code: "invalidInput")
        _ = await failure("get", server.urlString(), "X:a\nb", exit: 1, code: "invalidInput")
        _ = await failure("get", server.urlString(), "--cacert", "/no/such/file", exit: 1, code: "invalidInput")
        let file = try? TemporaryFile("no certificate")
        _ = await failure("get", server.urlString(), "--cacert", file?.path ?? "", exit: 1, code: "invalidInput")
        #expect(server.requests.isEmpty)
    }

    // MARK: 2 and 7

    @Test(arguments: [400, 404, 418, 500, 304, 600])
    func errorStatusExitsWith2(status: Int) async {
        server.route("/", .text("why", status: status))
        let run = await failure("get", server.urlString(), exit: 2, code: "status")
        #expect(run.json["status"] == .integer(Int64(status)))
        if status != 304 {
            #expect(run.json["body"] == "why")
            #expect(await swiftaf("get", server.urlString()).text == "why")
        }
    }

    @Test func redirectsWithoutLocation() async {
        server.route("/", .status(302))
        _ = await failure("get", server.urlString(), exit: 2, code: "status")
    }

    @Test(arguments: [401, 407])
    func authenticationStatusExitsWith7(status: Int) async {
        server.route("/", .text("who?", status: status))
        let run = await failure("get", server.urlString(), exit: 7, code: "authentication")
        #expect(run.json["body"] == "who?")
    }

    // MARK: 3

    @Test func unknownHostExitsWith3() async {
        _ = await failure("get", "http://no-such-host.invalid/", exit: 3, code: "dns")
    }

    @Test func refusedConnectionExitsWith3() async throws {
        let url = server.urlString()
        server.stop()
        let run = await failure("get", url, exit: 3, code: "connect")
        #expect(run.json["url"]?.string == url)
    }

    @Test func lostConnectionExitsWith3() async {
        server.route("/", .reset)
        _ = await failure("post", server.urlString(), "-d", "x", exit: 3, code: "connectionLost")
    }

    @Test func truncatedBodyExitsWith3() async {
        server.route("/", .truncated(body: Data("abc".utf8), promising: 9))
        let run = await failure("get", server.urlString(), exit: 3, code: "truncated")
        #expect(run.json["status"] == 200)
        #expect(await swiftaf("get", server.urlString()).text == "abc")
    }

    @Test func nonHTTPResponseExitsWith3() async {
        server.route("/", [.send("SSH-2.0-OpenSSH\r\n\r\n"), .close])
        _ = await failure("get", server.urlString(), exit: 3, code: "protocol")
    }

    @Test func exceededRedirectLimitExitsWith3() async {
        server.route("/", .redirect(to: "/"))
        let run = await failure("get", server.urlString(), "--max-redirects", "2", exit: 3, code: "redirect")
        #expect(server.requests.count == 3)
        #expect(run.json["redirects"]?.array?.count == 2)
        _ = await failure("get", server.urlString(), "--max-redirects", "0", exit: 3, code: "redirect")
        #expect(server.requests.count == 4)
    }

    @Test func theRedirectThatIsTooMuchIsReported() async {
        server.route("/", .redirect(to: "/next"))
        server.route("/next", .redirect(to: "/last"))
        for (limit, url) in [("0", "/"), ("1", "/next")] {
            let run = await failure("get", server.urlString(), "--max-redirects", limit, exit: 3, code: "redirect")
            #expect(run.json["status"] == 302 && run.json["url"]?.string == server.urlString(url))
            #expect(run.json["headers"]?.array?.contains(["Location", limit == "0" ? "/next" : "/last"]) == true)
            #expect(run.json["redirects"]?.array?.count == Int(limit) && run.json["timings"] != .null)
            #expect(run.error.contains("more than \(limit) redirects; --max-redirects N allows more"))
        }
    }

    /// It is the server's mistake, not that of the command line.
    @Test(arguments: [String(repeating: "\u{E9}", count: 64), "a\u{202E}b", "\u{FF0F}"])
    func redirectsToHostsThatAreNoneAreRefused(host: String) async {
        server.route("/", .redirect(to: "/next"))
        server.route("/next", .redirect(to: "http://\(host).invalid/"))
        let run = await swiftaf("get", server.urlString(), "--retry", "1", "--json")
        #expect(run.exit == 3 && run.code == "redirect" && run.error.contains("cannot follow the redirect: "))
        #expect(run.json["status"] == 302 && run.json["url"]?.string == server.urlString("/next"))
        #expect(run.json["redirects"]?.array?.count == 1 && run.json["headers"] != .null)
        #expect(await swiftaf("http://\(host).invalid/").exit == 1)
    }

    @Test func bodiesThatCanBeReadOnce() async throws {
        server.route("/", .redirect(to: "/again", status: 307))
        let pipe = try InputPipe()
        pipe.send(Data("once".utf8))
        let run = await failure("post", server.urlString(), "-d", "@-", exit: 3, code: "redirect", input: pipe.reading)
        #expect(server.requests.map(\.target) == ["/"])
        // What asked for the body again is reported.
        #expect(run.json["status"] == 307 && run.json["headers"] != .null)
    }

    // MARK: 4

    @Test func timeoutsExitWith4() async throws {
        server.route("/", .stall(at: "never"))
        _ = await failure("get", server.urlString(), "--timeout", "0.1", exit: 4, code: "timeout", reason: "total")
        _ = await failure("get", server.urlString(), "--idle-timeout", "0.1", exit: 4, code: "timeout", reason: "idle")
        let total = await swiftaf("get", server.urlString(), "--timeout", "0.1")
        #expect(total.error.contains("total timeout: not complete in time; --timeout S allows more"))
        let idle = await swiftaf("get", server.urlString(), "--idle-timeout", "0.25")
        #expect(idle.error.contains("idle timeout: no data after 0.25 s; --idle-timeout S allows more"))
        var options = TestServer.Options()
        options.isUnreachable = true
        let unreachable = try TestServer(options: options)
        _ = await failure(
            "get", unreachable.urlString(), "--connect-timeout", "0.1", exit: 4, code: "timeout", reason: "connect")
    }

    // MARK: 5

    @Test func untrustedServerExitsWith5() async throws {
        let authority = try TestCertificate.makeAuthority()
        let anchors = try TemporaryFile(authority.pem)
        let valid = try TestServer(tls: .init(authority.issue(hosts: ["127.0.0.1"])))
        let url = valid.urlString()
        _ = await failure("get", url, exit: 5, code: "untrusted", reason: "unknownIssuer")
        #expect(valid.requests.isEmpty)
        #expect(await swiftaf("get", url, "--cacert", anchors.path).exit == 0)
        #expect(await swiftaf("get", url, "--insecure").exit == 0)
    }

    @Test func otherHostsAndOldCertificates() async throws {
        let authority = try TestCertificate.makeAuthority()
        let anchors = try TemporaryFile(authority.pem)
        let other = try TestServer(tls: .init(authority.issue(hosts: ["example.org"])))
        let url = other.urlString()
        _ = await failure("get", url, "--cacert", anchors.path, exit: 5, code: "untrusted", reason: "wrongHost")
        _ = await failure("get", url, "--insecure", exit: 5, code: "untrusted", reason: "wrongHost")
        #expect(await swiftaf("get", url, "--cacert", anchors.path, "--no-host-check").exit == 0)
        let expired = try TestServer(tls: .init(authority.issue(hosts: ["127.0.0.1"], validity: .expired)))
        _ = await failure(
            "get", expired.urlString(), "--cacert", anchors.path, exit: 5, code: "untrusted", reason: "expired")
    }

    @Test func noTLSThere() async throws {
        server.onConnection(nil, [.send("HTTP/1.1 400 Bad Request\r\n\r\n"), .waitForPeerClose])
        _ = await failure("get", "https://127.0.0.1:\(server.port)/", exit: 5, code: "tls")
    }

    // MARK: 6

    @Test func exceededSizeLimitsExitWith6() async {
        server.route("/body", .respond(repeating: Data(repeating: 0x61, count: 1 << 10), count: nil))
        let run = await failure("get", server.urlString("/body"), "--max-body", "10000", exit: 6, code: "tooLarge")
        #expect(run.json["body"] == .null)
        server.route("/headers", .respond(200, headers: ["X": String(repeating: "x", count: 2000)]))
        _ = await failure("get", server.urlString("/headers"), "--max-headers", "1000", exit: 6, code: "tooLarge")
        server.route("/ten", .text("0123456789"))
        #expect(await swiftaf("get", server.urlString("/ten"), "--max-body", "10").exit == 0)
        #expect(await swiftaf("get", server.urlString("/ten"), "--max-body", "9").exit == 6)
    }

    // MARK: 8

    @Test func localFileErrorsExitWith8() async throws {
        server.route("/", .text("text"))
        _ = await failure("get", server.urlString(), "-o", "/no/such/folder/file", exit: 8, code: "file")
        let full = await swiftaf("get", server.urlString(), output: MemorySink(failure: ENOSPC))
        #expect(full.exit == 8)
        #expect(full.error == "swiftaf: standard output can't be written: No space left on device\n")
        #expect(await swiftaf("get", server.urlString(), "--json", output: MemorySink(failure: ENOSPC)).exit == 8)
        #expect(await swiftaf("--version", output: MemorySink(failure: EPIPE)).exit == 8)
    }

    // MARK: 9

    @Test func invalidJSONExitsWith9() async {
        server.route("/", .json("{\"a\":"))
        let run = await failure("get", server.urlString(), exit: 9, code: "serialization")
        #expect(run.json["body"] == "{\"a\":")
        #expect(run.json["json"] == .null)
        #expect(run.json["status"] == 200)
        #expect(await swiftaf("get", server.urlString()).exit == 0)
    }

    @Test func anEmptyBodyIsNotJSON() async {
        let headers: Script.Headers = ["Content-Type": "application/json"]
        server.route("/", .respond(200, headers: headers))
        _ = await failure("get", server.urlString(), exit: 9, code: "serialization")
        #expect(await swiftaf("head", server.urlString(), "--json").exit == 0)
        for status in [204, 205] {
            server.route("/", .respond(status, headers: headers))
            #expect(await swiftaf("get", server.urlString(), "--json").exit == 0)
        }
        server.route("/", .respond(304, headers: headers))
        #expect(await swiftaf("get", server.urlString(), "--json", "--accept-status", "304").exit == 0)
    }

    @Test func aBodyThatIsSentWith205IsRead() async {
        server.route("/", .json("{\"a\":1}", status: 205))
        let run = await swiftaf("get", server.urlString(), "--json")
        #expect(run.exit == 0 && run.json["body"] == "{\"a\":1}" && run.json["json"] == ["a": 1])
        #expect(await swiftaf("get", server.urlString()).text == "{\"a\":1}")
        server.route("/", .json("{", status: 205))
        _ = await failure("get", server.urlString(), exit: 9, code: "serialization")
    }

    @Test func jsonNestedTooDeeply() async {
        server.route("/", .json(String(repeating: "[", count: 513) + String(repeating: "]", count: 513)))
        let run = await failure("get", server.urlString(), exit: 9, code: "serialization")
        #expect(run.json["bodyBytes"] == 1026)
        server.route("/", .json(String(repeating: "[", count: 512) + String(repeating: "]", count: 512)))
        let deepest = await failure("get", server.urlString(), exit: 9, code: "serialization")
        #expect(deepest.json["error"]?["message"] == "the body is nested 512 levels deep: --json reports at most 511")
        // Without a report, it is printed.
        #expect(await swiftaf("get", server.urlString()).exit == 0)
    }

    @Test func reportOfDeepestJSONCanBeReadAgain() async throws {
        let body = String(repeating: "[", count: 511) + String(repeating: "]", count: 511)
        server.route("/", .json(body))
        let run = await swiftaf("get", server.urlString(), "--json")
        let report = try JSONValue(parsing: Data(run.text.utf8))
        #expect(run.exit == 0 && report["ok"] == true && report["body"] == .string(body))
        #expect(try report["json"]?.text() == body)
    }

    @Test func statusesGoFirst() async {
        server.route("/", .json("{", status: 500))
        _ = await failure("get", server.urlString(), exit: 2, code: "status")
    }

    // MARK: 130

    @Test func cancellationExitsWith130() async throws {
        server.route("/", .stall(at: "never"))
        let run = Task { [server] in await swiftaf("get", server.urlString(), "--idle-timeout", "0", "--json") }
        #expect(await server.wait(for: .stalled(at: "never")))
        run.cancel()
        #expect(await run.value.exit == 130)
        #expect(await run.value.code == "cancelled")
    }

    @Test func whatWasReceivedBeforeACancellationIsReported() async throws {
        server.route(
            "/", [.respond(200, headers: ["Content-Length": "6"], body: Data("abc".utf8)), .stall(at: "never")])
        let (halves, isHalf) = AsyncStream<Void>.makeStream()
        let terminal = MemorySink(isTerminal: true) { text in if text.contains(" 50% [") { isHalf.yield() } }
        let run = Task { [server] in await swiftaf("get", server.urlString(), "--json", error: terminal) }
        for await _ in halves { break }
        run.cancel()
        let ended = await run.value
        #expect(ended.exit == 130 && ended.json["status"] == 200 && ended.json["headers"] != .null)
    }

    @Test func theResponseBeforeACancelledRetryIsReported() async throws {
        server.route("/", .respond(503, headers: ["Retry-After": "3600"], body: Data("busy".utf8)))
        for words in [["--json"], ["--json", "-o", "/dev/null"]] {
            let (lines, isWaiting) = AsyncStream<Void>.makeStream()
            let error = MemorySink { text in if text.contains("retry 1 of 1") { isWaiting.yield() } }
            let run = Task { [server] in
                await swiftaf(["get", server.urlString(), "--retry", "1"] + words, error: error)
            }
            for await _ in lines { break }
            run.cancel()
            let ended = await run.value
            #expect(ended.exit == 130 && ended.code == "cancelled" && ended.json["status"] == 503)
            #expect(ended.json["headers"] != .null && ended.json["bodyBytes"] == 4)
            if words.count == 1 { #expect(ended.json["body"] == "busy") }
        }
    }

    @Test func cancellationWhileStandardInputIsSilent() async throws {
        let pipe = try InputPipe()
        let run = Task { [server] in
            await swiftaf("post", server.urlString(), "-d", "@-", "--idle-timeout", "0", input: pipe.reading)
        }
        #expect(await server.wait(for: .connections(1)))
        run.cancel()
        #expect(await run.value.exit == 130)
    }

    /// What failed first decides the exit status.
    @Test func aFullStandardOutputHidesNoOtherFailure() async {
        server.route("/", .text("why", status: 404))
        let full = MemorySink(failure: ENOSPC)
        for words in [["get", server.urlString()], ["get", server.urlString(), "--json"]] {
            let run = await swiftaf(words, output: full)
            #expect(run.exit == 2 && run.error.contains("404 Not Found\n"))
            #expect(run.error.contains("standard output can't be written: No space left on device"))
        }
        let usage = await swiftaf("foo", "--json", output: full)
        #expect(usage.exit == 1 && usage.error.contains("unknown command 'foo'"))
        server.route("/", .text("done"))
        #expect(await swiftaf("get", server.urlString(), "--json", output: full).exit == 8)
    }
}
