import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// The contract of the program, sentence by sentence, as a script sees it: a process, its arguments, what it prints and
/// its exit status. Proxies, bytes, JSON, options.
@Suite(.enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
struct ContractTests {
    private let server: TestServer
    private let folder: TemporaryFolder

    init() throws {
        server = try TestServer()
        folder = try TemporaryFolder()
    }

    private var url: RawText { RawText(server.urlString("/")) }

    private func bytes(_ text: String, _ more: UInt8...) -> RawText {
        RawText(Array(text.utf8) + more)
    }

    // MARK: Proxies

    @Test(arguments: ["localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3", "[::1]", "[0:0:0:0:0:0:0:1]"])
    func environmentsProxyIsNotAskedForLoopback(host: String) async throws {
        let proxy = try TestServer()
        let address = proxy.urlString("")
        let settings = ["http_proxy": address, "https_proxy": address, "all_proxy": address, "HTTPS_PROXY": address]
        try await launch("get", RawText("http://\(host):\(server.port)/"), "-q", environment: settings)
        #expect(proxy.requests.isEmpty)
    }

    @Test func environmentsProxyIsAskedForOtherHosts() async throws {
        let proxy = try TestServer()
        let run = try await launch("get", "http://host.test/a", environment: ["http_proxy": proxy.urlString("")])
        #expect(run.exit == 0)
        #expect(proxy.requests.map(\.target) == ["http://host.test/a"])
    }

    @Test(arguments: ["localhost", "127.0.0.1", "[::1]", "host.test"])
    func givenProxyIsAskedForEveryHostButThoseOfNoproxy(host: String) async throws {
        let proxy = try TestServer()
        let address = RawText(proxy.urlString(""))
        let target = "http://\(host):\(server.port)/"
        #expect(try await launch("get", RawText(target), "--proxy", address).exit == 0)
        #expect(proxy.requests.map(\.target) == [target])
        let bare = host.filter { !"[]".contains($0) }
        try await launch("get", RawText(target), "--proxy", address, "--noproxy", RawText(bare))
        #expect(proxy.requests.count == 1)
    }

    // MARK: Arguments are bytes

    @Test func bytesGoIntoBodiesUnchanged() async throws {
        #expect(try await launch("post", url, "-d", bytes("a", 0xFF, 0xC3)).exit == 0)
        #expect(try await launch("post", url, "--form", bytes("n", 0xFE, 0x3D, 0xFF)).exit == 0)
        #expect(try await launch("upload", url, bytes("n", 0xFE, 0x3D, 0xFF)).exit == 0)
        let bodies = server.requests.map { Array($0.body) }
        #expect(bodies[0] == [0x61, 0xFF, 0xC3])
        #expect(String(decoding: bodies[1], as: UTF8.self) == "n%FE=%FF")
        #expect(bodies[2].firstRange(of: Array("name=\"n".utf8) + [0xFE, 0x22]) != nil)
        #expect(bodies[2].firstRange(of: [0x0D, 0x0A, 0x0D, 0x0A, 0xFF, 0x0D, 0x0A]) != nil)
    }

    @Test func bytesNameFilesUnchanged() async throws {
        let name = bytes("in", 0xFF)
        folder.write("content", to: name)
        let path = folder.path(name).bytes
        #expect(try await launch("post", url, "-d", RawText(Array("@".utf8) + path)).exit == 0)
        #expect(try await launch("post", url, RawText(Array("n=@".utf8) + path)).exit == 0)
        #expect(try await launch("upload", url, RawText(Array("f@".utf8) + path)).exit == 0)
        #expect(server.requests[0].bodyText == "content")
        #expect(server.requests[1].bodyText == #"{"n":"content"}"#)
        let form = Array(server.requests[2].body)
        #expect(form.firstRange(of: Array("filename=\"in".utf8) + [0xFF, 0x22]) != nil)
        #expect(form.firstRange(of: Array("content".utf8)) != nil)
        server.route("/", .text("answer"))
        let out = bytes("out", 0xFE)
        #expect(try await launch("get", url, "-o", folder.path(out)).exit == 0)
        #expect(try await launch("download", url, "-o", folder.path(out)).exit == 0)
        #expect(folder.content(of: out) == "answer")
        #expect(folder.names == [name.bytes, out.bytes])
    }

    @Test func headerValuesAreSentAsBytes() async throws {
        #expect(try await launch("get", url, bytes("X-Old:", 0xE4)).exit == 0)
        #expect(server.requests.first?["X-Old"] != nil)
    }

    @Test func textThatIsNotUTF8IsRefused() async throws {
        let cases: [[RawText]] = [
            ["get", RawText(url.bytes + [0xFF])], ["get", url, bytes("X", 0xFF, 0x3A, 0x31)],
            ["get", url, bytes("q==", 0xFF)], ["post", url, bytes("a=", 0xFF)], ["post", url, bytes("", 0xFF, 0x3D)],
            ["post", url, bytes("a:=\"", 0xFF, 0x22)], ["request", bytes("G", 0xFF), url],
            [bytes("g", 0xFF), url], ["get", url, "--user", bytes("a:", 0xFF)], ["trust", bytes("h", 0xFF)],
        ]
        for arguments in cases {
            let run = try await Launch(arguments + ["--json"]).end()
            #expect(run.exit == 1, "\(arguments.map(\.shown))")
            #expect(run.code == "usage")
        }
        #expect(server.requests.isEmpty)
    }

    @Test func aCommandThatIsNotUTF8IsNamed() async throws {
        for arguments in [[bytes("g", 0xFF), url], [RawText(url.bytes + [0xFF])], [bytes("", 0xFF)]] {
            let run = try await Launch(arguments).end()
            #expect(run.exit == 1 && run.error.hasPrefix("swiftaf: the command or URL is not UTF-8\n"))
        }
        let item = try await launch("get", url, bytes("q==", 0xFF))
        #expect(item.exit == 1 && item.error.contains("is not UTF-8"))
    }

    // MARK: JSON is never changed

    private static let odd = #"{"n":1.10,"n":2,"z":12345678901234567890,"a":[-0,1.0E+2,0.1e-5],"s":"\u00e4\/","n":3}"#

    @Test func numbersRepeatsAndOrderStayInWhatIsSent() async throws {
        #expect(
            try await launch("post", url, "a:=1.10", "z=x", "a:=12345678901234567890", "o:={\"b\":1.0,\"b\": 2}").exit
                == 0)
        #expect(
            server.requests.first?.bodyText
                == #"{"a":1.10,"z":"x","a":12345678901234567890,"o":{"b":1.0,"b": 2}}"#)
        #expect(try await launch("post", url, "--form", "a:=1.10", "a:=9007199254740993").exit == 0)
        #expect(server.requests.last?.bodyText == "a=1.10&a=9007199254740993")
        #expect(try await launch("upload", url, "a:=1.10").exit == 0)
        #expect(server.requests.last?.bodyText.contains("\r\n\r\n1.10\r\n") == true)
    }

    @Test(arguments: [200, 201, 400, 404, 401, 500])
    func jsonIsFilledAndExactForEveryStatus(status: Int) async throws {
        server.route("/", .json(Self.odd, status: status))
        let run = try await launch("get", url, "--json")
        #expect(run.text.contains(#""json":"# + Self.odd + #","file":null"#))
        #expect(run.exit == (status < 300 ? 0 : status == 401 ? 7 : 2))
    }

    @Test func jsonOfANestedReportIsExactOnATerminal() async throws {
        server.route("/", .json(Self.odd))
        let run = try TerminalRun("get", url.shown, "--json")
        #expect(await run.end() == 0)
        #expect(run.screen.contains("    \"n\": 1.10,"))
        #expect(run.screen.contains("    \"z\": 12345678901234567890,"))
    }

    @Test func prettyPrintIsExact() async throws {
        server.route("/", .json(Self.odd))
        let run = try TerminalRun("get", url.shown, "-q")
        #expect(await run.end() == 0)
        #expect(
            run.screen == [
                "{", "  \"n\": 1.10,", "  \"n\": 2,", "  \"z\": 12345678901234567890,", "  \"a\": [", "    -0,",
                "    1.0E+2,", "    0.1e-5", "  ],", #"  "s": "\u00e4\/","#, "  \"n\": 3", "}",
            ])
    }

    @Test func jsonThatDoesNotParseIsAnErrorOnlyWhereTheStatusIsNone() async throws {
        server.route("/good", .json("{", status: 200))
        server.route("/bad", .json("{", status: 404))
        let good = try await launch("get", RawText(server.urlString("/good")), "--json")
        #expect(good.exit == 9 && good.code == "serialization" && good.json["body"] == "{")
        let bad = try await launch("get", RawText(server.urlString("/bad")), "--json")
        #expect(bad.exit == 2 && bad.code == "status" && bad.json["json"] == .null && bad.json["body"] == "{")
    }

    // MARK: Limits and options

    @Test func fieldsAreLimitedByTheirBytesAlone() async throws {
        let fields = (0..<2000).map { "X-\($0): 1\r\n" }.joined()
        server.route("/", .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\(fields)\r\nok"))
        #expect(try await launch("get", url).text == "ok")
        #expect(try await launch("get", url, "--max-headers", "10000").exit == 6)
    }

    /// Every option with every command: those of the table are accepted, all others are exit 1.
    @Test func optionsWithoutAMeaningAreRefused() async throws {
        let commands: [(words: [RawText], kind: CommandKinds)] = [
            (["get", "http://h/"], .request), (["request", "X", "http://h/"], .request),
            (["upload", "http://h/", "a=b"], .upload), (["download", "http://h/f"], .download),
            (["image", "http://h/"], .image), (["trust", "h"], .trust), (["demo"], .local),
            (["help", "items"], .local),
        ]
        for entry in OptionTable.groups.flatMap(\.entries)
        where entry.names != ["-h", "--help"] && entry.names != ["--version"] {
            for (words, kind) in commands {
                let name = RawText(entry.names.last ?? "")
                let hasValue = entry.placeholder != nil && !entry.hasOptionalValue
                let value = hasValue ? [Self.value(of: name.shown)] : []
                let command = ArgumentParser.parse(words + [name] + value).command
                var message: String?
                if case .failure(let error) = command { message = error.message }
                // The message of options that save a file names what they need.
                let isRefused =
                    message?.hasPrefix("\(name.shown) can't be used with \(words[0].shown)") == true
                    || message?.hasPrefix("\(name.shown) needs ") == true
                #expect(isRefused == !entry.commands.isSuperset(of: kind), "\(words[0].shown) \(name.shown)")
            }
        }
    }

    private static func value(of option: String) -> RawText {
        switch option {
        case "--checksum": RawText("sha256:" + String(repeating: "0", count: 64))
        case "--auth": "any"
        case "--pin": "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        case "--tls-min": "1.3"
        case "--user": "a:b"
        case "--header": "A: b"
        case "-F": "a=b"
        case "-C": "-"
        case "--print": "h"
        case "--resolve": "h:1:127.0.0.1"
        case "--doh": "https://h/"
        case "--accept-status": "404"
        default: "1"
        }
    }

    @Test(arguments: [
        ["trust", "127.0.0.1:1", "--retry", "1"], ["trust", "127.0.0.1:1", "-v"], ["trust", "127.0.0.1:1", "-d", "x"],
        ["trust", "127.0.0.1:1", "-o", "f"], ["demo", "--resume"],
        ["upload", "http://127.0.0.1:1/", "a=b", "-d", "x"], ["download", "http://127.0.0.1:1/f", "--method", "PUT"],
        ["demo", "--insecure"], ["image", "http://127.0.0.1:1/", "-o", "f"],
    ])
    func optionsWithoutAMeaningExitWithOne(arguments: [String]) async throws {
        let run = try await Launch((arguments + ["--json"]).map { RawText($0) }).end()
        #expect(run.exit == 1)
        #expect(run.code == "usage")
        #expect(run.error.contains("can't be used with \(arguments[0])"))
    }

    @Test func trustHasItsTimeLimits() async throws {
        var options = TestServer.Options()
        options.isUnreachable = true
        let unreachable = try TestServer(options: options)
        let host = RawText("127.0.0.1:\(unreachable.port)")
        let run = try await launch("trust", host, "--connect-timeout", "0.1", "--json")
        #expect(run.exit == 4)
        #expect(run.json["error"]?["reason"] == "connect")
    }
}
