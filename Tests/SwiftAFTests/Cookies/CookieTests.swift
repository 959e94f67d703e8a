import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

/// Cookies, as far as they cross into Swift; what is kept and sent is tested in C (cookie_test.c, cookie_net_test.c).
@Suite struct CookieTests {
    private let server: TestServer
    private let storage: CookieStorage

    init() throws {
        server = try TestServer()
        server.route(
            "/set", .respond(200, headers: ["Set-Cookie": "a=1; Path=/; HttpOnly; SameSite=Lax; Max-Age=1000"]))
        server.route("/", .respond(200))
        storage = try CookieStorage()
    }

    private func manager(_ policy: Cookie.AcceptPolicy = .always) -> HTTPSessionManager {
        var configuration = SessionConfiguration.default
        configuration.cookieStorage = storage
        configuration.cookieAcceptPolicy = policy
        return HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
    }

    private func lastCookie() -> String? { server.requests.last?["Cookie"] }

    @Test func whatServersSetIsSentAgain() async throws {
        let manager = manager()
        _ = try await manager.response(.get, "/set")
        _ = try await manager.response(.get, "/")
        #expect(lastCookie() == "a=1")
        let cookie = try #require(try storage.cookies(for: server.urlString("/")).first)
        #expect(try storage.cookies(for: server.url("/")) == [cookie])
        #expect(cookie.name == "a" && cookie.value == "1" && cookie.path == "/" && cookie.domain == "127.0.0.1")
        #expect(cookie.isHTTPOnly && cookie.isHostOnly && !cookie.isSecure && cookie.sameSite == .lax)
        #expect(try #require(cookie.expiresDate) > Date())
        // Another policy of trust is another session with the same storage.
        manager.securityPolicy = SecurityPolicy.default
        _ = try await manager.response(.get, "/")
        #expect(lastCookie() == "a=1")
        storage.deleteCookie(cookie)
        _ = try await manager.response(.get, "/")
        #expect(lastCookie() == nil)
    }

    @Test(arguments: [
        ("one.test", 3), ("ONE.test", 3), ("two.test", 1), ("sub.one.test", 0), ("test", 0), ("", 0),
        ("one.test\0", 0),
    ])
    func deletesTheCookiesOfADomain(domain: String, count: Int) throws {
        let storage = try filledStorage()
        #expect(storage.deleteCookies(forDomain: domain) == count)
        #expect(try storage.cookies().count == 4 - count)
    }

    @Test(arguments: [0, -1])
    func storageHasRoomForOneCookie(count: Int) throws {
        for storage in [
            try CookieStorage(maximumCount: count), try CookieStorage(maximumCountPerDomain: count),
        ] {
            try storage.receive("a=1", from: "http://h/")
            try storage.receive("b=2", from: "http://h/")
            #expect(try storage.cookies().map(\.name) == ["b"])
        }
    }

    @Test func deletesAllCookies() throws {
        let storage = try filledStorage()
        #expect(storage.deleteAllCookies() == 4)
        #expect(try storage.cookies().isEmpty)
    }

    @Test func deletesOneOfSeveralCookiesWithItsName() throws {
        let storage = try filledStorage()
        storage.deleteCookie(Cookie(name: "b", value: "", domain: "one.test", path: "/p"))
        storage.deleteCookie(Cookie(name: "a", value: "", domain: "one.test", path: "/p"))
        #expect(try storage.cookies().map { $0.name + $0.path }.sorted() == ["a/", "a/", "b/"])
    }

    private func filledStorage() throws -> CookieStorage {
        let storage = try CookieStorage()
        for (name, domain, path) in [
            ("a", "one.test", "/"), ("b", "one.test", "/"), ("b", "one.test", "/p"), ("a", "two.test", "/"),
        ] {
            try storage.setCookie(Cookie(name: name, value: "1", domain: domain, path: path))
        }
        return storage
    }

    @Test func aRequestCanDoWithout() async throws {
        let manager = manager()
        var request = HTTPRequest(server.urlString("/set"))
        request.handlesCookies = false
        _ = try await manager.response(for: request)
        #expect(try storage.cookies().isEmpty)
        // Without a storage there are none.
        _ = try await HTTPSessionManager().response(for: HTTPRequest(server.urlString("/set")))
        #expect(try storage.cookies().isEmpty)
    }

    @Test func policiesSayWhichAreKept() async throws {
        _ = try await manager(.never).response(.get, "/set")
        #expect(try storage.cookies().isEmpty)
        var request = HTTPRequest(server.urlString("/set"))
        request.mainDocumentURL = "https://example.org/"
        let manager = manager(.onlyFromMainDocumentDomain)
        _ = try await manager.response(for: request)
        #expect(try storage.cookies().isEmpty)
        request.mainDocumentURL = nil
        _ = try await manager.response(for: request)
        #expect(try storage.cookies().count == 1)
    }

    @Test func storagesAreSetAndSaved() throws {
        let folder = try TestFolder()
        let path = folder.file("jar")
        let kept = Cookie(
            name: "a", value: "1", domain: "example.test", expiresDate: Date(timeIntervalSince1970: 4_000_000_000),
            isHostOnly: false, isSecure: true, sameSite: .strict)
        do {
            let storage = try CookieStorage(path: path)
            try storage.setCookie(kept)
            try storage.receive("b=2", from: "http://example.test/")
            #expect(storage.description(of: "http://www.example.test/") == [])
            #expect(storage.description(of: "https://www.example.test/") == ["a"])
        }
        #expect(try CookieStorage(path: path).cookies() == [kept])
        let loaded = try CookieStorage(path: URL(filePath: path))
        #expect(try loaded.cookies() == [kept])
        let copy = URL(filePath: folder.file("copy"))
        try loaded.save(to: copy)
        #expect(try CookieStorage(path: copy).cookies() == [kept])
        let remote = try #require(URL(string: "http://example.test/jar"))
        #expect { try loaded.save(to: remote) } throws: {
            ($0 as? SessionError)?.message == "the URL of a cookie storage doesn't begin with file://"
        }
        for cookie in [
            Cookie(name: "a\r\n", value: "1", domain: "example.test"),
            Cookie(name: "a\0", value: "1", domain: "example.test"),
            Cookie(name: "a", value: "1", domain: "co.uk", isHostOnly: false),
        ] {
            #expect { try storage.setCookie(cookie) } throws: { ($0 as? SessionError)?.code == .invalidInput }
        }
        #expect { try storage.save() } throws: { ($0 as? SessionError)?.code == .invalidInput }
    }
}

extension CookieStorage {
    fileprivate func description(of url: String) -> [String] {
        ((try? cookies(for: url)) ?? []).map(\.name)
    }
}
