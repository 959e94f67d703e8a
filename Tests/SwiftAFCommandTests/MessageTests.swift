import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// What errors say: a plain sentence first, then the option that helps.
@Suite struct MessageTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
    }

    private func message(of error: SessionError) -> String { Advice.message(for: error, in: .none) }

    @Test(arguments: [
        (SessionError(.timeout, reason: .connect), "--connect-timeout"),
        (.init(.timeout, reason: .idle), "--idle-timeout"),
        (.init(.timeout, reason: .total), "--timeout"), (.init(.untrusted, reason: .selfSigned), "--cacert"),
        (.init(.untrusted, reason: .wrongHost), "swiftaf trust"), (.init(.untrusted, reason: .pin), "swiftaf trust"),
        (.init(.untrusted, reason: .expired), "--insecure"), (.init(.untrusted, reason: .weak), "--insecure"),
        (.init(.tls, reason: .handshakeRefused), "it may require a client certificate, which --cert"),
        (.init(.tls, reason: .certificateRequired), "--cert PATH gives"),
        (.init(.tls, reason: .certificateRefused), "refused the client certificate of --cert"),
        (.init(.tls, reason: .notTLS), "http://"),
        (.init(.authentication, reason: .proxyCredentials), "--proxy"),
        (.init(.dns, reason: .dnsOverHTTPS), "--doh"), (.init(.protocol, reason: .digest), "--checksum"),
        (.init(.invalidInput, reason: .keyPassword), "--key-password"),
        (.init(.invalidInput, reason: .hostOverride), "--resolve"),
        (.init(.tooLarge, reason: .messageLimit), "--max-body"),
        (.init(.protocol, reason: .contentCoding), "--no-compressed"),
        (.init(.tooLarge, reason: .lineLimit), "100 KiB in a head"),
        (.init(.tooLarge, reason: .decodedLimit), "--no-compressed"),
    ])
    func namesTheOptionForTheReason(error: SessionError, option: String) {
        #expect(message(of: error).contains("; ") && message(of: error).contains(option))
    }

    @Test func putsASentenceBeforeATextOfLibcurl() {
        #expect(message(of: SessionError(.connect, message: "Couldn't connect")) == "can't connect: Couldn't connect")
        #expect(message(of: SessionError(.protocol, message: "nghttp2 error")).hasPrefix("the server's response"))
        #expect(message(of: SessionError(.truncated, message: "the connection was closed")).hasPrefix("the connection"))
    }

    @Test func namesTheProtocolOfASocket() {
        let error = SessionError(.protocol, message: "a WebSocket text isn't UTF-8")
        let message = Advice.message(for: error, in: AdviceContext(isSocket: true))
        #expect(message == "the server broke the WebSocket protocol: a WebSocket text isn't UTF-8")
    }

    @Test func namesNoOptionThatWouldNotHelp() {
        var expired = SessionError(.untrusted, reason: .expired, message: "the proxy isn't trusted: expired")
        expired.party = .proxy
        #expect(!message(of: expired).contains("--insecure"))
        for reason in [SessionError.Reason.noPong, .noCloseFrame] {
            let late = SessionError(.timeout, reason: reason, message: "late")
            #expect(message(of: late) == "late" && Failure(late).reason == "idle")
        }
        let shown = Advice.message(for: expired, in: AdviceContext(showsCertificates: true))
        #expect(!shown.contains("swiftaf trust"))
        let old = SessionError(.tls, reason: .tlsVersion, message: "OpenSSL/3: SSL routines::unsupported protocol")
        #expect(Advice.message(for: old, in: AdviceContext(minimumTLS: .v1_3)).contains("; --tls-min 1.2"))
        #expect(
            !Advice.message(for: old, in: AdviceContext(minimumTLS: .v1_2)).contains(";")
                && !message(of: old).contains(";"))
    }

    @Test func findsTheSchemesOfSeveralChallenges() {
        let value = #"Digest realm="a, \", b", nonce=x, qop="auth", Basic realm="r", Bearer"#
        #expect(Advice.schemes(ofChallenges: value) == ["Digest", "Basic", "Bearer"])
    }

    @Test func saysThatCredentialsAreMissing() async {
        server.route("/", .respond(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""]))
        #expect(await swiftaf("get", server.urlString()).error.contains("Unauthorized; --user NAME:PASSWORD"))
        #expect(await swiftaf("get", server.urlString(), "-u", "a:b").error.hasSuffix("Unauthorized\n"))
        server.route("/far", .respond(407, headers: ["Proxy-Authenticate": "Basic realm=\"r\""]))
        let proxied = await swiftaf("get", "http://a.test/far", "--proxy", server.urlString())
        #expect(proxied.exit == 7 && proxied.error.contains("; --proxy http://NAME:PASSWORD@HOST"))
    }

    @Test func namesTheOptionOfALimitThatAResponsePassed() async {
        server.route("/body", .respond(200, body: Data(count: 5000)))
        server.route("/head", .respond(200, headers: ["X": String(repeating: "x", count: 5000)]))
        server.route("/again", .redirect(to: "/again"))
        let body = await swiftaf("get", server.urlString("/body"), "--max-body", "1k")
        #expect(body.exit == 6 && body.error.contains("--max-body"))
        let head = await swiftaf("get", server.urlString("/head"), "--max-headers", "1k")
        #expect(head.exit == 6 && head.error.contains("--max-headers"))
        for limit in ["0", "2"] {
            let loop = await swiftaf("get", server.urlString("/again"), "--max-redirects", limit)
            #expect(loop.exit == 3 && loop.error.contains("more than \(limit) redirects; --max-redirects"))
        }
    }

    @Test func saysWhichLimitALongLinePassed() async {
        server.route("/", .respond(200, headers: ["X": String(repeating: "x", count: 120_000)]))
        let run = await swiftaf("get", server.urlString(), "--max-headers", "1M")
        #expect(run.exit == 6 && run.error.contains("a line of the response's head or trailers is too long; libcurl"))
    }

    @Test(arguments: [
        ["joe:s3cret@myserver"], ["https:/joe:s3cret@host/"], ["--", "joe:s3cret@myserver", "a=b"],
        ["get", "joe:s3cret@myserver"], ["request", "GET", "https:/joe:s3cret@host/"],
        ["download", "joe:s3cret@myserver"], ["ws", "joe:s3cret@myserver"], ["trust", "joe:s3cret@myserver"],
    ])
    func neverShowsThePasswordOfAMistypedURL(words: [String]) async {
        for more in [[], ["--json"]] {
            let run = await swiftaf(more + words)
            #expect(run.exit == 1 && !run.error.isEmpty)
            #expect(!run.error.contains("s3cret") && !run.text.contains("s3cret"))
        }
    }

    /// Scripts depend on the reasons of two codes.
    @Test func reportsNoReasonOfOtherCodes() {
        #expect(Failure(SessionError(.tooLarge, reason: .bodyLimit)).reason == nil)
        #expect(Failure(SessionError(.untrusted, reason: .untrustedRoot)).reason == "unknownIssuer")
        #expect(Failure(SessionError(.timeout, reason: .notOpen)).reason == "total")
    }

    @Test func saysHowAHostIsNamed() async {
        let run = await swiftaf("get", "//myhost")
        #expect(run.exit == 1 && run.error.contains("the URL has no scheme; https://HOST or HOST/ names a host"))
    }

    @Test func namesTheOptionInPlaceOfAZone() async {
        let run = await swiftaf("get", "http://[fe80::1%25eth0]/")
        #expect(run.exit == 1 && run.error.contains("IPv6 zone (RFC 9844); --interface NAME"))
    }

    /// A TLS handshake counts as a part of the connection, so its limit is that of the connection.
    @Test(arguments: [["--connect-timeout", "0.1"], ["--connect-timeout", "0", "--idle-timeout", "0.1"]])
    func aServerThatNeverAnswersAHandshakeIsATimeout(limits: [String]) async throws {
        let listener = socket(AF_INET, streamCloseOnExec, 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                #expect(bind(listener, pointer, size) == 0 && listen(listener, 5) == 0)
                #expect(getsockname(listener, pointer, &size) == 0)
            }
        }
        let run = await swiftaf(["get", "https://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/"] + limits)
        #expect(
            run.exit == 4 && run.error.contains("timeout: no ") && run.error.contains(limits.dropLast().last ?? "?"))
    }

    @Test func saysWhyAndHowLongARetryWaits() async {
        server.route("/", times: 1, .respond(503, headers: ["Retry-After": "0"]))
        server.route("/", .text("done"))
        let run = await swiftaf("get", server.urlString(), "--retry", "2")
        #expect(run.exit == 0 && run.text == "done")
        #expect(run.error.contains("swiftaf: the server responded with 503; retry 1 of 2 in "))
        server.route("/", times: 1, .respond(503, headers: ["Retry-After": "0"]))
        #expect(await swiftaf("get", server.urlString(), "--retry", "2", "-q").error.contains("; retry 1 of 2 in "))
        server.route("/", times: 1, .respond(503, headers: ["Retry-After": "0"]))
        #expect(await swiftaf("get", server.urlString(), "--retry", "2", "-s").error.isEmpty)
    }

    @Test func aDownloadSaysWhereItWrote() async throws {
        let folder = try TemporaryFolder()
        server.route("/film", .respond(200, body: Data(count: 2048)))
        let words = ["download", server.urlString("/film"), "-P", folder.path]
        #expect(await swiftaf(words).error == "swiftaf: wrote \(folder.path)/film, 2.0 KiB\n")
        #expect(await swiftaf(words + ["-q"]).error.isEmpty)
        #expect(await swiftaf(words + ["--json"]).error.isEmpty)
        server.route("/film", .status(404))
        #expect(await swiftaf(words).error.contains("nothing was written: "))
        #expect(await swiftaf(words + ["--json"]).error == "swiftaf: the server responded with 404 Not Found\n")
    }

    @Test(arguments: [
        ["Authorization:Bearer s3cret"], ["X-Api-Key:s3cret"], ["password=s3cret"], ["Cookie:a=s3cret"],
        ["download", "http://u:s3cret#x@h/y", "http://u:s3cret#x@h/y2"], ["cache", "show", "u:s3cret@h"],
        ["download", "http://u:x/s3cret@h"], ["cache", "clear", "u:s3cret@h"],
    ])
    func neverShowsAValueThatMayBeASecret(words: [String]) async {
        for more in [[], ["--json"]] {
            let run = await swiftaf(more + words)
            #expect(run.exit == 1 && !run.error.isEmpty)
            #expect(!run.error.contains("s3cret") && !run.text.contains("s3cret"))
        }
    }

    @Test func namesTheItemThatIsNoCommand() async {
        #expect(await swiftaf("password=s3cret").error.contains("'password=…' isn't a URL"))
    }

    @Test func namesTheOptionForNames() async {
        for url in ["https://", "https://u@h.test/"] {
            let run = await swiftaf("get", "http://a.test/", "--doh", url)
            #expect(run.exit == 1 && run.error.contains("swiftaf: --doh: ") && !run.error.contains("doh_url"))
        }
    }

    @Test(arguments: [
        (["-T", ""], "-T needs the path of a file"), (["-T", "/f", "a=1"], "-T can't be combined with body fields"),
        (["-T", "/f", "--form"], "--form can't be combined with -T"),
        (["-T", "/f", "-F", "a=1"], "-T can't be combined with a multipart form"),
        (["-X", ""], "-X needs a method"), (["--request", ""], "--request needs a method"),
        (["--request", "PUT"], "--request PUT can't be used with get"),
    ])
    func namesTheOptionThatWasGiven(words: [String], expected: String) async {
        let run = await swiftaf(["get", server.urlString()] + words)
        #expect(run.exit == 1 && run.error.contains(expected))
        #expect(!run.error.contains("--data"))
    }

    @Test func namesTheOptionOfUpload() async {
        let run = await swiftaf("upload", server.urlString(), "-X", "PUT", "a=1")
        #expect(run.exit == 1 && run.error.contains("-X can't be used with upload; --method METHOD"))
    }

    @Test(arguments: [
        ["--timeout", "abc"], ["--timeout", "9999999"], ["--max-body", "1X"], ["--retry", "1.5"],
        ["--accept-status", "20"], ["--auth", "bearer"], ["--tls-min", "1.1"], ["--print", "x"],
        ["--resolve", "h:1"], ["-C", "100"], ["-m", "abc"], ["--max-time", "abc"], ["--checksum", "md5:00"],
        ["--session", "a b"],
    ])
    func showsTheValueThatIsInvalid(words: [String]) async {
        let run = await swiftaf(["get", server.urlString()] + words)
        #expect(run.exit == 1 && run.error.contains("invalid value '\(words[1])' for \(words[0]): expected"))
    }

    @Test func showsNoValueThatMayBeASecret() async {
        for words in [["--doh", "http://u:s3cret@h/"], ["-H", "s3cret"], ["-F", "s3cret"]] {
            let run = await swiftaf(["get", server.urlString()] + words)
            #expect(run.exit == 1 && run.error.contains("invalid value for ") && !run.error.contains("s3cret"))
        }
    }
}
