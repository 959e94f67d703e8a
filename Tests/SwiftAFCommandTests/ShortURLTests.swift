import SwiftAF
import Testing

@testable import SwiftAFCommand

@Suite struct ShortURLTests {
    @Test(arguments: [
        ("example.org", "https://example.org"), ("example.org/a?b#c", "https://example.org/a?b#c"),
        ("example.org:8443/x", "https://example.org:8443/x"), ("intranet/wiki", "https://intranet/wiki"),
        ("localhost", "http://localhost"), ("LOCALHOST:3000", "http://LOCALHOST:3000"),
        ("api.localhost/x", "http://api.localhost/x"), ("127.0.0.1:8000/a", "http://127.0.0.1:8000/a"),
        ("127.9.9.9", "http://127.9.9.9"), ("[::1]:80/", "http://[::1]:80/"),
        ("[2001:db8::1]/", "https://[2001:db8::1]/"), ("user:secret@localhost/a", "http://user:secret@localhost/a"),
        ("user:secret@example.org", "https://user:secret@example.org"),
        (":8080/path", "http://localhost:8080/path"), (":8080", "http://localhost:8080"),
        (":/path", "http://localhost/path"), ("127.1:80/x", "http://127.1:80/x"), ("0x7f.1", "http://0x7f.1"),
        // The scheme is only what stands first.
        ("127.0.0.1:8/a?u=http://b", "http://127.0.0.1:8/a?u=http://b"),
        ("localhost:8?u=ftp://z", "http://localhost:8?u=ftp://z"), ("example.org#a://b", "https://example.org#a://b"),
        ("example.org/http://b", "https://example.org/http://b"),
        (":8/a?u=http://b", "http://localhost:8/a?u=http://b"),
        ("127.0.0.1:8/x y", "http://127.0.0.1:8/x y"), ("example.org?q=x y", "https://example.org?q=x y"),
        // A mark that combines with a delimiter doesn't hide it.
        ("localhost/\u{301}", "http://localhost/\u{301}"), ("127.0.0.1?\u{301}", "http://127.0.0.1?\u{301}"),
        (":8080/\u{301}", "http://localhost:8080/\u{301}"), ("h/\u{FE0F}", "https://h/\u{FE0F}"),
        // Not completed: they have a scheme, or don't look like a host.
        ("http://example.org", "http://example.org"), ("HTTPS://h/", "HTTPS://h/"), ("ftp://h/", "ftp://h/"),
        ("nowhere", "nowhere"), ("", ""), ("mailto:a@b", "mailto:a@b"), ("a:b://c", "a:b://c"), ("x:/y", "x:/y"),
        ("/etc/passwd", "/etc/passwd"),
        ("localhost./x", "http://localhost./x"), ("joe:p@1@localhost", "http://joe:p@1@localhost"),
        (":", ":"), ("host:", "host:"), ("joe@:80/x", "joe@:80/x"),
        ("./file", "./file"), ("a b", "a b"), ("a b/c", "a b/c"), ("host:word", "host:word"),
        ("127.0.0.1.example.org", "https://127.0.0.1.example.org"),
        ("127.0.0.999", "https://127.0.0.999"),
    ])
    func addsSchemeToShortURL(text: String, url: String) {
        #expect(ShortURL.complete(text) == url)
    }

