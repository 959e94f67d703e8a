import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// The contract's older points, as a script sees them: reports, credentials, items, repeats, redirects, files, URLs.
@Suite(.enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
struct ContractBasicsTests {
    private let server: TestServer
    private let folder: TemporaryFolder

    init() throws {
        server = try TestServer()
        folder = try TemporaryFolder()
    }

    private var url: RawText { RawText(server.urlString("/")) }

    private func at(_ path: String) -> RawText { RawText(server.urlString(path)) }

    // MARK: 1: the report

    @Test func everyRunPrintsTheObjectUsageErrorsToo() async throws {
        let wrong = try await launch("get", "--nope", "--json")
        #expect(wrong.exit == 1 && wrong.code == "usage")
        #expect(wrong.error.contains("unknown option --nope"))
        server.route("/", .respond(200, headers: ["Content-Encoding": "identity"], body: Data("abc".utf8)))
        let right = try await launch("get", url, "--json")
        #expect(right.json["ok"] == true && right.json["bodyBytes"] == 3 && right.json["received"] == 3)
        for name in ["bodyBase64", "json", "file", "error"] { #expect(right.json[name] == .null) }
        let filed = try await launch("get", url, "-o", folder.path("f"), "--json")
        #expect(filed.json["body"] == .null && filed.json["file"]?.string == folder.path("f").shown)
    }

    // MARK: 2: credentials

    @Test func credentialsThatAreNeededOrRefusedAreSeven() async throws {
        server.route("/401", .status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""]))
        server.route("/407", .status(407))
        #expect(try await launch("get", at("/401")).exit == 7)
        #expect(try await launch("get", at("/407")).exit == 7)
        #expect(try await launch("get", at("/401"), "--user", "a:b").exit == 7)
    }

    @Test func anySendsNothingBeforeAChallengeAndNeverBasicWhereDigestIsOffered() async throws {
        let both = "Basic realm=\"r\", Digest realm=\"r\", nonce=\"n\", qop=\"auth\""
        server.route("/", .status(401, headers: ["WWW-Authenticate": both]))
        try await launch("get", url, "--user", "a:b")
        let sent = server.requests.map { $0["Authorization"] }
        #expect(sent.count == 2 && sent[0] == nil && sent[1]?.hasPrefix("Digest ") == true)
        try await launch("get", url, "--user", "a:b", "--auth", "basic")
        #expect(server.requests[2]["Authorization"]?.hasPrefix("Basic ") == true)
    }

    @Test func userInfoActsAsUserAndIsInNoOutput() async throws {
        server.route("/", .text("in"))
        server.route("/", times: 1, .status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""]))
        let target = RawText("http://me:s%33cret@127.0.0.1:\(server.port)/")
        let run = try await launch("get", target, "--json", "-v", "--timings")
        #expect(run.exit == 0)
        #expect(server.requests.last?["Authorization"] == "Basic bWU6czNjcmV0")
        #expect(!run.text.contains("s%33cret") && !run.error.contains("s%33cret") && !run.error.contains("s3cret"))
    }

    // MARK: 3 and 4: items

    @Test func methodsAndHeadersAreSentAsGiven() async throws {
        try await launch("request", "pRoPfInD", url, "X-A:1", "x-a:2", "X-A:3")
        let request = try #require(server.requests.first)
        #expect(request.method == "pRoPfInD")
        let fields = request.headers.filter { $0.name.lowercased() == "x-a" }
        #expect(fields.map { "\($0.name):\($0.value)" } == ["X-A:1", "x-a:2", "X-A:3"])
    }

    @Test(arguments: [
        ["post", "Content-Length:1", "-d", "x"], ["post", "transfer-encoding:chunked", "-d", "x"],
        ["post", "-d", "x", "a=b"], ["post", "f@/etc/hostname"], ["upload", "n\nm=x"],
        ["upload", "n\rm@/etc/hostname"],
        ["upload", "f@/etc/hostname;filename=a\nb"], ["get", "X:a\nb"], ["get", "X:a\u{1}b"], ["get", "X:a\u{7F}b"],
        ["get", "--bearer", "a\u{1}b"],
    ])
    func wrongInputsAreOneAndNothingIsSent(arguments: [String]) async throws {
        let words = [RawText(arguments[0]), url] + arguments.dropFirst().map { RawText($0) } + ["--json"]
        let run = try await Launch(words).end()
        #expect(run.exit == 1)
        #expect(["usage", "invalidInput"].contains(run.code))
        #expect(server.requests.isEmpty)
    }

    @Test func tabsAreAllowedInHeaderValues() async throws {
        #expect(try await launch("get", url, "X:a\tb").exit == 0)
        #expect(server.requests.first?["X"] == "a\tb")
    }

    @Test func rawDataHasNoTypeAndQuotesInNamesAreEscaped() async throws {
        try await launch("post", url, "-d", "x")
        #expect(server.requests[0]["Content-Type"] == nil)
        try await launch("upload", url, "a\"b=1")
        #expect(server.requests[1].bodyText.contains("name=\"a%22b\""))
    }

    // MARK: 5 to 7: repeats, time, redirects

    @Test func repeatsAreForWhatMayBeRepeated() async throws {
        let late: Script.Headers = ["Retry-After": "0"]
        for (method, status, count) in [
            ("get", 503, 3), ("get", 429, 3), ("get", 500, 1), ("get", 404, 1), ("post", 503, 1), ("patch", 503, 1),
            ("put", 503, 3),
        ] {
            let path = "/\(method)\(status)"
            server.route(path, .status(status, headers: late))
            #expect(try await launch(RawText(method), at(path), "--retry", "2").exit == 2)
            #expect(server.requests.filter { $0.target == path }.count == count, "\(method) \(status)")
        }
        server.route("/lost", .reset)
        #expect(try await launch("get", at("/lost")).exit == 3)
        #expect(server.requests.filter { $0.target == "/lost" }.count == 1)
    }

    @Test func redirectsChangeMethodsAsTheContractSays() async throws {
        server.route("/end", .text("end"))
        for (status, method, expected) in [
            (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (303, "PUT", "GET"),
            (303, "HEAD", "HEAD"),
            (301, "PUT", "PUT"), (302, "DELETE", "DELETE"), (307, "POST", "POST"), (308, "PUT", "PUT"),
        ] {
            server.route("/\(status)", .redirect(to: "/end", status: status))
            #expect(try await launch("request", RawText(method), at("/\(status)")).exit == 0)
            #expect(server.requests.last?.method == expected, "\(status) \(method)")
        }
        server.route("/none", .status(302))
        #expect(try await launch("get", at("/none")).exit == 2)
        #expect(try await launch("get", at("/301"), "--max-redirects", "0").exit == 3)
        #expect(try await launch("get", at("/301"), "--no-redirects").exit == 0)
    }

    @Test func standardInputIsNeverSentAgainEmpty() async throws {
        server.route("/", .redirect(to: "/end", status: 307))
        let run = try await launch("post", url, "-d", "@-", "--json", input: Data("once".utf8))
        #expect(run.exit == 3 && run.code == "redirect")
        #expect(server.requests.map(\.target) == ["/"])
    }

    @Test func timeLimitsAreFour() async throws {
        server.route("/", .stall(at: "never"))
        let total = try await launch("get", url, "--timeout", "0.1", "--json")
        #expect(total.exit == 4 && total.json["error"]?["reason"] == "total")
        let idle = try await launch("get", url, "--idle-timeout", "0.1", "--json")
        #expect(idle.exit == 4 && idle.json["error"]?["reason"] == "idle")
    }

    // MARK: 8: downloads

    @Test func downloadsAreNamedByTheURLAndNothingElseIsLeft() async throws {
        server.route(
            "/p/a%20b", .respond(200, headers: ["Content-Disposition": "attachment; filename=x"], body: Data("c".utf8)))
        #expect(try await launch("download", at("/p/a%20b?q"), folder: folder.path).exit == 0)
        #expect(folder.content(of: "a b") == "c")
        for path in ["/", "/.hidden", "/a/.."] {
            #expect(try await launch("download", at(path), folder: folder.path).exit == 1)
        }
        server.route("/gone", .text("no", status: 404))
        #expect(try await launch("download", at("/gone"), folder: folder.path).exit == 2)
        #expect(folder.names == [Array("a b".utf8)])
    }

    @Test func foreignPartsAreNeverTrusted() async throws {
        folder.write("foreign", to: "f.part")
        server.route("/f", .respond(200, headers: ["ETag": "\"1\""], body: Data("whole".utf8)))
        let run = try await launch("download", at("/f"), "-o", folder.path("f"), "--resume", "--json")
        #expect(run.exit == 0)
        #expect(folder.content(of: "f") == "whole")
        #expect(server.requests.first?["Range"] == nil)
        #expect(folder.names == [Array("f".utf8)])
    }

    // MARK: 10 to 13: proxies, heads, URLs, output

    @Test(arguments: [
        ("Content-Length: 2\r\nContent-Length: 3\r\n\r\nab", 3), ("Content-Length: 1x\r\n\r\na", 3),
        ("Content-Length: -1\r\n\r\na", 3), ("Content-Length: +1\r\n\r\na", 3), ("Content-Le", 3),
        ("Content-Length: 2, 2\r\n\r\nab", 0),
    ])
    func lengthsThatAreNoneAreRefused(rest: String, exit: Int) async throws {
        server.route("/", [.send("HTTP/1.1 200 OK\r\n" + rest), .close])
        let run = try await launch("get", url, "--json")
        #expect(run.exit == Int32(exit))
        #expect(run.code == (exit == 0 ? nil : "protocol"))
    }

    @Test func tooManyInterimResponsesAreSix() async throws {
        let interim = String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 100)
        server.route("/", .send(interim + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
        #expect(try await launch("get", url).exit == 6)
    }

    @Test func urlsAreEncodedAndControlCharactersRefused() async throws {
        #expect(try await launch("get", at("/ä b?q=ö c")).exit == 0)
        #expect(server.requests.first?.target == "/%C3%A4%20b?q=%C3%B6%20c")
        for path in ["/a\u{1}", "/a\u{7F}", "/a\tb"] {
            #expect(try await launch("get", at(path)).exit == 1)
        }
        server.route("/to", .send("HTTP/1.1 302 Found\r\nLocation: /\u{e9} x\r\nContent-Length: 0\r\n\r\n"))
        #expect(try await launch("get", at("/to")).exit == 0)
        #expect(server.requests.last?.target == "/%C3%A9%20x")
        server.route("/bad", .send("HTTP/1.1 302 Found\r\nLocation: /a\u{1}\r\nContent-Length: 0\r\n\r\n"))
        #expect(try await launch("get", at("/bad")).exit == 3)
    }

    @Test func refusedTunnelsAreThree() async throws {
        server.route("host.test:443", .status(403))
        let run = try await launch("get", "https://host.test/", "--proxy", RawText(server.urlString("")), "--json")
        #expect(run.exit == 3 && run.code == "connect")
    }

    @Test func fullOutputIsEightAndTimingsGoToStandardError() async throws {
        server.route("/", .text("text"))
        let full = try Launch(["get", url], shell: "exec > /dev/full")
        #expect(try await full.end().exit == 8)
        let closed = try await Launch(["get", url], shell: "exec >&-").end()
        #expect(closed.exit == 8 && closed.error.contains("standard output can't be written: Bad file descriptor"))
        let run = try await launch("get", url, "--timings", "--no-compressed")
        #expect(run.text == "text" && run.error.contains("total"))
        #expect(server.requests.last?["Accept-Encoding"] == "identity")
    }

    @Test(arguments: ["", "C", "C.UTF-8"])
    func namesOutsideASCIIWorkInEveryLocale(locale: String) async throws {
        let target = RawText("http://bücher.localhost:\(server.port)/")
        let run = try await launch("get", target, environment: ["LC_ALL": locale])
        #expect(run.exit == 0)
        #expect(server.requests.first?["Host"] == "xn--bcher-kva.localhost:\(server.port)")
    }

    @Test(arguments: ["", "C", "C.UTF-8"])
    func proxiesOutsideASCIIWorkInEveryLocale(locale: String) async throws {
        let proxy = RawText("http://bücher.localhost:\(server.port)")
        let run = try await launch("get", "http://host.test/", "--proxy", proxy, environment: ["LC_ALL": locale])
        #expect(run.exit == 0)
        let settings = ["LC_ALL": locale, "http_proxy": proxy.shown]
        #expect(try await launch("get", "http://host.test/", environment: settings).exit == 0)
        #expect(server.requests.map(\.["Host"]) == ["host.test", "host.test"])
    }

    @Test(arguments: ["127.1", "0x7f.1", "2130706433", "017700000001"])
    func environmentsProxyIsNotAskedForLoopbackInOddSpelling(host: String) async throws {
        let proxy = try TestServer()
        let target = RawText("http://\(host):\(server.port)/")
        let run = try await launch("get", target, environment: ["http_proxy": proxy.urlString("")])
        #expect(run.exit == 0)
        #expect(proxy.requests.isEmpty)
        #expect(server.requests.count == 1)
    }
}
