import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// What `--as-curl` says about options, and what it needn't know.
@Suite struct CurlCommandTests {
    @Test func optionsOfFilesAndLimitsAreKept() async {
        let words = ["example.org/f", "-o", "out", "--max-body", "1M", "--idle-timeout", "1.5", "--as-curl"]
        let run = await swiftaf(words + ["--no-clobber"])
        #expect(run.exit == 0 && run.text.contains(" --no-clobber") && run.text.contains(" --max-filesize 1048576"))
        #expect(run.text.contains(" --speed-time 2 --speed-limit 1"))
        let timed = await swiftaf(words + ["--timestamps"])
        #expect(timed.text.contains(" --time-cond out --remote-time"))
        let plain = await swiftaf("example.org/f", "-o", "out", "--idle-timeout", "0", "--as-curl")
        #expect(!["clobber", "filesize", "speed", "time-cond"].contains { plain.text.contains($0) })
    }

    /// A file is continued in bytes as they are stored, which a coding would change.
    @Test func downloadsAreNotCompressed() async {
        for words in [["download", "example.org/f"], ["download", "example.org/f", "-o", "out", "--resume"]] {
            let run = await swiftaf(words + ["--as-curl"])
            #expect(run.exit == 0 && run.text.contains(" --header 'Accept-Encoding: identity'"))
            #expect(!run.text.contains("--compressed"))
        }
        let body = await swiftaf("example.org/f", "-o", "out", "--as-curl")
        #expect(body.text.contains(" --compressed"))
        let plain = await swiftaf("example.org/f", "--no-compressed", "--as-curl")
        #expect(!plain.text.contains("--compressed") && plain.text.contains(" --header 'Accept-Encoding: identity'"))
        let own = await swiftaf("example.org/f", "Accept-Encoding:br", "--no-compressed", "--as-curl")
        #expect(own.text.contains("'Accept-Encoding: br'") && !own.text.contains("identity"))
    }

    /// The command would name another file, or send other bytes.
    @Test(arguments: [
        ["-o", "PATH"], ["-P", "PATH"], ["--cookies", "PATH"], ["-b", "PATH"], ["-c", "PATH"], ["--hsts", "PATH"],
        ["--cacert", "PATH"], ["--unix-socket", "PATH"], ["--session", "PATH"], ["-d", "@PATH"], ["-T", "PATH"],
        ["--multipart", "f@PATH;filename=a"], ["X-A:PATH"],
    ])
    func refusesPathsAndHeadersThatAreNotText(words: [String]) async throws {
        let folder = try TemporaryFolder()
        let name = RawText([0x61, 0xFF])
        folder.write("", to: name)
        let given = words.map { word in
            guard let place = word.firstRange(of: "PATH") else { return RawText(word) }
            let path = folder.path(name).bytes
            return RawText(Array(word[..<place.lowerBound].utf8) + path + Array(word[place.upperBound...].utf8))
        }
        let (output, error) = (MemorySink(), MemorySink())
        let runner = Runner(console: Console(input: -1, output: output, error: error))
        #expect(await runner.run(["http://example.org/f", "--as-curl"] + given) == .input)
        #expect(output.content.isEmpty)
        #expect(String(decoding: error.content, as: UTF8.self).contains("is not UTF-8: --as-curl prints text"))
    }

    /// curl's option switches off both checks.
    @Test(arguments: ["--insecure", "--no-host-check"]) func oneSwitchAloneIsRefused(option: String) async {
        let run = await swiftaf("https://example.org", option, "--as-curl")
        #expect(run.exit == 1 && run.text.isEmpty)
        #expect(run.error.contains("--insecure") && run.error.contains("--no-host-check"))
        let both = await swiftaf("https://example.org", "--insecure", "--no-host-check", "--as-curl")
        #expect(both.exit == 0 && both.text.contains(" --insecure "))
    }

    @Test func redirectsToHTTPStayRefused() async {
        let secure = await swiftaf("https://example.org", "--as-curl")
        #expect(secure.text.contains(" --location --proto-redir '=https'"))
        let plain = await swiftaf("http://example.org", "--as-curl")
        #expect(plain.text.contains(" --location") && !plain.text.contains("--proto-redir"))
    }

    @Test func secretsAreNotNeeded() async {
        let named = await swiftaf("example.org", "-u", "joe", "--as-curl")
        #expect(named.exit == 0 && named.text.contains("--user joe ") && named.error.isEmpty)
        let token = await swiftaf("example.org", "--bearer", "env:NOPE", "--as-curl")
        #expect(token.exit == 0 && token.text.contains("Authorization: <hidden>"))
        let user = await swiftaf("example.org", "--user", "env:NOPE", "--as-curl")
        #expect(user.exit == 0 && user.text.contains("--user NAME "))
    }

