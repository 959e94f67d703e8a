import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// `-v`: what was really sent and received, and nothing else.
@Suite(.enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
struct ContractVerboseTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
    }

    private func lines(_ run: RunResult) -> [String] {
        run.error.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// The head of a request as the server saw it.
    private func sent(_ request: TestServer.Request) -> [String] {
        let text = String(decoding: request.head, as: UTF8.self)
        return text.split(separator: "\r\n").map { "> \($0)" } + [">"]
    }

    @Test func requestHeadsAreTheBytesThatTheServerSaw() async throws {
        server.route("/", .text("hi"))
        let run = try await launch("post", RawText(server.urlString("/a?b=c")), "-v", "X-A:1", "n=v")
        #expect(run.exit == 0)
        let request = try #require(server.requests.first)
        let shown = lines(run)
        #expect(shown.first == "* connected to 127.0.0.1 port \(server.port)")
        #expect(Array(shown.filter { $0.hasPrefix(">") }) == sent(request))
        #expect(shown.contains("> Content-Length: 9"))
    }

    @Test func everyHopAndEveryRoundIsShown() async throws {
        server.route("/a", .redirect(to: "/b"))
        let challenge = "Digest realm=\"r\", nonce=\"n\", qop=\"auth\""
        server.route("/b", .text("in"))
        server.route("/b", times: 1, .status(401, headers: ["WWW-Authenticate": challenge]))
        let run = try await launch("get", RawText(server.urlString("/a")), "-v", "--user", "me:s3cret")
        #expect(run.exit == 0)
        let shown = lines(run)
        let heads = shown.filter { $0.hasPrefix("> GET") || $0.hasPrefix("< HTTP/") }
        #expect(
            heads == [
                "> GET /a HTTP/1.1", "< HTTP/1.1 302 Found", "> GET /b HTTP/1.1", "< HTTP/1.1 401 Unauthorized",
                "> GET /b HTTP/1.1", "< HTTP/1.1 200 OK",
            ])
        #expect(shown.filter { $0 == "> Authorization: <hidden>" }.count == 1)
        #expect(shown.contains("< WWW-Authenticate: \(challenge)"))
        #expect(!run.error.contains("s3cret"))
    }

    @Test func secretsAreHidden() async throws {
        server.route(
            "/", .respond(302, headers: ["Set-Cookie": "s3cret=1", "Location": "http://u:s3cret@127.0.0.1:1/"]))
        let run = try await launch(
            "get", RawText(server.urlString("/")), "-v", "--no-redirects", "Authorization:s3cret", "Cookie:s3cret",
            "Proxy-Authorization:s3cret")
        #expect(!run.error.contains("s3cret"))
        for line in [
            "> Authorization: <hidden>", "> Cookie: <hidden>",
            "< Set-Cookie: <hidden>", "< Location: http://127.0.0.1:1/",
        ] {
            #expect(lines(run).contains(line), "\(line)")
        }
        // The field is for a proxy, and the request goes to the server directly.
        #expect(!run.error.contains("Proxy-Authorization"))
    }

    @Test func connectIsShownAndNothingThatWasNotSent() async throws {
        let proxy = try TestServer()
        proxy.route("host.test:443", .status(403))
        let address = RawText("http://me:s3cret@127.0.0.1:\(proxy.port)")
        let run = try await launch("get", "https://host.test/secret", "-v", "--proxy", address)
        #expect(run.exit == 3)
        let shown = lines(run)
        #expect(shown[0] == "* connected to 127.0.0.1 port \(proxy.port) (proxy)")
        #expect(shown[1] == "> CONNECT host.test:443 HTTP/1.1")
        #expect(shown.contains("> Proxy-Authorization: <hidden>"))
        #expect(shown.contains("< HTTP/1.1 403 Forbidden"))
        #expect(!run.error.contains("GET") && !run.error.contains("/secret") && !run.error.contains("s3cret"))
        let refused = try await launch("get", "http://127.0.0.1:1/", "-v")
        #expect(refused.exit == 3)
        #expect(!refused.error.contains(">") && !refused.error.contains("* connected"))
    }

    @Test func connectionsOverTLSAreDescribed() async throws {
        let authority = try TestCertificate.makeAuthority()
        let anchors = try TemporaryFile(authority.pem)
        let secure = try TestServer(tls: .init(authority.issue(hosts: ["127.0.0.1"])))
        let run = try await launch(
            "get", RawText(secure.urlString("/")), "-v", "--http1.1", "--cacert", RawText(anchors.path))
        #expect(run.exit == 0)
        let line = try #require(lines(run).first)
        #expect(line.hasPrefix("* connected to 127.0.0.1 port \(secure.port), TLSv1.3, TLS_"))
        #expect(line.contains(", certificate "))
    }

    @Test(arguments: [[], ["--json"], ["-o", "/dev/null"], ["ws"]] as [[RawText]])
    func refusedConnectionsAreDescribed(words: [RawText]) async throws {
        let authority = try TestCertificate.makeAuthority()
        let secure = try TestServer(tls: .init(authority.issue(hosts: ["127.0.0.1"], commonName: "Leaf")))
        let url = RawText(secure.urlString("/"))
        let run = try await Launch((words == ["ws"] ? ["ws", url] : [url] + words) + ["-v"]).end()
        #expect(run.exit == 5)
        let shown = lines(run).filter { $0.hasPrefix("*") }
        let connection = try #require(shown.first)
        #expect(connection.hasPrefix("* connected to 127.0.0.1 port \(secure.port), TLSv1.3, TLS_"))
        #expect(connection.hasSuffix(", certificate CN=Leaf"))
        #expect(shown.dropFirst().first?.hasPrefix("* refused, unknownIssuer: ") == true)
        #expect(shown.contains("*   0  CN=Leaf") && shown.contains("*      names        127.0.0.1"))
        #expect(shown.contains { $0.hasPrefix("*      issuer       ") })
        #expect(shown.contains { $0.hasPrefix("*      valid        2") && $0.contains("Z to 2") })
        #expect(shown.count == lines(run).count - 2 && lines(run).dropLast().last?.hasPrefix("swiftaf: ") == true)
        #expect(secure.requests.isEmpty)
    }

    @Test func serversWithoutTLSAreNamed() async throws {
        server.onConnection(nil, [.send("HTTP/1.1 400 Bad Request\r\n\r\n"), .waitForPeerClose])
        let run = try await launch("get", RawText("https://127.0.0.1:\(server.port)/"), "-v")
        #expect(run.exit == 5 && lines(run).first == "* connected to 127.0.0.1 port \(server.port)")
        #expect(lines(run).dropFirst().first?.hasPrefix("* TLS failed: ") == true)
    }

    @Test func repeatsSayWhy() async throws {
        server.route("/", .text("in"))
        server.route("/", times: 1, .reset)
        let run = try await launch("get", RawText(server.urlString("/")), "-v", "--retry", "1")
        #expect(run.exit == 0)
        #expect(lines(run).filter { $0 == "> GET / HTTP/1.1" }.count == 2)
        #expect(run.error.contains("; repeated in "))
    }
}
