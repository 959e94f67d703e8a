import SwiftAF
import Testing

@testable import SwiftAFCommand

@Suite struct ArgumentParserTests {
    private func request(_ arguments: String...) throws -> (RequestCommand, Options) {
        let invocation = ArgumentParser.parse(arguments)
        guard case .request(let command) = try invocation.command.get() else {
            throw UsageError("no request")
        }
        return (command, invocation.options)
    }

    private func failure(_ arguments: [String]) -> String? {
        if case .failure(let error) = ArgumentParser.parse(arguments).command { error.message } else { nil }
    }

    /// Comparing such a word with every option would take minutes.
    @Test func veryLongOptionsResembleNone() {
        let option = "--" + String(repeating: "a", count: 1 << 18)
        #expect(failure(["get", "u", option]) == "unknown option \(option)")
    }

    // MARK: Commands

    @Test(arguments: [
        ("get", HTTPMethod.get), ("head", .head), ("delete", .delete), ("post", .post), ("put", .put),
        ("patch", .patch), ("options", .options),
    ])
    func everyVerbSetsItsMethod(name: String, method: HTTPMethod) throws {
        let (command, options) = try request(name, "http://h/", "a=b")
        let expected = RequestCommand(method: method, url: "http://h/", items: [.field(name: "a", value: "b")])
        #expect(command == expected && command.showsHead == [.head, .options].contains(method))
        #expect(options == Options())
    }

    @Test func methodsKeepTheirCase() throws {
        #expect(try request("request", "pUrGe", "http://h/").0.method?.rawValue == "pUrGe")
    }

    @Test func informationNeedsNoCommand() throws {
        #expect(try ArgumentParser.parse(["--version"]).command.get() == .version)
        #expect(try ArgumentParser.parse(["--help"]).command.get() == .help(topic: nil))
        #expect(try ArgumentParser.parse(["GET", "-h"]).command.get() == .commandHelp("get"))
        #expect(try ArgumentParser.parse(["http://h/", "-h"]).command.get() == .help(topic: nil))
        #expect(try ArgumentParser.parse(["help", "time", "limits"]).command.get() == .help(topic: "time limits"))
        #expect(try ArgumentParser.parse(["help"]).command.get() == .help(topic: nil))
        #expect(try ArgumentParser.parse(["--help", "help"]).command.get() == .help(topic: nil))
        #expect(try ArgumentParser.parse(["demo"]).command.get() == .demo)
        #expect(try ArgumentParser.parse(["demo", "--json"]).command.get() == .demo)
    }

    // MARK: Spelling

    @Test func valuesStandBehindOrInside() throws {
        #expect(try request("get", "http://h/", "--timeout", "2").1.timeouts.total == .seconds(2))
        #expect(try request("get", "--timeout=2", "http://h/").1.timeouts.total == .seconds(2))
        #expect(try request("--output", "a", "get", "http://h/").1.outputPath == "a")
        #expect(try request("get", "http://h/", "-o", "a").1.outputPath == "a")
        #expect(try request("get", "http://h/", "-oa").1.outputPath == "a")
        #expect(try request("post", "http://h/", "--data=a=b").1.data == .text("a=b"))
        #expect(try request("post", "http://h/", "--data=").1.data == .text(""))
        #expect(try request("post", "http://h/", "-d", "--json").1.data == .text("--json"))
    }

    @Test func shortSwitchesGoTogether() throws {
        let (_, options) = try request("get", "http://h/", "-qvo", "a")
        #expect(options.messages == .notes && options.isVerbose && options.outputPath == "a")
        // The value of -n is optional, and -n alone has none.
        let other = try request("-nv", "get", "http://h/").1
        #expect(other.netrc == .ofHome && other.isVerbose)
    }

    @Test func twoDashesEndTheOptions() throws {
        let (command, options) = try request("get", "--", "http://h/", "--json=1")
        #expect(command.items == [.field(name: "--json", value: "1")])
        #expect(!options.printsJSON)
    }

    @Test func dataHasThreeForms() throws {
        #expect(try request("post", "u", "-d", "text").1.data == .text("text"))
        #expect(try request("post", "u", "-d", "@a b").1.data == .file(path: "a b"))
        #expect(try request("post", "u", "-d", "@-").1.data == .standardInput)
    }

    // MARK: Values

