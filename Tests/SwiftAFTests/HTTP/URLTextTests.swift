import Testing

@testable import SwiftAF

@Suite struct URLTextTests {
    @Test(
        arguments: [
            ("http://u:p@h:8/p?q#f", "http", "u:p", "h", "8", "/p", "q", "f"),
            ("http://h", "http", nil, "h", nil, "", nil, nil),
            ("http://a@b@c/", "http", "a@b", "c", nil, "/", nil, nil),
            ("http://[fe80::1%25e]:1/", "http", nil, "fe80::1%25e", "1", "/", nil, nil),
            ("http://[::1", "http", nil, "[", ":1", "", nil, nil),
            ("http://h?a/b", "http", nil, "h", nil, "", "a/b", nil),
            ("http://h#a?b", "http", nil, "h", nil, "", nil, "a?b"),
            ("/p?q", nil, nil, nil, nil, "/p", "q", nil), ("//h/p", nil, nil, "h", nil, "/p", nil, nil),
            ("mailto:x", "mailto", nil, nil, nil, "x", nil, nil), ("1a:x", nil, nil, nil, nil, "1a:x", nil, nil),
            ("", nil, nil, nil, nil, "", nil, nil),
        ] as [(String, String?, String?, String?, String?, String, String?, String?)])
    func splitsURLTextIntoParts(
        url: String, scheme: String?, userInfo: String?, host: String?, port: String?, path: String, query: String?,
        fragment: String?
    ) {
        let parts = URLText(url)
        #expect(parts.scheme.map(String.init) == scheme)
        #expect(parts.userInfo.map(String.init) == userInfo)
        #expect(parts.host.map(String.init) == host)
        #expect(parts.portText.map(String.init) == port)
        #expect(String(parts.path) == path)
        #expect(parts.query.map(String.init) == query)
        #expect(parts.fragment.map(String.init) == fragment)
    }

    @Test(arguments: [
        ("https://u:s3cret@h:1/p?s3cret#s3cret", "https://h:1/p?…"), ("http://[::1]:80/", "http://[::1]:80/"),
        ("u:s3cret@h/p", "u:…"), ("s3cret@h", "…"), ("http://h/p?\u{301}s3cret", "http://h/p?…"),
        ("http://u:s3cret@\u{301}h/", "http://\u{301}h/"), ("http://h/#\u{301}s3cret", "http://h/"),
        ("http://h\r\nX: y/\u{1B}[2J", "http://h\u{FFFD}\u{FFFD}X: y/\u{FFFD}[2J"),
    ])
    func redactsUserInfoQueryAndFragment(url: String, shown: String) {
        #expect(URLText(url).redacted == shown)
        #expect(!URLText(url).redacted.contains("s3cret"))
    }
}
