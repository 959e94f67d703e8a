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

    @Test func verdictsAreShownWithoutControlCharacters() throws {
        let authority = try TestCertificate.makeAuthority()
        let policy = SecurityPolicy(anchors: .pem(Data(authority.pem.utf8)))
        var report = try policy.evaluate([try authority.issue().der], host: "localhost")
        (report.reason, report.message) = (.expired, "\u{1B}[2Jgone")
        #expect(TrustText.text(report).contains("expired: \\u{1B}[2Jgone (certificate 0)"))
    }
}