    @Test func everyOptionSetsWhatItSays() throws {
        let options = try request(
            "post", "u", "--form", "--user", "u:p", "--auth", "digest",
            "--connect-timeout", "0.3", "--idle-timeout", "0", "--timeout", "9",
            "--max-redirects", "0", "--no-redirects", "--http1.1", "--no-compressed", "--cacert", "ca.pem",
            "--insecure",
            "--no-host-check", "--max-body", "10", "--max-headers", "20", "--limit-rate", "30", "--proxy", "p",
            "--noproxy", "a,b", "-o", "f", "--json",
            "--timings", "-q", "-v"
        ).1
        var expected = Options()
        expected.bodyFormat = .form
        (expected.user, expected.authentication) = (.text("u:p"), .digest)
        expected.timeouts = .init(connect: .milliseconds(300), idle: .zero, total: .seconds(9))
        expected.redirects = RedirectPolicy(maximumCount: 0, followsRedirects: false)
        expected.httpVersion = .http1_1
        expected.decompresses = false
        expected.anchorsPath = "ca.pem"
        expected.allowsInvalidCertificates = true
        expected.validatesHostName = false
        expected.limits.maximumBodySize = 10
        expected.limits.maximumHeaderBytes = 20
        expected.rateLimit = 30
        expected.proxies = ProxyConfiguration(all: "p", bypass: "a,b")
        expected.outputPath = "f"
        (expected.printsJSON, expected.printsTimings) = (true, true)
        (expected.quietingOptions, expected.isVerbose) = (.quiet, true)
        #expect(options == expected)
        #expect(try request("get", "u", "--bearer", "t").1.bearerToken == .text("t"))
    }

    @Test(arguments: [
        ("--http1.1", HTTPVersionPreference.http1_1), ("--http2", .http2),
        ("--http2-prior-knowledge", .http2PriorKnowledge),
    ])
    func optionSetsHTTPVersion(option: String, version: HTTPVersionPreference) throws {
        #expect(try request("get", "u", option).1.httpVersion == version)
    }

    /// Less than a millisecond must not become zero, which means no limit.
    @Test(arguments: [("0", 0), ("0.0001", 1), (".5", 500), ("1.", 1000), ("2.5", 2500), ("4294967", 4_294_967_000)])
    func parsesSecondsIntoMilliseconds(text: String, milliseconds: Int64) throws {
        #expect(try request("get", "u", "--timeout", text).1.timeouts.total == .milliseconds(milliseconds))
    }

    @Test func zeroIsNoTimeLimitOfTheRun() throws {
        #expect(try request("get", "u", "--timeout", "0").1.totalLimit == nil)
        #expect(try request("get", "u", "--timeout", "1ms").1.totalLimit == .milliseconds(1))
        // A limit that has passed must not become zero.
        #expect((Instant.now + .seconds(-1)).limitFromNow == .milliseconds(1))
    }

    /// Addresses are in brackets only if they have both.
    @Test(arguments: [("[::1]", "::1"), ("::1", "::1"), ("[::1", "[::1"), ("::1]", "::1]")])
    func bracketsAreRemovedFromAddresses(given: String, address: String) throws {
        let option = try request("get", "u", "--resolve", "h:1:\(given)").1.network.hostOverrides
        #expect(option.map(\.addresses) == [[address]])
    }

    @Test func distanceOfSuggestionsGrowsWithTheirLength() {
        #expect(Suggestion.text(for: "--abcdef", among: ["--abxyef"]) == "; did you mean --abxyef?")
        #expect(Suggestion.text(for: "--abcdef", among: ["--xyzdef"]).isEmpty)
        #expect(Suggestion.text(for: "--abcde", among: ["--abxye"]).isEmpty)
    }

    @Test(arguments: ["", "x", "-1", "+1", "1e3", "0x10", "inf", "nan", "1.2.3", ".", "1 ", "4294968", "9999999999999"])
    func refusesInvalidSeconds(text: String) {
        #expect(failure(["get", "u", "--timeout", text])?.contains("--timeout") == true)
    }

    @Test(arguments: ["", "x", "-1", "+1", "0", "1.5", "10x", "99999999999999999999"])
    func refusesInvalidSizesAndRates(text: String) {
        #expect(failure(["get", "u", "--max-body", text])?.contains("--max-body") == true)
        #expect(failure(["get", "u", "--limit-rate", text])?.contains("--limit-rate") == true)
    }

    // MARK: Usage errors

