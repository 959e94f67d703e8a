import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// The contract where it is easily missed: names outside ASCII, paths that aren't UTF-8, what counts for which limit,
/// and options of the network.
@Suite(.enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
struct ContractEdgeTests {
    private let server: TestServer
    private let folder: TemporaryFolder

    init() throws {
        server = try TestServer()
        folder = try TemporaryFolder()
        server.route("/", .text("done"))
    }

    private var url: RawText { RawText(server.urlString("/")) }

    /// A name that isn't UTF-8, in the folder.
    private func odd(_ name: String) -> RawText { folder.path(RawText(Array(name.utf8) + [0xFF])) }

    // MARK: Names outside ASCII

    @Test(
        arguments: ["bücher.test", "xn--bcher-kva.test", "BÜCHER.test."],
        ["bücher.test", "xn--bcher-kva.test", "XN--BCHER-KVA.test"])
    func overridesTakeAnySpelling(given: String, asked: String) async throws {
        let target = RawText("http://\(asked):\(server.port)/")
        let run = try await launch("get", target, "--resolve", RawText("\(given):\(server.port):127.0.0.1"))
        #expect(run.exit == 0 && run.text == "done")
    }

    @Test(
        arguments: ["bücher.test", "xn--bcher-kva.test"], ["bücher.test", "xn--bcher-kva.test", "BÜCHER.test"])
    func credentialsAreFoundInAnySpelling(machine: String, asked: String) async throws {
        folder.write("machine other.test login x password y\nmachine \(machine) login joe password pw\n", to: "netrc")
        let run = try await launch(
            "get", RawText("http://\(asked):\(server.port)/"), "--resolve",
            RawText("\(asked):\(server.port):127.0.0.1"), RawText("--netrc=\(folder.path)/netrc"), "--auth", "basic")
        #expect(run.exit == 0 && server.requests.last?["Authorization"] == "Basic am9lOnB3")
    }

    @Test func credentialsAreFoundForAnAddress() async throws {
        for (host, machine) in [("127.1", "127.0.0.1"), ("[::1]", "::1")] {
            folder.write("machine \(machine) login joe password pw\n", to: "netrc")
            let run = try await launch(
                "get", RawText("http://\(host):\(server.port)/"), RawText("--netrc=\(folder.path)/netrc"), "--auth",
                "basic", "--as-curl")
            #expect(run.exit == 0, "\(host)")
        }
    }

    // MARK: Nothing was sent

    /// Exit 1 says that a script may repeat the command: nothing was sent.
    @Test func redirectsThatCannotBeFollowedAreNotInvalidInput() async throws {
        server.route("/pay", .redirect(to: "http://192.0.2.1/", status: 303))
        let proxy = ["http_proxy": "ht!tp://x"]
        let run = try await launch("post", RawText(server.urlString("/pay")), "a=1", "--json", environment: proxy)
        #expect(run.exit == 3 && run.code == "redirect")
        #expect(run.json["error"]?["message"]?.string?.contains("http_proxy: ") == true)
        #expect(server.requests.count == 1)
        let unsent = try await launch("post", "http://192.0.2.1/", "a=1", "--json", environment: proxy)
        #expect(unsent.exit == 1 && unsent.code == "invalidInput")
    }

    @Test func theMethodConnectIsRefused() async throws {
        for words in [["CONNECT", url], ["request", "CONNECT", url], [url, "-X", "CONNECT"]] as [[RawText]] {
            let run = try await Launch(words + ["--json"]).end()
            #expect(run.exit == 1 && run.code == "invalidInput")
            #expect(run.json["error"]?["message"]?.string?.contains("can't be CONNECT") == true)
        }
        #expect(server.requests.isEmpty)
    }

    // MARK: Paths that aren't UTF-8

    @Test func socketsSessionsAndCachesHaveAnyName() async throws {
        // The name of the socket is one that the relay can make; a link has the other.
        let relay = try Relay(path: folder.path + "/socket", to: server.port)
        defer { withExtendedLifetime(relay) {} }
        #expect(odd("s").withCString { symlink("socket", $0) } == 0)
        let local = try await launch("get", "http://a.test/", "--unix-socket", odd("s"))
        #expect(local.exit == 0 && local.text == "done")
        let missing = try await launch("get", "http://a.test/", "--unix-socket", odd("none"))
        #expect(missing.exit == 1 && missing.error.contains("No such file or directory"))

        server.route("/", .text("done", headers: ["Cache-Control": "max-age=60"]))
        let option = RawText(Array("--cache=".utf8) + odd("cache").bytes)
        for _ in 0..<2 { #expect(try await launch("get", url, option).exit == 0) }
        #expect(server.requests.count == 2)
        #expect(try await launch("cache", "list", option).text.contains(server.urlString("/")))

        #expect(try await launch("get", url, "X-A:1", "--session", odd("kept")).exit == 0)
        #expect(try await launch("get", url, "--session", odd("kept")).exit == 0)
        #expect(server.requests.last?["X-A"] == "1")
        #expect(folder.names.contains(Array("kept".utf8) + [0xFF] + Array(".json".utf8)))
    }

    // MARK: Heads

    @Test func interimHeadsAndTrailersCountAsHeaders() async throws {
        let field: Script.Headers = ["X": String(repeating: "x", count: 400)]
        server.route("/interim", [.interim(103, headers: field), .interim(103, headers: field), .text("done")])
        server.route("/trailers", [.chunkedHead(headers: [:]), .chunk(Data("done".utf8)), .lastChunk(field)])
        for (path, limit) in [("/interim", "700"), ("/trailers", "300")] {
            let target = RawText(server.urlString(path))
            #expect(try await launch("get", target, "--max-headers", RawText(limit)).exit == 6, "\(path)")
            #expect(try await launch("get", target, "--max-headers", "2000").exit == 0, "\(path)")
        }
    }

    @Test func headerBytesCountForTheIdleTimeout() async throws {
        // Longer in all than the limit, and never as long without a byte.
        let head = "HTTP/1.1 200 OK\r\nX-Long: " + String(repeating: "x", count: 80) + "\r\nContent-Length: 0\r\n\r\n"
        server.route("/slow", .send(Data(head.utf8), inCrumbsOf: 10, pause: .milliseconds(200)))
        let run = try await launch("get", RawText(server.urlString("/slow")), "--idle-timeout", "2")
        #expect(run.exit == 0 && head.utf8.count / 10 * 200 > 2000)
    }

    @Test func anEndWithoutCloseNotifyIsTruncated() async throws {
        let authority = try TestCertificate.makeAuthority()
        let secure = try TestServer(tls: .init(authority.issue()))
        folder.write(authority.pem, to: "ca")
        let body = Script.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc")
        secure.route("/cut", [body, .closeAbruptly])
        secure.route("/whole", [body, .close])
        let anchors = folder.path("ca")
        let cut = try await launch("get", RawText(secure.urlString("/cut")), "--cacert", anchors, "--json")
        #expect(cut.exit == 3 && cut.code == "truncated" && cut.json["body"] == "abc")
        let whole = try await launch("get", RawText(secure.urlString("/whole")), "--cacert", anchors)
        #expect(whole.exit == 0 && whole.text == "abc")
    }

    // MARK: Uploads

    @Test func aFileThatBecomesShorterIsAnErrorOfTheFile() async throws {
        let path = folder.path + "/film"
        folder.write("", to: "film")
        #expect(truncate(path, 64 << 20) == 0)
        server.route("/up", [.readHeadOnly, .stall(at: "cut"), .readBody, .text("done")])
        let run = try Launch(["put", RawText(server.urlString("/up")), "-d", RawText("@\(path)"), "--json"])
        #expect(await server.wait(for: .stalled(at: "cut")))
        #expect(truncate(path, 1000) == 0)
        server.open("cut")
        let ended = try await run.end()
        #expect(ended.exit == 8 && ended.code == "file")
    }

    // MARK: Network

    @Test func theProxyIsChosenForEachHop() async throws {
        let proxy = try TestServer()
        proxy.route("/", .redirect(to: server.urlString("/")))
        let run = try await launch("get", "http://far.test/", environment: ["http_proxy": proxy.urlString("")])
        #expect(run.exit == 0 && run.text == "done")
        #expect(proxy.requests.map(\.target) == ["http://far.test/"] && server.requests.map(\.target) == ["/"])
    }

    @Test func addressesAreOfOneFamily() async throws {
        let target = RawText("http://two.test:\(server.port)/")
        let resolve = RawText("two.test:\(server.port):127.0.0.1,::1")
        #expect(try await launch("get", target, "--resolve", resolve, "-4").exit == 0)
        // The server listens on 127.0.0.1 only.
        #expect(try await launch("get", target, "--resolve", resolve, "-6").exit == 3)
        #expect(server.requests.count == 1)
    }

    @Test func priorKnowledgeBeginsWithHTTP2() async throws {
        let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        server.onConnection(nil, [.read(bytes: preface.utf8.count), .close])
        #expect(try await launch("get", url, "--http2-prior-knowledge").exit == 3)
        #expect(server.connections.first?.received.starts(with: preface.utf8) == true)
    }

    @Test func theInterfaceIsThatOfTheOption() async throws {
        #expect(try await launch("get", url, "--interface", "127.0.0.1").exit == 0)
        let run = try await launch("get", url, "--interface", "nosuch0", "--json")
        #expect(run.exit == 1 && server.requests.count == 1)
    }

    @Test func noReasonPhraseIsInvented() async throws {
        let server = try TestServer()
        server.route("/", [.send("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n")])
        #expect(await swiftaf("-i", server.urlString()).text.hasPrefix("HTTP/1.1 200\r\n"))
    }
}
