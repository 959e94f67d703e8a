import Testing

@testable import SwiftAF

@Suite struct BaseURLTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let base: String
        let reference: String
        let result: String
        var testDescription: String { "\(base) + \(reference)" }

        init(_ base: String, _ reference: String, _ result: String) {
            (self.base, self.reference, self.result) = (base, reference, result)
        }
    }

    /// What AFNetworking's documentation promises, and what follows from it.
    static let practice = [
        Case("http://host/v1/", "foo", "http://host/v1/foo"),
        Case("http://host/v1/", "foo?bar=baz", "http://host/v1/foo?bar=baz"),
        Case("http://host/v1/", "/foo", "http://host/foo"),
        Case("http://host/v1/", "foo/", "http://host/v1/foo/"),
        Case("http://host/v1/", "/foo/", "http://host/foo/"),
        Case("http://host/v1/", "http://other/", "http://other/"),
        Case("http://host/v1/", "https://other/x?y#z", "https://other/x?y#z"),
        Case("http://host/v1/", "//other/x", "http://other/x"),
        Case("http://host/v1/", "", "http://host/v1/"),
        Case("http://host/v1", "foo", "http://host/v1/foo"),
        Case("http://host/v1", "", "http://host/v1/"),
        Case("http://host", "foo", "http://host/foo"),
        Case("http://host", "/foo", "http://host/foo"),
        Case("http://host", "?a=1", "http://host?a=1"),
        Case("http://host", "", "http://host"),
        Case("http://host/", "foo", "http://host/foo"),
        Case("http://host:8080/v1", "foo", "http://host:8080/v1/foo"),
        Case("http://[::1]:8080/v1", "/foo", "http://[::1]:8080/foo"),
        Case("http://user:word@host/v1/", "foo", "http://user:word@host/v1/foo"),
        Case("http://host/v1/", "HTTP://other/", "HTTP://other/"),
        Case("http://host/v1/", "mailto:me", "mailto:me"),
        Case("http://host/v1/", "a b", "http://host/v1/a b"),
        Case("http://host/a?q=1/", "", "http://host/a?q=1/"),
        Case("http://host/a?q=1/", "x", "http://host/x"),
        Case("http://host/v1?q=1", "x", "http://host/v1/x"),
        Case("http://host/v1?q=1", "", "http://host/v1/?q=1"),
        Case("http://host/v1/?q=1", "x", "http://host/v1/x"),
        Case("http://host/v1#part", "x", "http://host/v1/x"),
        Case("http://host/v1/", "#part", "http://host/v1/#part"),
        Case("http://host/v1/", "../x", "http://host/x"),
        Case("http://host/v1/", "a/../../../x", "http://host/x"),
        Case("http://host/v1/", "x.json", "http://host/v1/x.json"),
    ]

    /// RFC 3986, section 5.4, under a base that ends in a slash so that AFNetworking's rule changes nothing.
    static let standard = [
        ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
        ("//g", "http://g"), ("?y", "http://a/b/c/?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/#s"),
        ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"), (";x", "http://a/b/c/;x"),
        ("g;x?y#s", "http://a/b/c/g;x?y#s"), ("", "http://a/b/c/"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"),
        ("..", "http://a/b/"), ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"),
        ("../../", "http://a/"), ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("/./g", "http://a/g"),
        ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."),
        ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"),
        ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"), ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"), ("g#s/../x", "http://a/b/c/g#s/../x"),
    ].map { Case("http://a/b/c/", $0.0, $0.1) }

    @Test(arguments: practice + standard)
    func resolvesReferencesAgainstBaseURL(_ test: Case) {
        #expect(BaseURL(test.base).resolve(test.reference) == test.result)
    }

    @Test(
        arguments: [
            ("https://host/v1", "https://host/v1/x", true), ("https://host", "https://host", true),
            ("https://host", "https://host?q=1", true), ("https://host", "HTTPS://HOST:443/x", true),
            ("https://host:443/", "https://host/x", true), ("https://me:pw@host/", "https://host/x", true),
            ("https://host", "https://host.test/x", false), ("https://host", "https://host:8443/x", false),
            ("https://host", "https://host@evil.test/x", false), ("https://host", "https://hosting/x", false),
            ("https://host", "http://host/x", false), ("https://host", "https://host\\@evil.test/", false),
            ("https://host", "https://evil.test/https://host/", false), ("https://host:8", "https://host:80/", false),
        ])
    func comparesOriginOfURLWithBase(base: String, url: String, isOfOrigin: Bool) {
        #expect(BaseURL(base).isOfOrigin(url) == isOfOrigin)
    }

    @Test func addsTrailingSlashToBasePath() {
        #expect(HTTPSessionManager(baseURL: "http://host/v1").baseURL?.absoluteString == "http://host/v1/")
        #expect(HTTPSessionManager(baseURL: "http://host").baseURL?.absoluteString == "http://host")
        #expect(HTTPSessionManager().baseURL == nil)
    }
}
