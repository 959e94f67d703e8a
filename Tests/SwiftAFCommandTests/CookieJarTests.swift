import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Several cookie jars in one run: which are read, and which are written with what.
@Suite struct CookieJarTests {
    private let server: TestServer
    private let folder: TemporaryFolder

    init() throws {
        server = try TestServer()
        folder = try TemporaryFolder()
        server.route("/", .respond(200, headers: ["Set-Cookie": "new=1"]))
        for name in ["a", "b"] { folder.write(Self.line(name), to: RawText(name)) }
    }

    private static func line(_ name: String, _ value: String = "1") -> String {
        "127.0.0.1\tFALSE\t/\tFALSE\t0\t\(name)\t\(value)\n"
    }

    private func path(_ name: String) -> String { "\(folder.path)/\(name)" }

    /// The names of the cookies in a file.
    private func names(in file: RawText) -> Set<String> {
        let lines = folder.content(of: file)?.split(separator: "\n").filter { !$0.hasPrefix("#") } ?? []
        return Set(lines.compactMap { $0.split(separator: "\t").dropFirst(5).first.map(String.init) })
    }

    /// The names of the cookies that the last request sent.
    private var sent: Set<String> {
        let pairs = server.requests.last?["Cookie"]?.split(separator: ";") ?? []
        return Set(pairs.compactMap { $0.split(separator: "=").first?.trimmingPrefix(" ") }.map(String.init))
    }

    @Test func aJarThatIsOnlyReadDestroysNoOther() async {
        #expect(await swiftaf(server.urlString(), "--cookies", path("a"), "-b", path("b")).exit == 0)
        #expect(sent == ["a", "b"])
        #expect(names(in: "a") == ["a", "b", "new"] && names(in: "b") == ["b"])
    }

    @Test(arguments: ["b", "none", ""], ["--cookies", "--session"])
    func keepsJarWhenOtherCookiesAreRead(other: String, option: String) async {
        let jar: RawText = option == "--session" ? "s.cookies" : "a"
        folder.write(Self.line("a"), to: "s.cookies")
        let words = [option, path(option == "--session" ? "s" : "a"), "-b", other.isEmpty ? "" : path(other)]
        #expect(await swiftaf([server.urlString()] + words).exit == 0)
        #expect(sent.contains("a") && names(in: jar).isSuperset(of: ["a", "new"]))
    }

    @Test func allJarsAreReadAndTheLastPrecedes() async {
        folder.write(Self.line("a", "2"), to: "c")
        #expect(await swiftaf(server.urlString(), "-b", path("a"), "-b", path("b"), "-b", path("c")).exit == 0)
        #expect(sent == ["a", "b"] && server.requests.last?["Cookie"]?.contains("a=2") == true)
        #expect(names(in: "a") == ["a"] && names(in: "c") == ["a"])
    }

    @Test(arguments: [["--cookies", "a"], ["--session", "s"]])
    func aCopyIsWrittenBesideTheJar(words: [String]) async {
        let words = [words[0], path(words[1])]
        #expect(await swiftaf([server.urlString(), "-c", path("out")] + words).exit == 0)
        #expect(names(in: "out") == (words[0] == "--cookies" ? ["a", "new"] : ["new"]))
        #expect(names(in: words[0] == "--cookies" ? "a" : "s.cookies").contains("new"))
    }

    @Test func aJarThatIsReadAndWrittenKeepsItsCookies() async {
        #expect(await swiftaf(server.urlString(), "-b", path("a"), "-b", path("b"), "-c", path("a")).exit == 0)
        #expect(sent == ["a", "b"] && names(in: "a") == ["a", "b", "new"] && names(in: "b") == ["b"])
    }

    /// What a response sets and removes counts for the next request of the run, also beside cookies of the command line.
    @Test(arguments: [["-b", "own=1"], ["Cookie:own=1"]])
    func cookiesOfTheJarAreChosenForEachRequest(own: [String]) async {
        let headers: Script.Headers = [
            "Set-Cookie": "a=; Max-Age=0; Path=/", "Set-Cookie": "ticket=1; Path=/", "Retry-After": "0",
        ]
        server.route("/busy", answers: [.respond(503, headers: headers), .text("done")])
        let words = ["get", server.urlString("/busy"), "--cookies", path("a"), "--retry", "1"]
        #expect(await swiftaf(words + own).text == "done")
        #expect(server.requests.map { $0["Cookie"] } == ["own=1; a=1", "own=1; ticket=1"])
    }

    @Test func cookiesOfTheCommandLinePrecedeThoseOfTheJar() async {
        #expect(await swiftaf(server.urlString(), "--cookies", path("a"), "-b", "x=1; a=2", "Cookie:y=1").exit == 0)
        #expect(server.requests.last?["Cookie"] == "y=1; x=1; a=2")
    }

    @Test func jarsThatCouldNotBothBeKeptAreRefused() async {
        for more in [["--cookies", path("b")], ["--session", path("s")]] {
            let run = await swiftaf([server.urlString(), "--cookies", path("a"), "--json"] + more)
            #expect(run.exit == 1 && run.code == "usage" && run.error.contains("--cookies"))
        }
        #expect(await swiftaf(server.urlString(), "--cookies", path("a"), "--cookies", path("a")).exit == 0)
        #expect(server.requests.count == 1)
    }

    @Test func theCurlCommandNamesAllJars() async {
        let run = await swiftaf("h.test", "--cookies", "a", "-b", "b", "--as-curl")
        #expect(run.text.contains("--cookie a --cookie b --cookie-jar a"))
    }

    /// The check whether a file is a jar can't be finished then.
    @Test func aStoppedRunReplacesNoFile() async {
        folder.write("my notes", to: "notes")
        for option in ["--cookies", "-c"] {
            let words = [server.urlString(), option, path("notes"), "-b", path("notes")]
            let run = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await swiftaf(words)
            }
            #expect(await run.value.exit == 130)
            #expect(folder.content(of: "notes") == "my notes")
        }
    }
}
