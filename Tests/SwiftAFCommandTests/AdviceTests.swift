import AFTestServer
import FoundationEssentials
import Glibc
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

    @Test(arguments: [
        ("digest", "Basic realm=\"a, Digest b\"", "; the server offers Basic only: --auth basic"),
        ("any", "Bearer", "; the server offers Bearer only: --bearer TOKEN"),
        ("digest", "Own x=1, Basic realm=r", "; the server offers Own, Basic only: --auth basic"),
    ])
    func schemesThatTheServerOffersAreNamed(scheme: String, offer: String, advice: String) async {
        server.route("/", .respond(401, headers: ["WWW-Authenticate": offer]))
        let run = await swiftaf(server.urlString(), "-u", "joe:pw", "--auth", scheme)
        #expect(run.exit == 7 && run.error.contains(advice))
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
        #expect(run.error.contains("\"compress\" can't be decoded") && run.error.contains("; --no-compressed takes"))
        #expect(await swiftaf(server.urlString(), "--no-compressed").text == "body")
    }

    /// Only the name of the host looks like a failure of the interface.
    @Test func otherFailuresDoNotNameTheInterface() async {
        let run = await swiftaf("http://bind.invalid/", "--interface", "lo")
        #expect(run.exit == 3 && !run.error.contains("--interface"))
    }

    /// The proxy's address is the one that can't be connected.
    @Test func aProxyThatIsNotReachedDoesNotNameTheFamily() async {
        let run = await swiftaf("-4", "-x", "http://127.0.0.1:1", "http://[2001:db8::1]/")
        #expect(run.exit == 3 && run.error.contains("(proxy http://127.0.0.1:1)") && !run.error.contains("-4 allows"))
    }

    @Test func aProxyWithoutTLSNamesTheOption() async {
        let address = "127.0.0.1:\(server.port)"
        server.onConnection(nil, [.send("HTTP/1.1 400 Bad Request\r\n\r\n"), .waitForPeerClose])
        let run = await swiftaf("http://h.test/", "-x", "https://joe:s3cret@\(address)", "--noproxy", "a.test")
        #expect(run.exit == 5 && run.error.contains("the proxy doesn't use TLS on this port"))
        #expect(run.error.contains("; --proxy http://\(address) connects to the proxy without TLS"))
        #expect(!run.error.contains("s3cret"))
        let direct = await swiftaf("https://\(address)/", "-x", "https://\(address)", "--noproxy", "127.0.0.1")
        #expect(direct.exit == 5 && direct.error.contains("; a URL with http:// is sent without it"))
    }

    @Test func filesOfTheClientCertificateAreNamedByTheirOption() async throws {
        let junk = try TemporaryFile("junk")
        let bare = try TemporaryFile(TestCertificate.makeAuthority().pem)
        let url = server.urlString()
        let invalid = await swiftaf(url, "--cert", junk.path)
        #expect(invalid.exit == 1 && invalid.error.contains("--cert: invalid client certificate: no certificate"))
        let keyless = await swiftaf(url, "--cert", bare.path)
        #expect(keyless.exit == 1 && keyless.error.contains("no private key in \(bare.path); --key PATH"))
        let other = await swiftaf(url, "--cert", bare.path, "--key", junk.path)
        #expect(other.exit == 1 && other.error.contains("no private key in \(junk.path); --key PATH"))
    }

    @Test(arguments: [
        ["--pin", "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="], ["--pin-cert", "/etc/hostname"],
    ])
    func pinsWithoutTLSAreRefused(words: [String]) async {
        let run = await swiftaf([server.urlString(), "--json"] + words)
        #expect(run.exit == 1 && run.code != nil && server.requests.isEmpty)
        if words[0] == "--pin" { #expect(run.error.contains("--pin and --pin-cert need https")) }
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

    @Test func anUnsavedResponseNamesTheOption() async throws {
        let folder = try TemporaryFolder()
        server.route("/", .text("gone", status: 404))
        let path = folder.path + "/a"
        let saved = await swiftaf(server.urlString(), "-o", path)
        #expect(
            saved.exit == 2
                && saved.error.contains("nothing was written: only a success is saved, which --accept-status 404"))
        let downloaded = await swiftaf("download", server.urlString(), "-o", path)
        #expect(downloaded.exit == 2 && downloaded.error.contains("get URL -o PATH --accept-status 404 saves this one"))
        #expect(await swiftaf(server.urlString(), "-q", "-o", path).error == saved.error)
        let silent = await swiftaf(server.urlString(), "-s", "-o", path)
        #expect(folder.names.isEmpty && silent.error.isEmpty)
    }

    @Test func foldersNameTheOption() async throws {
        let folder = try TemporaryFolder()
        let run = await swiftaf(server.urlString(), "-o", folder.path)
        #expect(
            run.exit == 8 && run.error.contains("; -o \(folder.path)/ or -P \(folder.path) writes into this folder"))
        guard getuid() != 0 else { return }
        chmod(folder.path, 0o500)
        let locked = await swiftaf(server.urlString(), "-o", folder.path + "/a")
        #expect(locked.exit == 8 && locked.error.contains("; files can't be made in the folder \(folder.path)"))
    }

    // MARK: Retries

    @Test func waitsAreReadable() {
        #expect(Format.wait(.seconds(12_000)) == "3 h 20 min" && Format.wait(.seconds(3600)) == "1 h")
        #expect(Format.wait(.seconds(59)) == "59.0 s" && Format.wait(.seconds(60)) == "1 min")
        #expect(Format.wait(.milliseconds(59_940)) == "59.9 s" && Format.wait(.milliseconds(59_970)) == "1 min")
        #expect(Format.wait(.seconds(125)) == "2 min 5 s" && Format.wait(.milliseconds(1500)) == "1.5 s")
        #expect(Format.wait(.seconds(1_000_000)) == "11 d 13 h" && Format.wait(.seconds(Int64.max)).hasSuffix(" h"))
    }

    @Test func aLongWaitNamesTheTimeLimit() async {
        server.route("/", .respond(503, headers: ["Retry-After": "12000"]))
        let (notes, hasNote) = AsyncStream<Void>.makeStream()
        let sink = MemorySink { text in if text.contains("retry 1") { hasNote.yield() } }
        let url = server.urlString()
        let run = Task { await swiftaf(url, "--retry", "1", error: sink) }
        for await _ in notes { break }
        run.cancel()
        #expect(await run.value.error.contains("retry 1 of 1 in 3 h 20 min; --timeout S limits the wait"))
    }

    @Test func aWaitBeyondTheTimeLimitIsExplained() async {
        server.route("/", .respond(503, headers: ["Retry-After": "3600"]))
        let words = [server.urlString(), "--retry", "2", "--timeout", "600"]
        let note = "swiftaf: not repeated: the server asks for 1 h, --timeout allows 10 min\n"
        for more in [[], ["--json"], ["-v"], ["-q"]] {
            let run = await swiftaf(words + more)
            #expect(run.exit == 2 && run.error.contains(note), "\(more)")
        }
        #expect(server.requests.count == 4)
        server.route("/", .respond(503, headers: ["Retry-After": "600"]))
        let equal = await swiftaf(server.urlString(), "--retry", "2", "--timeout", "600")
        #expect(equal.error.contains("not repeated: the server asks for 10 min, --timeout 10 min leaves 9 min "))
        #expect(!(await swiftaf(words + ["-sS"]).error.contains("not repeated")))
        // It wouldn't be repeated anyway.
        #expect(!(await swiftaf(words + ["-X", "POST"]).error.contains("not repeated")))
    }

    @Test func waitsThatDifferNeverLookTheSame() {
        #expect(Format.waitRoundedUp(.seconds(1)) == "1 s" && Format.waitRoundedDown(.milliseconds(999)) == "0.99 s")
        #expect(
            Format.waitRoundedUp(.milliseconds(1001)) == "1.01 s"
                && Format.waitRoundedDown(.milliseconds(1001)) == "1 s")
        #expect(Format.waitRoundedUp(.milliseconds(59_996)) == "1 min")
        #expect(Format.waitRoundedDown(.milliseconds(59_996)) == "59.99 s")
        #expect(Format.waitRoundedUp(.milliseconds(119_600)) == "2 min")
        #expect(
            Format.waitRoundedDown(.milliseconds(119_600)) == "1 min 59 s" && Format.waitRoundedDown(.zero) == "0 s")
    }

    @Test func anAttemptWithoutTimeIsExplained() async {
        server.route("/", .reset)
        // On a busy machine, the limit may pass during an attempt, or just after it was decided that there is another one.
        var runs: [RunResult] = []
        for limit in ["5", "10", "20"] {
            runs.append(await swiftaf(server.urlString(), "--retry", "60", "--timeout", limit))
            if runs.last?.error.contains("swiftaf: not repeated: --timeout \(limit) s leaves ") == true { break }
        }
        #expect(runs.last?.exit == 3 && runs.last?.error.contains("not repeated") == true, "\(runs.map(\.error))")
        server.route("/", .respond(503, headers: ["Retry-After": "600"]))
        let busy = await swiftaf(server.urlString(), "--retry", "9", "--timeout", "600.001")
        #expect(
            busy.exit == 2 && busy.error.contains("not repeated: the server asks for 10 min, --timeout 10 min leaves "))
    }

    @Test func aBodyThatCannotBeRepeatedIsNamed() async throws {
        let pipe = try InputPipe()
        pipe.send(Data("body".utf8))
        server.route("/", .reset)
        let run = await swiftaf("put", server.urlString(), "-d", "@-", "--retry", "2", input: pipe.reading)
        #expect(run.exit == 3 && run.error.contains("swiftaf: not repeated: the body can be read only once"))
    }

    @Test func filesOfHeadersAreExplained() async {
        let run = await swiftaf("-H", "@headers", server.urlString())
        #expect(run.exit == 1 && run.error.contains("'Name:@PATH' reads one header's value"))
    }

    @Test(arguments: [
        (SessionError.Reason.proxyURL, "--proxy"), (.anchors, "--cacert"), (.dnsOverHTTPSURL, "--doh"),
        (.clientCertificate, "--cert"), (.clientKey, "--key"), (.pinning, "--pin-cert"), (.ciphers, "--ciphers"),
    ])
    func anInputThatIsRefusedNamesItsOption(reason: SessionError.Reason, option: String) {
        let message = Failure(SessionError(.invalidInput, reason: reason, message: "invalid")).message
        #expect(message == "\(option): invalid")
    }

    @Test func onlyCredentialsOfTheServerCanBeSentAtOnce() {
        var error = SessionError(.bodyNotReplayable, reason: .credentials)
        error.party = .server
        #expect(Failure(error).message.contains("--auth basic"))
        error.party = .proxy
        #expect(!Failure(error).message.contains("--auth basic") && Failure(error).message.contains("-d @FILE"))
        #expect(!Failure(SessionError(.bodyNotReplayable)).message.contains("--auth basic"))
    }
}
