import FoundationEssentials
import SwiftAF
import Testing

@Suite struct HTTPRequestTests {
    @Test func urlIsKeptExactly() throws {
        #expect(HTTPRequest("http://h/a b?ä#f").url == "http://h/a b?ä#f")
        let url = try #require(URL(string: "https://h/x"))
        let request = HTTPRequest(.put, url)
        #expect(request.url == "https://h/x")
        #expect(request.parsedURL == url)
    }

    @Test(
        arguments: [
            ("http://example.org/x", "http", "example.org", 80), ("HTTPS://Example.org", "https", "Example.org", 443),
            ("http://[::1]:8080/", "http", "::1", 8080), ("http://u:p@h:1/", "http", "h", 1),
            ("ftp://h/", "ftp", "h", nil), ("http://h:/", "http", "h", 80), ("http://h:99999/", "http", "h", nil),
        ] as [(String, String, String, Int?)])
    func readsSchemeHostAndPortOfURL(url: String, scheme: String, host: String, port: Int?) {
        let request = HTTPRequest(url)
        #expect(request.scheme == scheme)
        #expect(request.host == host)
        #expect(request.port == port)
    }

    @Test func copiesDontShareSettings() {
        var request = HTTPRequest("http://h/")
        let plain = request
        request.priority = 0.25
        let former = request
        request.priority = 1
        request.allowsRetries = false
        var later = request
        later.timeouts.total = .seconds(1)
        #expect(plain.priority == nil && plain.allowsRetries)
        #expect(former.priority == 0.25 && former.allowsRetries)
        #expect(request.priority == 1 && !request.allowsRetries && request.timeouts.total == nil)
        #expect(later.priority == 1 && !later.allowsRetries && later.timeouts.total == .seconds(1))
    }

    @Test func descriptionHidesSecrets() {
        let request = HTTPRequest(.post, "https://ada:s3cret@h/p?token=s3cret#s3cret")
        #expect(request.description == "POST https://h/p?…")
    }

    @Test(arguments: [
        "http://h", "https://h/", "HTTP://H:80/x?y#z", "http://[::1]:80/", "http://h/a b/ä", "http://user:p@h/",
    ])
    func validURLs(url: String) throws {
        try HTTPRequest(url).validate()
    }

    @Test(arguments: [
        ("", "scheme"), ("h/x", "scheme"), ("//h/x", "scheme"), ("ftp://h/", "neither http nor https"),
        ("file:///etc/passwd", "neither http nor https"), ("javascript:alert(1)", "neither http nor https"),
        ("http:///x", "host"), ("http:x", "host"), ("http://", "host"), ("http://user@/", "host"),
        ("http://h\r\nX: y/", "control"), ("http://h/\0", "control"), ("http://h/\u{7F}", "control"),
        ("http://h/\t", "control"), ("http://h:x/", "port"), ("http://h:65536/", "port"), ("http://h:-1/", "port"),
    ])
    func invalidURLs(url: String, part: String) {
        expectInvalid(HTTPRequest(url), part)
    }

    @Test(arguments: [
        ("", "v", "name"), ("A B", "v", "name"), ("A:", "v", "name"), ("A\r\nB", "v", "name"), ("Ä", "v", "name"),
        ("A", "x\r\nB: y", "control character"), ("A", "x\ny", "control character"), ("A", "x\ry", "control character"),
        ("A", "x\0y", "control character"), ("A", "x\u{1B}[0m", "control character"),
        ("A", "x\u{7F}", "control character"), ("Content-Length", "1", "computed"), ("content-length", "1", "computed"),
        ("Transfer-Encoding", "chunked", "computed"),
    ])
    func refusesInvalidHeaders(name: String, value: String, part: String) {
        expectInvalid(HTTPRequest("http://h/", headers: [name: value]), part)
    }

    @Test func acceptsValidHeaderValues() throws {
        try HTTPRequest("http://h/", headers: ["A": "", "B": "tab\tand ä", "Content-Type": "x"]).validate()
    }

