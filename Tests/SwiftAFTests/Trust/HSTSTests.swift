import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

/// Hosts that want https, as far as they cross into Swift; the rest is tested in C (hsts_test.c).
@Suite struct HSTSTests {
    @Test func httpBecomesHTTPS() async throws {
        let authority = try TestCertificate.makeAuthority()
        let server = try TestServer(tls: .init(authority.issue()))
        server.route("/", .respond(200, headers: ["Strict-Transport-Security": "max-age=1000"]))
        let secure = server.urlString("/").replacing("127.0.0.1", with: "localhost")
        let clear = secure.replacing("https:", with: "http:")
        var configuration = SessionConfiguration.default
        let store = try HSTSStore()
        configuration.hsts = store
        configuration.securityPolicy.anchors = .pem(Data(authority.pem.utf8))
        let manager = HTTPSessionManager(configuration: configuration)
        _ = try await manager.response(.get, secure)
        #expect(store.contains("LOCALHOST."))
        let response = try await manager.response(.get, clear)
        #expect(response.url.hasPrefix("https://"))
    }

    @Test(arguments: [0, -1])
    func storeHasRoomForOneHost(count: Int) throws {
        let store = try HSTSStore(maximumCount: count)
        try store.insert("a.test", until: Date(timeIntervalSinceNow: 1000))
        try store.insert("b.test")
        #expect(!store.contains("a.test") && store.contains("b.test"))
    }

    @Test func storesAreSetAndSaved() throws {
        let path = try TestFolder()
        do {
            let store = try HSTSStore(path: path.file("hsts"))
            try store.insert("Example.test", includingSubdomains: true)
            try store.insert("past.test", until: Date(timeIntervalSince1970: 1))
            try store.insert("late.test", until: Date(timeIntervalSince1970: 4_000_000_000))
        }
        let store = try HSTSStore(path: URL(filePath: path.file("hsts")))
        #expect(store.contains("www.example.test") && store.contains("late.test"))
        let copy = URL(filePath: path.file("copy"))
        try store.save(to: copy)
        #expect(try HSTSStore(path: copy).contains("late.test"))
        let remote = try #require(URL(string: "http://example.test/hsts"))
        #expect { try store.save(to: remote) } throws: {
            ($0 as? SessionError)?.message == "the URL of a store of HSTS hosts doesn't begin with file://"
        }
        #expect(!store.contains("past.test") && !store.contains("www.late.test") && !store.contains("late.test\0"))
        store.remove("late.test")
        #expect(!store.contains("late.test"))
        store.removeAll()
        #expect(!store.contains("example.test"))
        for host in ["10.0.0.1", "", "a\0", "b\u{fc}cher.test"] {
            #expect { try store.insert(host) } throws: { ($0 as? SessionError)?.code == .invalidInput }
        }
    }
}
