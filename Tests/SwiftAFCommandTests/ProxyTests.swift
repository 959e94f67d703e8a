import AFTestServer
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

    @Test(arguments: ["https://p", "ftp://p", "http://me:secret@", "", "p:0"])
    func aProxyThatCannotBeUsedIsAnErrorOfTheInput(text: String) async {
        let run = await swiftaf(["get", "http://example.test/a", "--proxy", text, "--json"])
        #expect(run.exit == 1)
        #expect(run.json["error"]?["message"]?.string?.contains("secret") == false)
    }
}