    @Test func refusesInvalidMethodPathAndLength() {
        expectInvalid(HTTPRequest("GE T", "http://h/"), "invalid method 'GE T'")
        expectInvalid(HTTPRequest("CONNECT", "http://h/"), "can't be CONNECT")
        var request = HTTPRequest("http://h/")
        request.headers.suppressDefault("Ac cept")
        expectInvalid(request, "suppressed header")
        expectInvalid(HTTPRequest(.post, "http://h/", body: .file("")), "the path of the body's file is empty")
        expectInvalid(HTTPRequest(.post, "http://h/", body: .file("/a\0b")), "contains NUL")
        expectInvalid(
            HTTPRequest(.post, "http://h/", body: .stream(length: -1) { AsyncStream<Data> { $0.finish() } }),
            "the body's length is -1: expected 0 or more")
    }

    @Test func priorityIsANameOrANumber() {
        var request = HTTPRequest("http://h/")
        request.priority = .high
        #expect(request.priority == 0.75 && request.priority?.rawValue == 0.75)
        request.priority = 1
        #expect(request.priority.map { $0 > .high } == true)
        #expect(HTTPRequest.Priority.low < .normal && HTTPRequest.Priority.normal < .high)
    }

    @Test func refusesInvalidTimeoutsLimitsAndPriority() {
        let changes: [(String, @Sendable (inout HTTPRequest) -> Void)] = [
            ("connect timeout", { $0.timeouts.connect = .milliseconds(-1) }),
            ("idle timeout", { $0.timeouts.idle = .seconds(-1) }),
            ("total timeout is -1e-09 s: expected 0 or more", { $0.timeouts.total = .nanoseconds(-1) }),
            ("body limit", { $0.limits.maximumBodySize = -1 }),
            ("rate limit of sending", { $0.rateLimit.sendBytesPerSecond = -1 }),
            ("rate limit of receiving", { $0.rateLimit.receiveBytesPerSecond = -1 }),
            ("header size limit", { $0.limits.maximumHeaderBytes = -1 }),
            ("header count limit", { $0.limits.maximumHeaderCount = -1 }),
            ("redirect limit", { $0.redirectPolicy = .follow(atMost: -1) }),
            ("the user of a credential contains", { $0.credential = Credential(user: "a\n", password: "s3cret") }),
            (
                "the password of a credential contains",
                { $0.proxyCredential = Credential(user: "a", password: "s3cret\n") }
            ),
            ("the token of a credential contains", { $0.credential = Credential(bearerToken: "s3cret\n") }),
            ("the priority is 1.5: expected 0 to 1", { $0.priority = 1.5 }),
            ("priority", { $0.priority = .init(rawValue: .nan) }),
        ]
        for (part, change) in changes {
            var request = HTTPRequest("http://h/")
            change(&request)
            expectInvalid(request, part)
        }
    }

    private func isKept<Value: Codable & Equatable>(_ value: Value) throws -> Bool {
        try JSONCoder().decode(Value.self, from: JSONCoder().encode(value)) == value
    }

    @Test func settingsSurviveCoding() throws {
        var limits = SessionConfiguration.Limits()
        limits.maximumBodySize = .max
        #expect(try isKept(limits))
        #expect(try isKept(HTTPRequest.Limits(maximumBodySize: 1)))
        #expect(try isKept(RedirectPolicy(maximumCount: 3, followsRedirects: false, allowsInsecureDowngrade: true)))
        #expect(try JSONCoder().encode([HTTPVersionPreference.http2]) == Data(#"["http2"]"#.utf8))
        #expect(try isKept([HTTPVersionPreference.http3]))
    }

    private func expectInvalid(_ request: HTTPRequest, _ part: String, _ location: SourceLocation = #_sourceLocation) {
        let error = #expect(throws: SessionError.self, sourceLocation: location) { try request.validate() }
        #expect(error?.code == .invalidInput, sourceLocation: location)
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")", sourceLocation: location)
    }
}