    @Test(
        arguments: [
            ([], "a command or a URL is missing"),
            (["fetch", "h"], "unknown command 'fetch'"),
            (["Upload", "http://h/"], "unknown command 'Upload'; did you mean upload?"),
            (["fet1", "http://h/"], "unknown command 'fet1'"),
            (["delete", "http://h/", "-X", "GET"], "-X GET can't be used with delete"),
            (["purge", "http://h/", "-X", "GET"], "-X GET can't be used with purge"),
            (["get", "http://h/", "-o", "d/", "-P", "d"], "-o and -P can't be combined"),
            (["get", "http://h/", "-e", "http://a/;auto"], "-e takes a URL only"),
            (["gte", "http://h/"], "unknown command 'gte'; did you mean get?"),
            (["PURGE", "h"], "unknown command 'PURGE'"),
            (["get"], "the URL is missing"),
            (["request"], "needs a method and a URL"),
            (["request", "http://h/"], "the method is missing: request METHOD URL"),
            (["request", "example.org", "a=b"], "the method is missing"),
            (["X-Foo:bar", "http://h/"], "'X-Foo:…' isn't a URL: items come after the URL"),
            (["get", "a=b", "http://h/"], "'a=…' isn't a URL: items come after the URL"),
            (["http://h/", "--json", #"{"a":1}"#], "-d DATA Content-Type:application/json sends it"),
            (["--json", #"{"a":1}"#, "http://h/"], "--json takes no value"),
            (["http://h/", "[1]"], "JSON isn't an item"),
            (["http://h/", #"{"a":1"#], "JSON isn't an item"), (["http://h/", "{ a:"], "JSON isn't an item"),
            (["http://h/", "{\na:"], "JSON isn't an item"),
            (["http://h/", "a=@-"], "-d @- sends it as the body, -F 'a=<-' as a field of a form"),
            (["upload", "http://h/", "f@-"], "-F 'f=@-' sends it as a part; ./- is a file"),
            (["http://h/", "X:@-"], "'X:@-' doesn't take standard input"),
            (["-G", "http://h/", "a:=1"], "'a' is JSON or a file"),
            (["-G", "http://h/", "-F", "a=1"], "-G can't be combined"),
            (["cache", "lst"], "did you mean list?"),
            (["get", "u", "-w", "x"], "unknown option -w; --json has the status"),
            (["get", "u", "--verify=no"], "unknown option --verify; -k accepts any certificate"),
            (["get", "u", "--max-body", "x"], "optionally with a unit of 1024: k, M or G"),
            (["get", "u", "--retry", "1k"], "a whole number without a unit"),
            (["request", "GET"], "the URL is missing"),
            (["get", "u", "--wrong"], "unknown option --wrong"),
            (["get", "u", "--wrong", "--worse"], "unknown option --wrong"),
            (["get", "u", "--tiemout", "1"], "unknown option --tiemout; did you mean --timeout?"),
            (["get", "u", "--wrong=secret"], "unknown option --wrong"),
            (["get", "u", "-Z"], "unknown option -Z"),
            (["get", "u", "--json=1"], "--json takes no value"),
            (["get", "u", "--timeout"], "--timeout needs a value"),
            (["get", "u", "-o"], "-o needs a value"),
            (["get", "u", "-o", ""], "-o needs the path"),
            (["get", "u", "--cacert", ""], "--cacert needs the path"),
            (["post", "u", "-d", "a", "--data", "@b"], "the body is given twice, by --data or -T"),
            (["u.org", "-T", "-", "-d", "a"], "the body is given twice, by --data or -T"),
            (["get", "u", "-o", "a", "-o", "b"], "-o is given twice"),
            (["get", "u", "-c", "a", "--cookie-jar", "b"], "--cookie-jar is given twice"),
            (["get", "u", "-c", "a", "-c", "-"], "-c is given twice"),
            (["get", "u", "--cookies", "a", "--cookies", "b"], "--cookies is given twice; -b PATH reads more jars"),
            (["get", "u", "--har", "a", "--har", "b"], "--har is given twice"),
            (["get", "u", "--session", "a", "--session", "b"], "--session is given twice"),
            (["get", "u", "--hsts", "a", "--hsts", "b"], "--hsts is given twice"),
            (["post", "u", "a=b", "--multipart", "--form"], "--form and --multipart can't be combined"),
            (["post", "u", "--form", "-F", "a=b"], "--form and --multipart can't be combined"),
            (["post", "u", "a@/f"], "'a@…' is a file part: use --multipart or upload"),
            (["post", "u", "-d", "x", "--multipart"], "--data can't be combined with a multipart form"),
            (["post", "u", "-d", "x", "a=b"], "--data can't be combined with body fields"),
            (["post", "u", "-T", "/f", "--form"], "--form can't be combined with -T"),
            (["get", "u", "Host:a", "host:@b"], "Host is given twice, and a request has one"),
            (["get", "u", "--bearer", "a", "authorization:b"], "--bearer can't be combined with an Authorization"),
            (["ws", "u", "--user", "a:b", "--bearer", "c"], "--user and --auth can't be combined with --bearer"),
            (["get", "u", "--auth", "digest", "Authorization:b"], "--user and --auth can't be combined with"),
            (["download", "u.org/a", "u.org/b", "--session", "s"], "--session takes one URL"),
            (["get", "u", "--timestamps"], "--checksum, --timestamps and --no-clobber need a file"),
            (["get", "u", "--no-clobber", "-o", "-"], "--checksum, --timestamps and --no-clobber need a file"),
            (["download", "u.org/a", "--timestamps", "-J"], "can't be combined with --content-disposition"),
            (["download", "u.org/a", "--timestamps", "--resume", "-o", "b"], "--timestamps and --resume can't be"),
            (
                ["download", "u.org/a", "--timestamps", "--checksum", "sha256:" + String(repeating: "0", count: 64)],
                "--timestamps and --checksum can't be combined: a file that is up to date isn't"
            ),
            (["head", "u", "--timestamps", "-o", "b"], "HEAD or -I saves the head only"),
            (["get", "u", "-I", "--timestamps", "-o", "b"], "HEAD or -I saves the head only"),
            (["post", "u", "-d", "@"], "needs the path"),
            (["get", "u", "--max-redirects", "-1"], "invalid value '-1' for --max-redirects: expected a whole number"),
            (["get", "u", "word"], "isn't a valid item"),
            (["get", "u", "https://h/"], "a second URL is given; only download takes several"),
            (
                ["get", "u", "--timeout", "4294968"],
                "invalid value '4294968' for --timeout: expected at most 4294967 seconds"
            ),
            (["demo", "x"], "demo takes no arguments"),
            (["demo", "--timings"], "--timings can't be used with demo"),
            (["http://joe:secret@h/f", "-J"], "-J needs -O or the command download"),
            (["post", "http://h/f", "-O"], "-O and --resume send GET"),
            (["http://h/f", "-XPUT", "-O"], "-O and --resume send GET"),
            (["help", "items", "--compressed"], "--compressed can't be used with help"),
            (["completions"], "bash, zsh or fish"),
            (["completions", "csh"], "bash, zsh or fish"),
            (["get", "u", "-C", "100"], "invalid value '100' for -C: expected -"),
            (["get", "u", "-H", "word"], "expected 'Name: value'"),
            (["get", "u", "--print", "x"], "expected letters of hHbBm"),
            (["get", "u", "--accept-status", "4x"], "expected a list such as"),
            (["get", "u", "--resolve", "h:1"], "expected HOST:PORT:ADDRESS"),
            (["get", "u", "--resolve", ":1:127.0.0.1"], "expected HOST:PORT:ADDRESS"),
            (["download", "http://h/a", "http://i/a"], "two downloads have the same file name 'a'"),
            (["download", "u.org/a", "b=c"], "download sends no body"),
            (["u.org/a", "-O", "-d", "x"], "download sends no body"),
            (["download", "u.org/a", "--resume", "-o", "-"], "--resume needs a file, not standard output"),
            (["post", "u", "-F", "name"], "expected name=value"),
        ] as [([String], String)])
    func refusesInvalidArgumentsWithReason(arguments: [String], message: String) {
        #expect(failure(arguments)?.contains(message) == true)
    }

    @Test(arguments: ["-c", "--cookies", "--har", "--session", "--hsts"])
    func takesFileThatIsNamedTwice(option: String) {
        #expect(failure(["get", "u", option, "a", option, "a"]) == nil)
    }

    /// An unknown option's value may be a password.
    @Test func valuesOfUnknownOptionsAreNotRepeated() {
        #expect(failure(["get", "u", "--wrong=s3cret"])?.contains("s3cret") == false)
    }

    /// Whoever reads JSON gets JSON, wherever the mistake stands.
    @Test func jsonIsSeenBehindAnError() {
        #expect(ArgumentParser.parse(["get", "--wrong", "u", "--json"]).options.printsJSON)
        #expect(!ArgumentParser.parse(["get", "--wrong", "u", "-d", "--json"]).options.printsJSON)
    }

    // MARK: The usage text

    @Test func usageNamesEveryOption() {
        for entry in OptionTable.groups.flatMap(\.entries) {
            for name in entry.names { #expect(Usage.text.contains(name)) }
            #expect(Usage.text.contains(entry.help))
        }
        #expect(Usage.text.split(separator: "\n").allSatisfy { $0.count <= 102 })
    }

    @Test func everySpellingIsUnique() {
        let names = OptionTable.groups.flatMap(\.entries).flatMap(\.names)
        #expect(Set(names).count == names.count)
    }
}
