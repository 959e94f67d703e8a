import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Messages name what was wrong, and the option that helps.
@Suite struct AdviceTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
        server.route("/", .text("done"))
    }

    // MARK: Credentials

    @Test func credentialsOfAnotherOriginAreExplained() async throws {
        let other = try TestServer()
        other.route("/", .respond(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""]))
        server.route("/", .redirect(to: other.urlString("/")))
        let netrc = try TemporaryFile("machine 127.0.0.1 login joe password pw\n")
        for words in [["--user", "joe:pw"], ["--bearer", "t"], ["--netrc=\(netrc.path)"]] {
            let run = await swiftaf([server.urlString()] + words)
            #expect(run.exit == 7, "\(words)")
            #expect(run.error.contains("another origin after a redirect: request \(other.urlString("/")) directly"))
        }
        #expect(await swiftaf(server.urlString()).error.contains("; --user NAME:PASSWORD or --bearer TOKEN"))
    }

    @Test func refusedCredentialsNeedNoAdvice() async {
        server.route("/", .respond(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""]))
        let run = await swiftaf(server.urlString(), "--user", "joe:pw")
        #expect(run.exit == 7 && !run.error.contains("origin") && !run.error.contains("--user"))
    }

    @Test func webSocketsSayHowCredentialsAreGiven() async throws {
        server.route("/", .status(401))
        let pipe = try InputPipe()
        let url = "ws" + server.urlString().dropFirst(4)
        let run = await swiftaf("ws", url, input: pipe.reading)
        #expect(run.exit == 7 && run.error.contains("; --user NAME:PASSWORD or --bearer TOKEN sends credentials"))
    }

    // MARK: The network

    @Test(arguments: [("-6", "http://127.0.0.1:1/"), ("-4", "http://[::1]:1/"), ("-6", "http://127.1:1/")])
    func addressesOfTheOtherFamilyNameTheOption(option: String, url: String) async {
        let run = await swiftaf(url, option)
        #expect(run.exit == 3 && run.error.contains("; \(option) allows IPv"))
    }

    @Test func addressesOfTheSameFamilyDoNot() async {
        #expect(!(await swiftaf("http://127.0.0.1:1/", "-4").error.contains("allows")))
    }

    @Test(arguments: ["nonsuch9", "if!nonsuch9", ""])
    func aMissingInterfaceIsRefused(name: String) async {
        let run = await swiftaf(server.urlString(), "--interface", name, "--json")
        #expect(run.exit == 1 && run.code == "invalidInput" && server.requests.isEmpty)
        let shown = name.replacing("if!", with: "")
        #expect(run.error.contains("--interface: '\(shown)' is neither an interface of this machine nor an address"))
    }

    @Test func anAddressOfAnotherMachineNamesTheOption() async {
        let run = await swiftaf(server.urlString(), "--interface", "192.0.2.1")
        #expect(run.exit == 3 && run.error.contains("; --interface NAME"))
    }

    @Test func anUnknownEncodingNamesTheOption() async {
        server.route("/", .respond(200, headers: ["Content-Encoding": "compress"], body: Data("body".utf8)))
        let run = await swiftaf(server.urlString(), "--json")
        #expect(run.exit == 3 && run.code == "protocol")
        #expect(run.error.contains("the body can't be decoded: ") && run.error.contains("; --no-compressed takes"))
        #expect(await swiftaf(server.urlString(), "--no-compressed").text == "body")
    }

    // MARK: Headers

    @Test(arguments: [
        (["X A:1"], "'X …'"), (["X\u{FC}:1"], "'X\u{FC}'"), (["X(:"], "'X('"),
        (["-H", "Authorization s3cret: x"], "'Authorization …'"),
    ])
    func aHeaderWhoseNameIsInvalidIsNamed(words: [String], name: String) async {
        let run = await swiftaf([server.urlString()] + words + ["--json"])
        #expect(run.exit == 1 && run.code == "invalidInput" && server.requests.isEmpty)
        #expect(run.error.contains("the header name \(name) is not a token") && !run.error.contains("s3cret"))
    }

    // MARK: Files

    @Test func existingFilesNameTheOption() async throws {
        let file = try TemporaryFile("former")
        server.route("/", .text("gone", status: 404))
        server.route("/file", .text("new", headers: ["Content-Disposition": "attachment; filename=file"]))
        let url = server.urlString("/file")
        let kept = await swiftaf(url, "-o", file.path, "--no-clobber")
        #expect(kept.exit == 8 && kept.error.contains("File exists; --no-clobber keeps it"))
        let accepted = await swiftaf(
            server.urlString(), "-o", file.path, "--no-clobber", "--accept-status", "404")
        #expect(accepted.exit == 8 && accepted.error.contains("File exists; --no-clobber keeps it"))
        let named = await swiftaf("download", url, "-J", "-P", file.folder)
        #expect(named.exit == 8 && named.error.contains("File exists; -o PATH names another file"))
        #expect(file.content == Data("former".utf8))
    }

    // MARK: Retries

    @Test func aWaitBeyondTheTimeLimitIsExplained() async {
        server.route("/", .respond(503, headers: ["Retry-After": "3600"]))
        let words = [server.urlString(), "--retry", "2", "--timeout", "600"]
        let note = "swiftaf: not repeated: the server asks for 3600 s, --timeout allows 600 s\n"
        for more in [[], ["--json"], ["-v"]] {
            let run = await swiftaf(words + more)
            #expect(run.exit == 2 && run.error.contains(note), "\(more)")
        }
        #expect(server.requests.count == 3)
        #expect(!(await swiftaf(words + ["-q"]).error.contains("not repeated")))
        // It wouldn't be repeated anyway.
        #expect(!(await swiftaf(words + ["-X", "POST"]).error.contains("not repeated")))
    }
}
