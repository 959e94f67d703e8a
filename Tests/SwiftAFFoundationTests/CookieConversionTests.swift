import Foundation
import FoundationNetworking
import SwiftAF
import SwiftAFFoundation
import Testing

@Suite struct CookieConversionTests {
    private let date = Date(timeIntervalSince1970: 4_000_000_000)

    private func httpCookie(_ change: [HTTPCookiePropertyKey: Any] = [:]) throws -> HTTPCookie {
        let properties: [HTTPCookiePropertyKey: Any] = [
            .name: "a", .value: "1", .domain: "example.org", .path: "/",
        ]
        return try #require(HTTPCookie(properties: properties.merging(change) { $1 }))
    }

    @Test func cookieOfOneHost() throws {
        #expect(Cookie(try httpCookie()) == Cookie(name: "a", value: "1", domain: "example.org"))
    }

    @Test func leadingDotIsForSubdomains() throws {
        let cookie = Cookie(try httpCookie([.domain: ".Example.org"]))
        #expect(cookie.domain == "example.org" && !cookie.isHostOnly)
        let storage = try CookieStorage()
        try storage.setCookie(cookie)
        try storage.setCookie(Cookie(try httpCookie([.name: "b"])))
        #expect(try storage.cookies(for: "https://www.example.org/").map(\.name) == ["a"])
        #expect(try Set(storage.cookies(for: "https://example.org/").map(\.name)) == ["a", "b"])
    }

    @Test func everythingThatBothHaveIsKept() throws {
        let cookie = Cookie(
            name: "a", value: "1", domain: "example.org", path: "/b", expiresDate: date, isHostOnly: false,
            isSecure: true, isHTTPOnly: true)
        let converted = try #require(HTTPCookie(cookie))
        #expect(converted.name == "a" && converted.value == "1")
        #expect(converted.domain == ".example.org" && converted.path == "/b")
        #expect(converted.expiresDate == date && !converted.isSessionOnly)
        #expect(converted.isSecure && converted.isHTTPOnly)
        #expect(Cookie(converted) == cookie)
        let plain = Cookie(name: "a", value: "", domain: "127.0.0.1")
        let session = try #require(HTTPCookie(plain))
        #expect(session.isSessionOnly && session.expiresDate == nil && session.domain == "127.0.0.1")
        #expect(!session.isSecure && !session.isHTTPOnly)
        #expect(Cookie(session) == plain)
    }

    @Test func foundationHasNoSameSite() throws {
        let cookie = Cookie(name: "a", value: "1", domain: "example.org", sameSite: .strict)
        #expect(Cookie(try #require(HTTPCookie(cookie))).sameSite == nil)
    }

    @Test func discardedCookieDoesNotExpire() throws {
        #expect(Cookie(try httpCookie([.expires: date, .discard: "TRUE"])).expiresDate == nil)
        #expect(Cookie(try httpCookie([.expires: date])).expiresDate == date)
    }

    @Test(arguments: ["", "a/b"])
    func pathWithoutSlashIsTheRoot(path: String) throws {
        #expect(Cookie(try httpCookie([.path: path])).path == "/")
    }

    @Test func cookiesOfAResponseAreStoredAlike() throws {
        let url = try #require(URL(string: "https://www.example.org/a"))
        let line = "a=1; Domain=example.org; Path=/; Secure; HttpOnly"
        let storage = try CookieStorage()
        try storage.receive(line, from: url)
        let received = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": line], for: url)
        #expect(received.map { Cookie($0) } == (try storage.cookies()))
    }
}
