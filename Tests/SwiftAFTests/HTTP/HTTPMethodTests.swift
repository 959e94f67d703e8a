import SwiftAF
import Testing

@Suite struct HTTPMethodTests {
    @Test(arguments: [
        ("GET", true), ("get", true), ("PURGE", true), ("M-SEARCH", true), ("!#$%&'*+-.^_`|~09", true),
        ("", false), ("GE T", false), ("GET ", false), ("GET\r\n", false), ("GET\0", false), ("GET/", false),
        ("GET:", false), ("ПУТ", false), ("(GET)", false), ("G\tT", false), ("\u{7F}", false),
    ])
    func validatesMethodAsToken(text: String, isValid: Bool) {
        #expect(HTTPMethod(text).isValid == isValid)
    }

    @Test func caseIsKeptAndCounts() {
        #expect(HTTPMethod("get").rawValue == "get")
        #expect(HTTPMethod("get") != .get)
        let literal: HTTPMethod = "REPORT"
        #expect(literal.description == "REPORT")
    }

    @Test(arguments: [
        (HTTPMethod.get, true, true), (.head, true, true), (.options, true, true), (.trace, true, true),
        (.put, false, true), (.delete, false, true), (.post, false, false), (.patch, false, false),
        ("CONNECT", false, false), ("PURGE", false, false),
    ])
    func classifiesSafeAndIdempotentMethods(method: HTTPMethod, isSafe: Bool, isIdempotent: Bool) {
        #expect(method.isSafe == isSafe)
        #expect(method.isIdempotent == isIdempotent)
    }
}

@Suite struct HTTPVersionTests {
    @Test(arguments: [
        (HTTPVersion.http1_0, "HTTP/1.0", "1.0"), (.http1_1, "HTTP/1.1", "1.1"), (.http2, "HTTP/2", "2"),
        (.http3, "HTTP/3", "3"),
    ])
    func formatsVersionAsText(version: HTTPVersion, description: String, number: String) {
        #expect(version.description == description)
        #expect(version.number == number)
    }

    @Test func ordersVersionsByNumber() {
        #expect(HTTPVersion.http1_0 < .http1_1 && .http1_1 < .http2 && .http2 < .http3)
    }
}
