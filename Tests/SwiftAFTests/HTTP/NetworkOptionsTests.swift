import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

/// How hosts are reached, as far as it crosses into the core; what comes of it is tested in C (network_test.c).
@Suite struct NetworkOptionsTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
        server.route("/", .respond(200, body: Data("here".utf8)))
    }

    private func manager(_ change: (inout NetworkOptions) -> Void) -> HTTPSessionManager {
        var configuration = SessionConfiguration.default
        change(&configuration.network)
        return HTTPSessionManager(configuration: configuration)
    }

    @Test func anOverrideStandsForAName() async throws {
        let port = try #require(UInt16(exactly: server.port))
        let manager = manager {
            $0.hostOverrides = [.init(host: "example.test", port: port, addresses: ["127.0.0.1"])]
            $0.ipVersion = .v4
            $0.happyEyeballsDelay = .milliseconds(100)
        }
        let text: String = try await manager.get("http://example.test:\(port)/")
        #expect(text == "here")
    }

    @Test func whatMakesNoSenseIsTheErrorOfEveryRequest() async {
        for change: (inout NetworkOptions) -> Void in [
            { $0.hostOverrides = [.init(host: "a", port: 80, addresses: [])] },
            { $0.hostOverrides = [.init(host: "a\0", port: 80, addresses: ["::1"])] },
            { $0.interface = "host!example.test" },
            { $0.dnsOverHTTPS = "http://dns.test/" },
            { $0.dnsServers = ["dns.test"] },
            { $0.unixSocket = String(repeating: "a", count: 108) },
        ] {
            let manager = manager(change)
            await #expect { try await manager.response(.get, server.urlString("/")) } throws: {
                ($0 as? SessionError)?.code == .invalidInput
            }
        }
    }

    @Test(arguments: [-1, 61])
    func delayOutOfItsRangeIsNamedByTheError(seconds: Int) async {
        let manager = manager { $0.happyEyeballsDelay = .seconds(seconds) }
        await #expect { try await manager.response(.get, server.urlString("/")) } throws: {
            ($0 as? SessionError)?.code == .invalidInput
                && ($0 as? SessionError)?.message.contains("is \(seconds).0 s: expected 0 to 60") == true
        }
    }

    /// An address needs no look-up, so that a libcurl with c-ares answers.
    @Test func serversOfOnesOwnForNamesNeedCAres() async {
        let manager = manager { $0.dnsServers = ["192.0.2.1"] }
        var failure: SessionError?
        do throws(SessionError) {
            _ = try await manager.response(for: HTTPRequest(server.urlString("/")))
        } catch {
            failure = error
        }
        #expect(failure == nil || failure?.code == .unsupported)
        #expect(failure?.message.contains("c-ares") != false)
    }

    @Test func hostsCanBeHeldToPublicAddresses() async {
        let manager = manager { $0.allowsOnlyPublicAddresses = true }
        await #expect { try await manager.response(for: HTTPRequest(server.urlString("/"))) } throws: {
            ($0 as? SessionError)?.code == .connect
        }
        #expect(server.requests.isEmpty)
    }

    @Test func aRequestHasItsOwnSocketOrNone() async throws {
        let manager = manager { $0.unixSocket = "/no/such/socket" }
        var request = HTTPRequest(server.urlString("/"))
        await #expect { try await manager.response(for: request) } throws: {
            ($0 as? SessionError)?.code == .connect
        }
        request.unixSocket = ""
        #expect(try await manager.response(for: request).body == Data("here".utf8))
        request.unixSocket = "a\0"
        await #expect { try await manager.response(for: request) } throws: {
            ($0 as? SessionError)?.code == .invalidInput
        }
    }

    /// The core would take what precedes a NUL: nothing, which stands for a direct connection.
    @Test(arguments: ["\0http://proxy:1", "http://proxy:1\0.example", "http://pro\nxy:1"])
    func aRequestsProxyHasNoControlCharacters(proxy: String) async {
        let manager = HTTPSessionManager()
        var request = HTTPRequest(server.urlString("/"))
        request.proxy = .url(proxy)
        await #expect { try await manager.response(for: request) } throws: {
            ($0 as? SessionError)?.code == .invalidInput
        }
        #expect(server.requests.isEmpty)
    }
}
