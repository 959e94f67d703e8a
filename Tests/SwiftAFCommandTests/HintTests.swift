import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Messages and notes about habits from curl, wget and HTTPie, and hints that help.
@Suite(.timeLimit(.minutes(10))) struct HintTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
        server.route("/", .text("done"))
    }

    private func usage(_ words: String...) async -> String {
        let run = await swiftaf(words)
        #expect(run.exit == 1 && server.requests.isEmpty, "\(words)")
        return run.error
    }

    // MARK: Command lines

    @Test func resumingNeedsAFile() async {
        let url = server.urlString()
        #expect(await usage("-C", "-", url).contains("-C needs -O, -o PATH or the command download"))
        #expect(await usage("--resume", url).contains("--resume needs -O, -o PATH or the command download"))
        #expect(await usage("-J", url).contains("-J needs -O or the command download"))
        #expect(await usage("upload", url, "--resume").contains("--resume can't be used with upload"))
    }

    @Test(arguments: [[], ["get"], ["download"], ["upload"]])
    func theURLOfAWebSocketNamesItsCommand(command: [String]) async {
        let run = await swiftaf(command + ["ws://localhost:1/"])
        #expect(run.exit == 1 && run.error.contains("swiftaf ws URL"))
    }

    @Test(arguments: ["//localhost:9100/x", "http:/localhost:9100/x", "http:localhost/x", "HTTPS:a.example"])
    func anIncompleteURLIsNoCommand(url: String) async {
        let error = await usage(url)
        #expect(error.contains("'\(url)' isn't a URL with a host: expected http://HOST or https://HOST"))
        #expect(await usage("http:/joe:secret@a.example").contains("secret") == false)
    }

    @Test(arguments: [("--follw", "--follow"), ("--locaton", "--location"), ("--cooki", "--cookie")])
    func anySpellingIsSuggested(typed: String, meant: String) async {
        #expect(await usage(typed, server.urlString()).contains("did you mean \(meant)?"))
    }

    @Test(arguments: ["--no-follow", "--tls-max", "--wait"])
    func anOptionForSomethingElseIsNotSuggested(option: String) async {
        #expect(await usage(option, server.urlString()).contains("unknown option \(option)\nswiftaf --help"))
    }

    @Test func theVersionIsAnOption() async {
        #expect(await usage("-V").contains("unknown option -V; --version"))
        #expect(await usage("version").contains("unknown command 'version'; --version prints the versions"))
    }

    @Test func anEmptyFolderIsNamedOne() async {
        let error = await usage("-P", "", "-O", server.urlString())
        #expect(error.contains("-P needs the path of a folder"))
    }

    @Test func aListOfURLsIsForXargs() async {
        #expect(await usage("download").contains("the URL is missing; xargs swiftaf download -P DIR < FILE"))
        #expect(await usage("get").contains("the URL is missing\n"))
    }

    @Test(arguments: [
        (["-X"], "a command or a URL is missing", "-X"),
        (["get", "-A"], "the URL is missing", "-A"),
        (["download", "--output"], "the URL is missing", "--output"),
        (["request", "GET", "-u"], "the URL is missing", "-u"),
        (["ws", "-A"], "the URL is missing", "-A"),
    ])
    func namesTheOptionThatTookTheURL(words: [String], missing: String, option: String) async {
        let scheme = words.first == "ws" ? "ws" : "http"
        let run = await swiftaf(words + ["\(scheme)://joe:secret@host/"])
        #expect(run.exit == 1)
        #expect(run.error.hasPrefix("swiftaf: \(missing); the URL behind \(option) is its value\n"))
        #expect(!run.error.contains("secret"))
    }

    @Test(arguments: [
        ["-m"], ["--retry"], ["--max-body"], ["--resolve"], ["--checksum"], ["get", "-X"], ["GET", "--auth"],
        ["ws", "--ping"], ["--tls-min"], ["--accept-status"], ["--print"],
    ])
    func hidesThePasswordOfAURLTakenByAnOption(words: [String]) async throws {
        for url in ["http://joe:secret@host/", "joe:secret@host"] {
            let run = await swiftaf(words + [url])
            let option = try #require(words.last)
            #expect(run.exit == 1 && run.error.contains(option) && !run.error.contains("secret"), "\(run.error)")
        }
    }

    @Test(arguments: [["-X"], ["upload", "--method"], ["--interface"]])
    func hidesThePasswordOfAURLBeforeTheURL(words: [String]) async throws {
        let option = try #require(words.last)
        let run = await swiftaf(words + ["http://joe:secret@host/", server.urlString()])
        #expect(run.exit == 1 && server.requests.isEmpty)
        #expect(run.error.contains("invalid value for \(option): expected ") && !run.error.contains("secret"))
    }

    @Test func doesNotTakeAFileForTheURL() async {
        #expect(await usage("get", "-o", "photo.png").contains("the URL is missing\n"))
    }

    @Test func aSecondHostIsRefused() async {
        #expect(await usage(server.urlString(), "Host:a", "Host:b").contains("Host is given twice"))
        #expect(await swiftaf(server.urlString(), "Host:a", "X:1", "X:2").exit == 0)
    }

    @Test func oneOfSeveralURLsIsNamed() async {
        let error = await usage("download", server.urlString("/a"), "http://joe:pw@localhost:1/")
        #expect(error.contains("http://localhost:1/: the URL's last segment is empty; -o names the file of one URL"))
    }

    // MARK: HTTPie's form

    @Test func theLetterOfAFormIsExplained() async {
        let note = "swiftaf: the fields are sent as JSON: -f is --fail, and --form sends them as a form\n"
        #expect(await swiftaf("-f", server.urlString(), "a=1").error == note)
        #expect(server.requests.last?.method == "POST" && server.requests.last?["Content-Type"] == "application/json")
        for words in [["--fail", "a=1"], ["-f", "--form", "a=1"], ["-f", "q==1"], ["-fs", "a=1"]] {
            #expect(await swiftaf([server.urlString()] + words).error.isEmpty, "\(words)")
        }
    }

    // MARK: Standard input

    @Test func anUnnamedPostOfStandardInputIsSaid() async throws {
        let note = "swiftaf: standard input is sent as the body of a POST: post URL names the method"
        for (words, isSaid) in [
            ([], true), (["X:1", "--json"], true), (["-s"], false), (["-X", "POST"], false), (["--form"], false),
            (["Content-Type:text/plain"], false), (["-d", "@-"], false),
        ] {
            let pipe = try InputPipe()
            pipe.send(Data("http://localhost:1/second\n".utf8))
            let run = await swiftaf([server.urlString()] + words, input: pipe.reading)
            #expect(run.exit == 0 && server.requests.last?.method == "POST")
            #expect(run.error.hasPrefix(note) == isSaid && run.error.isEmpty == !isSaid, "\(words)")
        }
        let pipe = try InputPipe()
        pipe.send(Data("x".utf8))
        #expect(await swiftaf("post", server.urlString(), input: pipe.reading).error.isEmpty)
    }

    // MARK: Jars

    @Test func aJarThatDoesNotExistIsSaid() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/missing"
        let run = await swiftaf(server.urlString(), "-b", path)
        #expect(run.exit == 0 && run.error.hasPrefix("swiftaf: there is no file \(path), so no cookies are read"))
        #expect(await swiftaf(server.urlString(), "-b", path, "-s").error.isEmpty)
        // A first run makes the jar.
        #expect(await swiftaf(server.urlString(), "-b", path, "-c", path).error.isEmpty)
        #expect(await swiftaf(server.urlString(), "-b", path).error.isEmpty)
    }

    @Test(arguments: [
        ("Set-Cookie: a=1\n", true), ("127.0.0.1 FALSE / FALSE 0 a 1\n", true), ("# a comment\n\n", false),
        ("\tFALSE\t/\tFALSE\t0\ta\t1\n", true), ("127.0.0.1\tFALSE\t/\tFALSE\tsoon\ta\t1\n", true),
        ("127.0.0.1\tFALSE\t/\tFALSE\t0\ta\n", false), ("127.0.0.1\tFALSE\t/\tFALSE\t0\ta\t1\nb=2\n", true),
    ])
    func ignoredLinesOfAJarAreSaid(content: String, isSaid: Bool) async throws {
        let file = try TemporaryFile(content)
        let run = await swiftaf(server.urlString(), "-b", file.path)
        #expect(run.exit == 0 && run.error.hasPrefix("swiftaf: \(file.path) has lines that aren't cookies") == isSaid)
        #expect(await swiftaf(server.urlString(), "-b", file.path, "-s").error.isEmpty)
    }

    @Test func aJarCanBeAPipe() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/pipe"
        #expect(mkfifo(path, 0o600) == 0)
        let reader = Task { [server] in await swiftaf(server.urlString(), "-b", path) }
        let descriptor = await Task.detached { open(path, O_WRONLY | O_CLOEXEC) }.value
        let line = "127.0.0.1\tFALSE\t/\tFALSE\t0\tx\ty\n"
        #expect(write(descriptor, line, line.utf8.count) == line.utf8.count)
        close(descriptor)
        #expect(await reader.value.exit == 0)
        #expect(server.requests.last?["Cookie"] == "x=y")
        let late = await swiftaf(server.urlString(), "-b", path, "--timeout", "0.1")
        #expect(late.exit == 4)
    }

    // MARK: Heads

    @Test(arguments: [["-i"], ["--print", "h"], ["-I"]])
    func headsInAPipeAreTheBytesThatWereReceived(words: [String]) async throws {
        var head = Data("HTTP/1.1 200 OK\r\nX: caf".utf8) + [0xE9]
        head += "\r\nY: \u{1B}[1m\u{E9}\r\nContent-Length: 0\r\n\r\n".utf8
        server.route("/", .send(head))
        #expect(await swiftaf([server.urlString()] + words).output == head)
        let file = try TemporaryFile()
        #expect(await swiftaf("-I", server.urlString(), "-o", file.path).exit == 0)
        #expect(file.content == head)
        let terminal = MemorySink(isTerminal: true)
        let shown = await swiftaf([server.urlString()] + words, output: terminal)
        #expect(shown.text.contains("X: café\r\nY: \\u{1B}[1mé\r\n"))
    }

    // MARK: Hints that help

    @Test(arguments: [["-o"], ["download", "-o"]])
    func nothingSavesTheBodyOf304(words: [String]) async throws {
        server.route("/", .status(304))
        let file = try TemporaryFile()
        let run = await swiftaf(words + [file.path, server.urlString()])
        #expect(run.exit == 2 && run.error.contains("nothing was written: a 304 has no body\n"))
        #expect(!run.error.contains("--accept-status"))
    }

    @Test(arguments: ["gzip, chunked", "foo, chunked"])
    func noOptionTurnsATransferEncodingOff(coding: String) async {
        let chunk = "5\r\nwrong\r\n0\r\n\r\n"
        server.route("/", .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: \(coding)\r\n\r\n\(chunk)"))
        for words in [[], ["--no-compressed"]] {
            let run = await swiftaf([server.urlString()] + words)
            #expect(run.exit == 3 && run.error.contains("a transfer coding that the request didn't accept\n"))
        }
        server.route("/", .respond(headers: ["Content-Encoding": "gzip"], body: Data("wrong".utf8)))
        #expect(await swiftaf(server.urlString()).error.contains("; --no-compressed takes the body as it is"))
    }
}
