import AFTestServer
import FoundationEssentials
import Glibc
import Testing

@testable import SwiftAF

@Suite struct CurlCommandTests {
    /// What a shell makes of a command: its words, without the first.
    private static func words(of command: String) throws -> [String] {
        let folder = try TestFolder()
        // A function in curl's place that writes down its arguments.
        let script = """
            curl() { printf '%s\\0' "$@" > '\(folder.file("words"))'; cat > '\(folder.file("input"))'; }
            \(command) < /dev/null
            """
        try folder.write(script, to: "script")
        guard system("/bin/sh '\(folder.file("script"))'") == 0 else { throw CocoaError(.executableLoad) }
        let bytes = try folder.read("words")
        return bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast()
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// The values of an option, in order.
    private static func values(_ option: String, _ words: [String]) -> [String] {
        words.indices.filter { words[$0] == option && $0 + 1 < words.count }.map { words[$0 + 1] }
    }

    private static let nasty = [
        "plain", "with space", "it's", "\"double\"", "$(touch /tmp/x)", "`id`", "a;b&c|d>e<f", "back\\slash", "*?[a-z]",
        "~root", "#comment", "!history", "line\nbreak", "tab\tstop", "-option", "@file", "ünïcode 漢字", "$HOME", "''",
        "{a,b}", "%s", "",
        // For a `Character`, a delimiter is another one beside these.
        "it'\u{301}s; echo '\u{301}", "\u{600}'", "\u{301} x?\u{301} y",
    ]

    @Test(arguments: nasty)
    func everyWordReachesCurlUnchanged(word: String) throws {
        let request = HTTPRequest(.put, "https://host/\(word)", headers: ["X-Word": word], body: .text(word))
        let command = request.curlCommand()
        let words = try Self.words(of: command)
        #expect(Self.values("--url", words).count == 1)
        #expect(Self.values("--data-raw", words) == [word])
        #expect(Self.values("--header", words).first == (word.isEmpty ? "X-Word;" : "X-Word: \(word)"))
        #expect(Self.values("--request", words) == ["PUT"])
        #expect(words.first == "--globoff")
    }

    /// URLs with control characters are left out: no request can be made of them.
    @Test(arguments: nasty.filter { !$0.contains { "\n\t".contains($0) } })
    func urlIsEncodedAsItIsSent(word: String) async throws {
        let server = try TestServer()
        let manager = HTTPSessionManager()
        for place in ["", "?x="] {
            let request = HTTPRequest(server.urlString("/") + place + word)
            _ = try? await manager.response(for: request)
            let url = try #require(Self.values("--url", try Self.words(of: request.curlCommand())).first)
            #expect(url.prefix { $0 != "#" } == server.urlString(server.requests.last?.target ?? "-"))
        }
    }

    @Test func simpleRequestsStayReadable() {
        #expect(
            HTTPRequest("https://host/a?b=c", headers: ["Accept": "text/html"]).curlCommand()
                == "curl --globoff --header 'Accept: text/html' --url 'https://host/a?b=c'")
        #expect(HTTPRequest(.head, "https://host/").curlCommand() == "curl --globoff --head --url https://host/")
    }