    /// curl refuses spaces, and sends other characters as they are.
    @Test func urlsAreEncodedAsTheyAreSent() async throws {
        let server = try TestServer()
        let printable = String(decoding: (0x20...0x7E).filter { !"#?'".utf8.contains($0) }, as: UTF8.self)
        let words = [server.urlString("/\(printable)?x=\u{FC}\(printable)#y z"), "q==c d"]
        _ = await swiftaf(["get"] + words)
        let sent = try #require(server.requests.first?.target)
        let run = await swiftaf(["get"] + words + ["--as-curl"])
        #expect(run.exit == 0 && run.text.contains("--url '\(server.urlString(sent))#y%20z'"))
    }

    /// curl allows 50 redirects by default.
    @Test func commandAlwaysHasLimitOfRedirects() async {
        for (words, limit) in [([], "20"), (["--max-redirects", "3"], "3"), (["--max-redirects", "0"], "0")] {
            #expect(await swiftaf(["example.org"] + words + ["--as-curl"]).text.contains(" --max-redirs \(limit)"))
        }
        #expect(!(await swiftaf("example.org", "--no-redirects", "--as-curl").text.contains("--max-redirs")))
    }

    /// curl would repeat any request, and so pay twice.
    @Test func repeatsIdempotentRequestsOnly() async {
        for method in ["get", "head", "put", "delete", "options"] {
            let run = await swiftaf(method, "example.org", "--retry", "2", "--as-curl")
            #expect(run.text.contains(" --retry 2"), "\(method)")
        }
        for words in [
            ["post", "example.org"], ["patch", "example.org"], ["example.org", "a=1"], ["PURGE", "example.org"],
        ] {
            let run = await swiftaf(words + ["--retry", "2", "--as-curl"])
            #expect(run.exit == 0 && !run.text.contains("--retry"), "\(words)")
        }
    }

    /// curl would drop the body of any method at a 301 or 302.
    @Test func redirectsKeepBodies() async {
        for words in [["put", "example.org", "a=1"], ["patch", "example.org", "-d", "x"]] {
            #expect(await swiftaf(words + ["--as-curl"]).text.contains(" --post301 --post302"))
        }
        for words in [["post", "example.org", "a=1"], ["example.org"], ["put", "example.org"]] {
            #expect(!(await swiftaf(words + ["--as-curl"]).text.contains("--post30")))
        }
        #expect(!(await swiftaf("put", "example.org", "a=1", "--no-redirects", "--as-curl").text.contains("--post30")))
    }

    @Test func partsThatCurlCannotSendAreRefused() async throws {
        let binary = try TemporaryFile(Data([0xFF]))
        for (words, name) in [(["a\\=b=c"], "a=b"), (["a=1", "x=@\(binary.path)", "-F", "p=@-"], "p")] {
            let run = await swiftaf(["upload", "example.org"] + words + ["--as-curl"])
            #expect(run.exit == 1 && run.text.isEmpty, "\(run.text)")
            #expect(run.error.contains("'\(name)'") || run.error.contains("is not text in UTF-8"))
        }
        let text = RawText(Array("x=".utf8) + [0xFF])
        let name = RawText([0xFF] + Array("=1".utf8))
        for (word, shown) in [(text, "x"), (name, "\u{FFFD}")] {
            let (output, error) = (MemorySink(), MemorySink())
            let runner = Runner(console: Console(input: -1, output: output, error: error))
            let status = await runner.run(["upload", "example.org", word, "--as-curl"])
            #expect(status == .input && output.content.isEmpty)
            let message = String(decoding: error.content, as: UTF8.self)
            #expect(message.contains("curl can't send the part '\(shown)': expected text in UTF-8 or a file"))
        }
        #expect(await swiftaf("upload", "example.org", "a=1", "f@\(binary.path)", "--as-curl").exit == 0)
    }

    @Test(arguments: ["Transfer-Encoding:", "Content-Length:"])
    func fieldsThatCannotBeRemovedAreRefused(item: String) async {
        let run = await swiftaf("example.org", item, "--as-curl")
        #expect(run.exit == 1 && run.text.isEmpty && run.error.contains("\(item.dropLast()) can't be set"))
    }

    /// This program makes a folder that is missing.
    @Test(arguments: [["-P", "d"], ["-o", "d/"], ["-O", "-P", "d"]])
    func foldersAreMade(words: [String]) async {
        let run = await swiftaf(["example.org/f"] + words + ["--as-curl"])
        #expect(run.text.contains(" --remote-name --create-dirs --output-dir d"), "\(run.text)")
        #expect(!run.text.contains("--output d"))
    }

    @Test func commandsThatPrintHeadsIncludeThem() async {
        #expect(await swiftaf("options", "example.org", "--as-curl").text.contains(" --include"))
        #expect(!(await swiftaf("head", "example.org", "--as-curl").text.contains(" --include")))
        #expect(!(await swiftaf("options", "example.org", "--print", "b", "--as-curl").text.contains(" --include")))
    }

    /// The user of a URL may be a token.
    @Test(arguments: ["http://ghp_TOKEN@h.test/", "http://ghp_TOKEN:x@h.test/", "http://ghp_TOKEN:@h.test/"])
    func usersOfURLsAreHidden(url: String) async {
        let run = await swiftaf(url, "--as-curl")
        #expect(run.exit == 0 && run.text.contains(" --user NAME ") && !run.text.contains("ghp_TOKEN"))
    }
}