    @Test(arguments: [
        (["example.org/a"], nil as HTTPMethod?, "https://example.org/a"),
        (["localhost:1", "a=b"], nil, "http://localhost:1"),
        ([":1/x", "q==1"], nil, "http://localhost:1/x"), (["GET", "example.org"], .get, "https://example.org"),
        (["Post", "example.org"], .post, "https://example.org"),
        (["PURGE", "example.org"], HTTPMethod("PURGE"), "https://example.org"),
        (["M-SEARCH", "http://h/"], HTTPMethod("M-SEARCH"), "http://h/"),
        (["purge", "http://h/"], HTTPMethod("PURGE"), "http://h/"),
        (["pRoPfInD", "h/"], HTTPMethod("PROPFIND"), "https://h/"), (["put", "-X", "PUT", "u"], .put, "https://u"),
        (["MGET", "http://h/"], HTTPMethod("MGET"), "http://h/"),
        (["example.org", "-I"], .head, "https://example.org"),
        (["h/d/..", "-T", "f"], .put, "https://h/d/../f"), (["h/.?q", "-T", "f"], .put, "https://h/./f?q"),
        (["h/", "-T", "f"], .put, "https://h/f"), (["post", "h/", "-T", "a/f"], .post, "https://h/f"),
        (["-X", "POST", "-T", "f", "h/d/"], .post, "https://h/d/f"),
        (["-T", "f", "-X", "POST", "h/d"], .post, "https://h/d"),
        (["-T", "f g#", "http://h"], .put, "http://h/f%20g%23"), (["-T", "f", "h/?q=/"], .put, "https://h/f?q=/"),
        (["-T", "f", "h?q#/x"], .put, "https://h/f?q#/x"),
        (["-T", "q?x.txt", "h/up/"], .put, "https://h/up/q%3Fx.txt"),
        (["-T", "-", "h/"], .put, "https://h/"), (["-T", "f", "-I", "h/f"], .put, "https://h/f"),
        (["-G", "h/"], .get, "https://h/"),
        (["localhost:1/x y"], nil, "http://localhost:1/x y"),
        (["download", "localhost:1/x?u=http://y"], .get, "http://localhost:1/x?u=http://y"),
        // Behind a command, a single word is a host.
        (["get", "intranet"], .get, "https://intranet"),
        (["request", "PURGE", "intranet"], HTTPMethod("PURGE"), "https://intranet"),
        (["get", "joe:pw@wiki"], .get, "joe:pw@wiki"), (["get", "host:word"], .get, "host:word"),
    ])
    func commandMayBeLeftOut(arguments: [String], method: HTTPMethod?, url: String) throws {
        guard case .request(let command) = try ArgumentParser.parse(arguments).command.get() else {
            throw UsageError("no request")
        }
        #expect(command.method == method)
        #expect(command.url == url)
    }

    @Test func queriesOfWebSocketsMayContainURLs() throws {
        guard case .socket(let command) = try ArgumentParser.parse(["ws", "127.0.0.1:1/a?u=http://b"]).command.get()
        else { throw UsageError("no socket") }
        #expect(command.url == "http://127.0.0.1:1/a?u=http://b")
    }
}

@Suite struct NestedFieldsTests {
    private func json(_ fields: [(String, String)]) throws -> String {
        var object = NestedFields()
        for (name, value) in fields { try object.add(name, try JSONText(RawText(value), of: RawText(name))) }
        return String(decoding: object.json.bytes, as: UTF8.self)
    }

    @Test(arguments: built)
    func buildsNestedJSONFromFields(fields: [(String, String)], text: String) throws {
        #expect(try json(fields) == text)
    }

