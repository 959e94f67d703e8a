import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAFCommand

/// `--proxy` and `--noproxy`, with a scripted server as the proxy. What goes where is tested in C (proxy_net_test.c).
@Suite struct ProxyTests {
    private let proxy: TestServer
    private let address: String

    init() throws {
        proxy = try TestServer()
        address = proxy.urlString()
        proxy.route("example.test:443", .status(403))
        proxy.route("denied.test:443", .status(407))
    }

    @Test func aProxyIsAskedForTheWholeURL() async {
        let run = await swiftaf(["get", "http://example.test/a", "--proxy", address, "--json"])
        #expect(run.exit == 0)
        // What the server saw is its answer.
        #expect(run.json["body"]?.string?.contains("\"target\":\"http://example.test/a\"") == true)
        #expect(proxy.requests.count == 1)
    }

    @Test(arguments: ["*", "other, .test", "127.0.0.1,example.test:80"])
    func hostsWithoutAProxyAreReachedDirectly(list: String) async {
        let run = await swiftaf(["get", "http://example.test/a", "--noproxy", list, "--proxy", address, "--json"])
        #expect(run.exit == 3)
        #expect(run.json["error"]?["code"] == "dns")
        #expect(proxy.requests.isEmpty)
    }

    @Test func aRefusedTunnelIsAFailureToConnect() async {
        let run = await swiftaf(["get", "https://example.test/", "--proxy", address, "--json"])
        #expect(run.exit == 3)
        #expect(run.json["error"]?["code"] == "connect")
    }

    @Test func aProxyThatWantsCredentialsIsAuthentication() async {
        #expect(await swiftaf(["get", "https://denied.test/", "--proxy", address]).exit == 7)
    }

    @Test(arguments: ["socks4://p", "ftp://p", "http://me:secret@", "", "p:0"])
    func aProxyThatCannotBeUsedIsAnErrorOfTheInput(text: String) async {
        let run = await swiftaf(["get", "http://example.test/a", "--proxy", text, "--json"])
        #expect(run.exit == 1)
        #expect(run.json["error"]?["message"]?.string?.contains("secret") == false)
        #expect(run.error.hasPrefix("swiftaf: --proxy"))
    }

    @Test func anchorsOfTheCommandLineCountForAProxyOverHTTPS() async throws {
        let authority = try TestCertificate.makeAuthority()
        let secure = try TestServer(tls: .init(authority.issue()))
        let address = secure.urlString().replacing("127.0.0.1", with: "localhost")
        let path = FileManager.default.temporaryDirectory.path + "/af-anchors-\(UInt64.random(in: 0 ... .max)).pem"
        try Data(authority.pem.utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let refused = await swiftaf(["get", "http://example.test/a", "--proxy", address, "--insecure", "--json"])
        #expect(refused.exit == 5)
        #expect(refused.json["error"]?["code"] == "untrusted")
        #expect(secure.requests.isEmpty)
        let run = await swiftaf(["get", "http://example.test/a", "--proxy", address, "--cacert", path, "--json"])
        #expect(run.exit == 0)
        #expect(secure.requests.count == 1)
    }
}
