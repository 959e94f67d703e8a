import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Servers send no control characters to a terminal that it would obey.
@Suite struct TerminalSafetyTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
    }

    private static let json = "{\"k\u{9B}31m\":\"a\u{7F}\u{80}\u{9F}\u{A0}\u{E4}\\u009b\",\"n\":1.10}"
    private static let shown =
        "{\n  \"k\\u009b31m\": \"a\\u007f\\u0080\\u009f\u{A0}\u{E4}\\u009b\",\n  \"n\": 1.10\n}\n"

    @Test func jsonIsShownWithoutControlCharacters() async throws {
        server.route("/", .json(Self.json))
        let run = await swiftaf("get", server.urlString(), output: MemorySink(isTerminal: true))
        #expect(run.exit == 0 && run.text == Self.shown)
        let coloured = await swiftaf(
            "get", server.urlString(), output: MemorySink(isTerminal: true),
            environment: ["NO_COLOR": "", "TERM": "xterm"])
        #expect(coloured.text.contains("\"k\\u009b31m\"") && !coloured.text.contains("\u{9B}"))
        // The same JSON.
        #expect(try JSONValue(parsing: Data(run.text.utf8)) == JSONValue(parsing: Data(Self.json.utf8)))
        #expect(await swiftaf("get", server.urlString()).text == Self.json)
    }

    @Test func whatIsNotJSONIsShownWithoutControlCharacters() async {
        server.route("/", .json("{\"a\":\u{1B}]0;owned\u{7}\ttab\nline\u{9B}"))
        let run = await swiftaf("get", server.urlString(), output: MemorySink(isTerminal: true))
        #expect(run.exit == 0 && run.text == "{\"a\":\\u{1B}]0;owned\\u{7}\ttab\nline\\u{9B}\n")
        #expect(await swiftaf("get", server.urlString()).text.contains("\u{1B}]0;"))
    }

    /// The text of ``textIsShownWithoutControlCharacters(type:words:)``, and what a terminal gets of it.
    private static let text = "\u{1B}]0;owned\u{7}\t\u{1B}[31mred\r\nback\rto\u{7F}\nend"
    private static let shownText = "\\u{1B}]0;owned\\u{7}\t\\u{1B}[31mred\r\nback\\u{D}to\\u{7F}\nend\n"

    @Test(arguments: [
        nil, "text/plain", "text/plain; charset=iso-8859-1", "text/event-stream", "text/plain; charset=utf-16",
    ])
    func textIsShownWithoutControlCharacters(type: String?) async {
        let isWide = type?.hasSuffix("utf-16") == true
        let body = isWide ? Data([0xFE, 0xFF]) + Self.text.utf16.flatMap { [0, UInt8($0)] } : Data(Self.text.utf8)
        server.route("/", .respond(headers: type.map { ["Content-Type": $0] } ?? [:], body: body))
        for words in [[], ["--retry", "1"], ["-i"]] {
            let words = ["get", server.urlString()] + words
            let run = await swiftaf(words, output: MemorySink(isTerminal: true))
            #expect(run.exit == 0 && run.text.hasSuffix(Self.shownText))
            #expect(words.contains("-i") || run.text == Self.shownText)
            // Pipes get what was sent, and so does a terminal that asks for it.
            #expect(await swiftaf(words).output.suffix(body.count) == body)
            let raw = await swiftaf(words + ["-o", "-"], output: MemorySink(isTerminal: true))
            #expect(raw.output.starts(with: body) || words.contains("-i"))
        }
    }

    @Test func textThatChangesItsOrderIsShownAsWritten() async {
        let json = "{\"a\":\"\u{202E}\u{61C}\u{2028}\"}"
        server.route("/", .text("a\u{202E}b\u{200F}"))
        server.route(
            "/json", .respond(headers: ["Content-Type": "application/json", "X-A": "\u{2066}x"], body: Data(json.utf8)))
        let text = await swiftaf("get", server.urlString(), output: MemorySink(isTerminal: true))
        #expect(text.text == "a\\u{202E}b\\u{200F}\n")
        let shown = await swiftaf("get", server.urlString("/json"), "-i", output: MemorySink(isTerminal: true))
        #expect(
            shown.text.hasSuffix("\"a\": \"\\u202e\\u061c\\u2028\"\n}\n") && shown.text.contains("X-A: \\u{2066}x\r\n"))
        #expect(await swiftaf("get", server.urlString("/json")).text == json)
    }

    /// A line that is too long to be kept is shown in pieces, which may begin and end inside of characters.
    @Test func longLinesKeepTheirCharacters() async {
        let line = String(repeating: "äö€𝄞\u{1B}", count: 40_000)
        server.route("/", .text(line + "\r\n"))
        let run = await swiftaf("get", server.urlString(), output: MemorySink(isTerminal: true))
        #expect(run.exit == 0 && run.text == line.replacing("\u{1B}", with: "\\u{1B}") + "\r\n")
    }

    /// JSON that isn't complete is shown as what isn't JSON.
    @Test(arguments: [[], ["--retry", "1"]])
    func whatCameBeforeAFailureIsShown(words: [String]) async {
        let json: Script.Headers = ["Content-Type": "application/json"]
        server.route("/json", .truncated(headers: json, body: Data("{\"a\":\"\u{1B}]0;owned".utf8), promising: 99))
        server.route("/text", .truncated(body: Data("line\nhalf".utf8), promising: 99))
        for (path, text) in [("/json", "{\"a\":\"\\u{1B}]0;owned\n"), ("/text", "line\nhalf\n")] {
            let run = await swiftaf(["get", server.urlString(path)] + words, output: MemorySink(isTerminal: true))
            #expect(run.exit == 3 && run.text == text)
            let included = await swiftaf(
                ["get", "-i", server.urlString(path)] + words, output: MemorySink(isTerminal: true))
            #expect(included.text.hasPrefix("HTTP/1.1 200 OK\r\n") && included.text.hasSuffix("\r\n\r\n" + text))
        }
        let (piece, isAnswered) = ("{\"a\":\"\u{1B}]0;owned", words.isEmpty ? 5 : 10)
        #expect(await swiftaf(["get", server.urlString("/json")] + words).text == piece)
        #expect(server.requests.count == isAnswered)
    }

    @Test func reportsAreShownWithoutControlCharacters() async {
        server.route("/", .json(Self.json))
        let run = await swiftaf("get", server.urlString(), "--json", output: MemorySink(isTerminal: true))
        #expect(run.exit == 0 && run.json["json"]?["n"] != nil)
        #expect(!run.text.unicodeScalars.contains { ("\u{7F}"..."\u{9F}").contains($0) })
        let piped = await swiftaf("get", server.urlString(), "--json")
        #expect(piped.text.contains("\"json\":\(Self.json),"))
    }

    @Test func messagesAreShownWithoutControlCharacters() async throws {
        let text = "\u{1B}]0;owned\u{7}\ttab\nline\u{9B}"
        server.route(
            "/", [.upgrade(), .frame(0x81, Data(text.utf8)), .frame(0x88, Data([0x03, 0xE8])), .waitForPeerClose])
        let url = "ws" + server.urlString().dropFirst(4)
        let pipe = try InputPipe()
        let words = ["ws", url, "--no-close"]
        let shown = await swiftaf(words, input: pipe.reading, output: MemorySink(isTerminal: true))
        #expect(shown.exit == 0 && shown.text == "\\u{1B}]0;owned\\u{7}\ttab\nline\\u{9B}\n")
        #expect(await swiftaf(words, input: pipe.reading).text == text + "\n")
        let events = await swiftaf(words + ["--json"], input: pipe.reading, output: MemorySink(isTerminal: true))
        #expect(events.text.contains("\\u009b") && !events.text.contains("\u{9B}"))
    }

    private static let cookie = "a=\u{9B}31m\u{202E}x"

    @Test func cookiesAreShownWithoutControlCharacters() async {
        server.route("/", .respond(200, headers: ["Set-Cookie": Self.cookie]))
        let shown = await swiftaf(server.urlString(), "-c", "-", output: MemorySink(isTerminal: true))
        #expect(shown.exit == 0 && shown.text.hasSuffix("\t0\ta\t\\u{9B}31m\\u{202E}x\n"))
        #expect(await swiftaf(server.urlString(), "-c", "-").text.hasSuffix("\t0\ta\t\u{9B}31m\u{202E}x\n"))
    }

    @Test(
        .enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"),
        arguments: ["-c", "--har"])
    func filesThatAreATerminalGetNoControlCharacters(option: String) async throws {
        server.route("/", .respond(200, headers: ["Set-Cookie": Self.cookie, "X-A": "\u{202E}x"]))
        let run = try TerminalRun(server.urlString(), "-o", "/dev/null", option, "/dev/stdout")
        #expect(await run.end() == 0)
        #expect(run.text.contains("\\u{202E}x"))
        #expect(!run.text.unicodeScalars.contains { ["\u{202E}", "\u{9B}"].contains($0) })
    }

    @Test func verdictsAreShownWithoutControlCharacters() throws {
        let authority = try TestCertificate.makeAuthority()
        let policy = SecurityPolicy(anchors: .pem(Data(authority.pem.utf8)))
        var report = try policy.evaluate([try authority.issue().der], host: "localhost")
        (report.reason, report.message) = (.expired, "\u{1B}[2Jgone")
        #expect(TrustText.text(report).contains("expired: \\u{1B}[2Jgone (certificate 0)"))
    }
}