    private static let built: [([(String, String)], String)] = [
        ([("a", "1"), ("b", "2")], #"{"a":1,"b":2}"#), ([("a", "1"), ("a", "2")], #"{"a":1,"a":2}"#), ([], "{}"),
        ([("a[b]", "1"), ("a[c]", "2")], #"{"a":{"b":1,"c":2}}"#), ([("a[]", "1"), ("a[]", "2")], #"{"a":[1,2]}"#),
        ([(#"a[\1]"#, "1"), (#"a[\-2]"#, "2"), (#"a[\x]"#, "3")], #"{"a":{"1":1,"-2":2,"\\x":3}}"#),
        ([("a[1]", "7")], #"{"a":[null,7]}"#), ([("a[b][c][]", "1"), ("a[b][c][]", "2")], #"{"a":{"b":{"c":[1,2]}}}"#),
        ([("a[][b]", "1"), ("a[][b]", "2")], #"{"a":[{"b":1},{"b":2}]}"#),
        ([("a[0][b]", "1"), ("a[0][c]", "2")], #"{"a":[{"b":1,"c":2}]}"#),
        ([("\u{E9}[b]", "1"), ("e\u{301}[c]", "2")], #"{"\#u{E9}":{"b":1},"e\#u{301}":{"c":2}}"#),
        (
            [("a[\u{E9}][x]", "1"), ("a[e\u{301}][y]", "2")],
            #"{"a":{"\#u{E9}":{"x":1},"e\#u{301}":{"y":2}}}"#
        ),
        ([("a[\u{301}b]", "1")], #"{"a":{"\#u{301}b":1}}"#),
        ([(#"a\[b\]"#, "1")], #"{"a[b]":1}"#), ([(#"a\b"#, "1")], #"{"a\\b":1}"#),
        ([("[]", "1"), ("[]", "2")], "[1,2]"), ([("[1][a]", "7")], #"[null,{"a":7}]"#), ([("", "1")], #"{"":1}"#),
        ([("a", "1"), ("[b]", "2")], #"{"a":1,"b":2}"#),
    ]

    private static let refused: [[(String, String)]] = [
        [("a[", "1")], [("a]", "1")], [("a[b", "1")], [("a[b]c", "1")], [("a[[b]]", "1")],
        [("a[b]", "1"), ("a[]", "2")], [("[]", "1"), ("a", "2")], [("a", "1"), ("[]", "2")],
        [("a", "1"), ("a[b]", "2")], [("a[b]", "1"), ("a", "2")], [("a", "{}"), ("a[b]", "1")],
        [("a", "1"), ("a[]", "2")], [("a[]", "1"), ("a", "2")], [("a[]", "1"), ("a[b]", "2")],
        [("a[b]", "1"), ("a[b]", "2")], [("a[b]", "1"), ("a[b][c]", "2")], [("a[10000]", "1")],
        [("a[99999999999999999999]", "1"), ("a[]", "1")],
    ]

    @Test(arguments: [
        ("a", "a[b]", "a value can't also be an object"), ("a[]", "a", "an array can't also be a value"),
        ("a[b]", "a[0]", "an object can't also be an array"), ("a[b]", "a[b][]", "a value can't also be an array"),
        ("[]", "[a]", "an array can't also be an object"),
    ])
    func saysHowFieldsContradictEachOther(first: String, second: String, reason: String) {
        let error = #expect(throws: UsageError.self) { try json([(first, "1"), (second, "2")]) }
        #expect(error?.message == "'\(second)' contradicts an earlier field: \(reason)")
    }

    @Test(arguments: refused)
    func refusesInvalidNestedFields(fields: [(String, String)]) {
        #expect(throws: UsageError.self) { try json(fields) }
    }
}

@Suite struct NetrcTests {
    private static let file = """
        # comment
        machine example.org
            login ada password "a \\"quoted\\" one"
        machine other.example login bob account x password secret
        macdef init
        machine trap login a password b

        default login guest password anything
        """

    @Test(arguments: [
        ("example.org", Netrc.Entry(user: "ada", password: "a \"quoted\" one")),
        ("EXAMPLE.org", Netrc.Entry(user: "ada", password: "a \"quoted\" one")),
        ("other.example", Netrc.Entry(user: "bob", password: "secret")),
        ("trap", Netrc.Entry(user: "guest", password: "anything")),
    ])
    func findsTheHost(host: String, entry: Netrc.Entry) throws {
        #expect(try Netrc.entry(for: host, in: Self.file) == entry)
        #expect(try Netrc.entry(for: host, in: Self.file.replacing("\n", with: "\r\n")) == entry)
    }

    @Test func machinesWithoutALoginHideTheDefault() throws {
        let text = "machine h password p\ndefault login guest password anything\n"
        #expect(try Netrc.entry(for: "h", in: text) == nil)
        #expect(try Netrc.entry(for: "i", in: text)?.user == "guest")
        #expect(try Netrc.entry(for: "h", in: text + "machine h login joe\n")?.user == "joe")
    }

    @Test func passwordsWithoutALoginAreForAny() throws {
        let text = "machine h password p\nmachine i\nmachine j password q login joe\n"
        #expect(try Netrc.entry(for: "h", login: "joe", in: text) == Netrc.Entry(user: "joe", password: "p"))
        #expect(try Netrc.entry(for: "i", login: "joe", in: text) == nil)
        #expect(try Netrc.entry(for: "j", login: "ada", in: text) == nil)
    }

    /// The login's own password counts before one for any login, wherever it stands.
    @Test func passwordsOfALoginAreFoundBehindThoseForAny() throws {
        let text =
            "machine h password p\nmachine h login joe password q\ndefault password d\ndefault login joe password e\n"
        #expect(try Netrc.entry(for: "h", login: "joe", in: text) == Netrc.Entry(user: "joe", password: "q"))
        #expect(try Netrc.entry(for: "h", login: "ada", in: text) == Netrc.Entry(user: "ada", password: "p"))
        #expect(try Netrc.entry(for: "i", login: "joe", in: text) == Netrc.Entry(user: "joe", password: "e"))
    }

    @Test func theFirstOfSeveralEntriesIsUsed() throws {
        let text = "machine h login ada password a\nmachine h login joe password b\n"
        #expect(try Netrc.entry(for: "h", in: text) == Netrc.Entry(user: "ada", password: "a"))
        let others = "machine i password a\nmachine i password b\n"
        #expect(try Netrc.entry(for: "i", login: "joe", in: others) == Netrc.Entry(user: "joe", password: "a"))
    }

    /// As in curl: only a word that begins with a quote ends with one.
    @Test(arguments: [
        (#"x"y"#, #"x"y"#), (#"x"y"z"#, #"x"y"z"#), (#"x""#, #"x""#), (#""x y""#, "x y"), (#""x\"y""#, #"x"y"#),
        (#"x\y"#, #"x\y"#), (#""""#, ""),
    ])
    func quotesWithinAWordArePartsOfIt(word: String, password: String) throws {
        let text = "machine h login joe password \(word) account a\nmachine i login ada\n"
        #expect(try Netrc.entry(for: "h", in: text) == Netrc.Entry(user: "joe", password: password))
        #expect(try Netrc.entry(for: "i", in: text)?.user == "ada")
    }

    @Test func wordsMayBeginWithCombiningMarks() throws {
        let text = "machine h login \u{301}ada password \"\u{301}a b\"\nmachine i login joe\n"
        #expect(try Netrc.entry(for: "h", in: text) == Netrc.Entry(user: "\u{301}ada", password: "\u{301}a b"))
        #expect(try Netrc.entry(for: "i", in: text)?.user == "joe")
    }

    @Test(arguments: ["", "machine", "machine h", "machine h login", "login a password b", "machine x login y", "\""])
    func ignoresWhatIsIncomplete(text: String) throws {
        #expect(try Netrc.entry(for: "h", in: text)?.password ?? "" == "")
    }
}

@Suite struct ArgumentUnitTests {
    @Test(arguments: [
        ("10", 10), ("1k", 1024), ("1K", 1024), ("1.5M", 1_572_864), ("2GiB", 2_147_483_648), ("3kb", 3072),
    ])
    func sizesTakeUnits(text: String, bytes: Int) throws {
        #expect(try Argument.size(text, of: "--max-body", in: 1...Int.max) == bytes)
    }

    @Test(arguments: ["", "k", "-1k", "1x", "1e3", "1 k", "1.2.3k", "99999999999G", "0k"])
    func invalidSizesAreRefused(text: String) {
        #expect(throws: UsageError.self) { try Argument.size(text, of: "--max-body", in: 1...Int.max) }
    }

    @Test(arguments: [("500ms", 500), ("2s", 2000), ("1.5m", 90_000), ("1H", 3_600_000), ("3", 3000)])
    func timesTakeUnits(text: String, milliseconds: Int64) throws {
        #expect(try Argument.seconds(text, of: "--timeout") == .milliseconds(milliseconds))
    }

    @Test(arguments: ["s", "ms", "-1s", "1d", "1000h1", "1e3s", "2000h"])
    func invalidTimesAreRefused(text: String) {
        #expect(throws: UsageError.self) { try Argument.seconds(text, of: "--timeout") }
    }

    @Test func statusesAreListed() throws {
        #expect(try Argument.statuses("304,410", of: "-") == [304, 410])
        #expect(try Argument.statuses("4xx", of: "-") == Set(400...499))
        #expect(try Argument.statuses("500-502,404", of: "-") == [404, 500, 501, 502])
        #expect(try Argument.statuses("1xx,5xx", of: "-") == Set(100...199).union(500...599))
        for text in [
            "", "x", "0xx", "6xx", "99", "500-", "-500", "502-500", "1-2-3", "100-200-300", "99-200", "200-1000",
            "404,",
        ] {
            #expect(throws: UsageError.self) { try Argument.statuses(text, of: "-") }
        }
    }
}
