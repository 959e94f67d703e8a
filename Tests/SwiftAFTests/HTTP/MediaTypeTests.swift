import SwiftAF
import Testing

@Suite struct MediaTypeTests {
    @Test(
        arguments: [
            ("text/html", "text/html", [], "text/html"),
            ("Text/HTML;Charset=\"utf-8\"", "text/html", [("charset", "utf-8")], "text/html; charset=utf-8"),
            (" text/html ; charset=UTF-8 ", "text/html", [("charset", "UTF-8")], "text/html; charset=UTF-8"),
            ("a/b;c=d;;e=f;", "a/b", [("c", "d"), ("e", "f")], "a/b; c=d; e=f"),
            (#"a/b; c="x\"y\\z;=""#, "a/b", [("c", #"x"y\z;="#)], #"a/b; c="x\"y\\z;=""#),
            (#"a/b; c="""#, "a/b", [("c", "")], #"a/b; c="""#),
            ("a/b; c=\"é\"", "a/b", [("c", "é")], "a/b; c=\"é\""),
            ("application/problem+json", "application/problem+json", [], "application/problem+json"),
        ] as [(String, String, [(String, String)], String)])
    func parsesAndNormalisesMediaTypes(
        text: String, essence: String, parameters: [(String, String)], description: String
    ) throws {
        let type = try #require(MediaType(text))
        #expect(type.essence == essence)
        #expect(type.parameters == parameters.map { MediaType.Parameter(name: $0.0, value: $0.1) })
        #expect(type.description == description)
        #expect(MediaType(type.description) == type)
    }

    @Test(arguments: [
        "", "text", "text/", "/html", "text /html", "text/ html", "text/html x", "text/html, text/plain",
        "text/html; charset", "text/html; charset=", "text/html; =x", "a/b; c=\"", "a/b; c=\"x\\", "a/b; c=é",
        "tèxt/html", "text//html",
    ])
    func refusesInvalidMediaTypes(text: String) {
        #expect(MediaType(text) == nil)
    }

    @Test(
        arguments: [
            ("application/json", nil, true), ("text/json", nil, true), ("application/problem+json", "json", true),
            ("image/svg+xml", "xml", false), ("image/json", nil, false), ("text/javascript", nil, false),
        ] as [(String, String?, Bool)])
    func recognisesJSONByTypeOrSuffix(text: String, suffix: String?, isJSON: Bool) throws {
        let type = try #require(MediaType(text))
        #expect(type.suffix == suffix)
        #expect(type.isJSON == isJSON)
    }

    @Test func readsCharsetInLowerCase() {
        #expect(MediaType("text/html; CHARSET=UTF-8")?.charset == "utf-8")
        #expect(MediaType.plainText.charset == nil)
    }
}