    @Test(
        arguments: [
            (HTTPBody.json(["a": 1] as [String: Int]), #"{"a":1}"#, "application/json"),
            (.json(["a": 1, "b": "c"] as Parameters), #"{"a":1,"b":"c"}"#, "application/json"),
            (.form(["a": "b c"]), "a=b%20c", "application/x-www-form-urlencoded"),
            (.data(Data("x".utf8), contentType: "text/x-own"), "x", "text/x-own"),
        ])
    func bodyKeepsItsContentType(body: HTTPBody, text: String, type: String) throws {
        let words = try Self.words(of: HTTPRequest(.post, "https://host/", body: body).curlCommand())
        #expect(Self.values("--data-raw", words) == [text])
        #expect(Self.values("--header", words).first?.hasPrefix("Content-Type: \(type)") == true)
        #expect(!words.contains("--request"))
    }

    @Test func secretsAreHiddenByDefault() {
        var request = HTTPRequest("https://user:pass@host/?token=secret&x=y#access_token=secret")
        request.headers = ["Authorization": "Bearer secret", "Cookie": "a=secret", "Proxy-Authorization": "secret"]
        request.headers.add(name: "X-Mine", value: "secret", isSecret: true)
        let command = request.curlCommand()
        #expect(!command.contains("secret") && !command.contains("pass"))
        let open = request.curlCommand(redaction: .none)
        #expect(open.contains("user:pass@host") && open.contains("'Authorization: Bearer secret'"))
        #expect(open.contains("token=secret&x=y#access_token=secret"))
    }

    @Test func writesBodiesOfBytesFilesAndStreams() throws {
        let bytes = HTTPRequest(.post, "https://host/", body: .data(Data([0, 1, 0xFF])))
        #expect(bytes.curlCommand().hasPrefix("printf %s AAH/ | base64 -d | curl "))
        #expect(bytes.curlCommand().contains("--data-binary @-"))
        let file = HTTPRequest(.post, "https://host/", body: .file("/tmp/a b"))
        #expect(Self.values("--data-binary", try Self.words(of: file.curlCommand())) == ["@/tmp/a b"])
        let stream = HTTPRequest(.post, "https://host/", body: .stream { AsyncStream<Data> { $0.finish() } })
        #expect(stream.curlCommand().contains("--data-binary @-"))
        // curl must not call it a form.
        #expect(bytes.curlCommand().contains("--header Content-Type:"))
        let typed = HTTPRequest(.post, "https://host/", headers: ["Content-Type": "a/b"], body: .text("x"))
        #expect(Self.values("--header", try Self.words(of: typed.curlCommand())) == ["Content-Type: a/b"])
    }

    @Test func headWithBodyUsesRequestOption() throws {
        let request = HTTPRequest(.head, "https://host/", body: .data(Data("x".utf8)))
        let words = try Self.words(of: request.curlCommand())
        #expect(Self.values("--request", words) == ["HEAD"] && Self.values("--data-raw", words) == ["x"])
        #expect(!words.contains("--head"))
    }

    @Test func http2OptionIsWrittenForHTTPSOnly() throws {
        for (url, isAsked) in [("https://host/", true), ("HTTPS://host/", true), ("http://host/", false)] {
            var request = HTTPRequest(url)
            request.httpVersion = .http2
            #expect(try Self.words(of: request.curlCommand()).contains("--http2") == isAsked)
        }
    }

    @Test func fileNamedDashIsNotStandardInput() throws {
        let file = HTTPRequest(.post, "https://host/", body: .file("-"))
        #expect(Self.values("--data-binary", try Self.words(of: file.curlCommand())) == ["@./-"])
    }

    @Test func writesFormPartsAsSeparateOptions() throws {
        let folder = try TestFolder()
        try folder.write("content", to: "a\"b")
        var form = MultipartFormData()
        try form.append("it's @here", name: "field")
        try form.append(Data("<x>".utf8), name: "page", fileName: "a \"b\".html", mediaType: "text/html")
        try form.append(file: folder.file("a\"b"), name: "file")
        var request = HTTPRequest(.post, "https://host/", body: .multipart(form))
        request.headers["Content-Type"] = "multipart/form-data; boundary=x"
        let words = try Self.words(of: request.curlCommand())
        #expect(Self.values("--form-string", words) == ["field=it's @here"])
        let parts = Self.values("--form", words)
        try #require(parts.count == 2)
        #expect(parts[0] == #"page="<x>";type=text/html;filename="a \"b\".html""#)
        #expect(parts[1].hasPrefix(#"file=@""# + folder.path) && parts[1].contains(#"/a\"b""#))
        #expect(Self.values("--header", words).isEmpty)
    }

    @Test func combiningMarksDontEndQuotesOfForms() throws {
        var form = MultipartFormData()
        try form.append(Data("a\"\u{301};b\\\u{301}".utf8), name: "x", mediaType: "text/plain")
        let words = try Self.words(of: HTTPRequest(.post, "https://host/", body: .multipart(form)).curlCommand())
        let part = try #require(Self.values("--form", words).first)
        #expect(part.utf8.elementsEqual("x=\"a\\\"\u{301};b\\\\\u{301}\";type=text/plain".utf8))
    }

    @Test func writesVersionTimeoutsAndSuppressedHeaders() throws {
        var request = HTTPRequest("https://host/")
        request.httpVersion = .http2PriorKnowledge
        request.timeouts = .init(connect: .milliseconds(1005), total: .seconds(7))
        request.headers.suppressDefault("User-Agent")
        request.headers.add(name: "@file", value: "x")
        let words = try Self.words(of: request.curlCommand())
        #expect(words.contains("--http2-prior-knowledge"))
        #expect(Self.values("--connect-timeout", words) == ["1.005"])
        #expect(Self.values("--max-time", words) == ["7.000"])
        #expect(Self.values("--header", words) == ["User-Agent:"])
    }

    @Test func hasCredentialsWithoutTheirPasswords() throws {
        var request = HTTPRequest("https://host/")
        request.credential = Credential(user: "ada", password: "s3cret")
        request.proxyCredential = Credential(user: "grace", password: "s3cret", schemes: .digest)
        let hidden = try Self.words(of: request.curlCommand())
        #expect(
            hidden == [
                "--globoff", "--anyauth", "--user", "ada", "--proxy-digest", "--proxy-user", "grace", "--url",
                "https://host/",
            ])
        let open = try Self.words(of: request.curlCommand(redaction: .none))
        #expect(Self.values("--user", open) == ["ada:s3cret"] && Self.values("--proxy-user", open) == ["grace:s3cret"])
        request.credential = Credential(user: "ada", password: "s3cret", isPreemptive: true)
        #expect(try !Self.words(of: request.curlCommand()).contains("--anyauth"))
        request.credential = .currentProcess
        #expect(Self.values("--user", try Self.words(of: request.curlCommand())) == [":"])
        request.credential = Credential(bearerToken: "s3cret")
        #expect(Self.values("--oauth2-bearer", try Self.words(of: request.curlCommand())) == ["<hidden>"])
        #expect(Self.values("--oauth2-bearer", try Self.words(of: request.curlCommand(redaction: .none))) == ["s3cret"])
    }

    @Test func hasProxyAndSocket() throws {
        var request = HTTPRequest("https://host/")
        request.proxy = .url("http://ada:s3cret@proxy:8080")
        #expect(Self.values("--proxy", try Self.words(of: request.curlCommand())) == ["http://proxy:8080"])
        let open = try Self.words(of: request.curlCommand(redaction: .none))
        #expect(Self.values("--proxy", open) == ["http://ada:s3cret@proxy:8080"])
        request.proxy = .direct
        #expect(Self.values("--noproxy", try Self.words(of: request.curlCommand())) == ["*"])
        request.proxy = nil
        request.unixSocket = "/run/a b"
        #expect(Self.values("--unix-socket", try Self.words(of: request.curlCommand())) == ["/run/a b"])
        request.unixSocket = "@name"
        #expect(Self.values("--abstract-unix-socket", try Self.words(of: request.curlCommand())) == ["name"])
        request.unixSocket = ""
        #expect(try Self.words(of: request.curlCommand()) == ["--globoff", "--url", "https://host/"])
    }

    @Test func hasRedirectsAndCompressionIfTheRequestSaysSo() throws {
        var request = HTTPRequest("https://host/")
        request.decompressesBody = true
        request.redirectPolicy = .follow(atMost: 3)
        #expect(
            try Self.words(of: request.curlCommand()) == [
                "--globoff", "--location", "--max-redirs", "3", "--proto-redir", "=https", "--compressed", "--url",
                "https://host/",
            ])
        request.redirectPolicy?.allowsInsecureDowngrade = true
        #expect(try !Self.words(of: request.curlCommand()).contains("--proto-redir"))
        request.redirectPolicy = .doNotFollow
        request.decompressesBody = false
        #expect(try Self.words(of: request.curlCommand()) == ["--globoff", "--url", "https://host/"])
    }

    @Test func optionsOfTheCallerReplaceThoseOfTheRequest() throws {
        var request = HTTPRequest("https://host/")
        request.credential = Credential(user: "ada", password: "s3cret")
        request.redirectPolicy = .follow
        let words = try Self.words(of: request.curlCommand(options: ["--netrc"]))
        #expect(words == ["--globoff", "--netrc", "--url", "https://host/"])
    }

    @Test func removesNULFromArguments() throws {
        let words = try Self.words(of: HTTPRequest("https://host/a\0b").curlCommand())
        #expect(Self.values("--url", words) == ["https://host/ab"])
    }
}
