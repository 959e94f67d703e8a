import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// The file of `--hsts`: read at the start, written at the end, and shared by runs at the same time.
@Suite(.timeLimit(.minutes(10))) struct HSTSFileTests {
    private static let hosts = (0..<20).map { "h\($0).test" }

    private let server: TestServer
    private let anchors: TemporaryFile
    private let folder: TemporaryFolder
    private var path: String { folder.path + "/hsts" }

    init() throws {
        let authority = try TestCertificate.makeAuthority()
        server = try TestServer(tls: .init(authority.issue(hosts: Self.hosts)))
        anchors = try TemporaryFile(authority.pem)
        folder = try TemporaryFolder()
    }

    /// The command line of a request to a host, which has the address of the server.
    private func words(_ host: String, _ path: RawText) -> [RawText] {
        let resolve = "\(host):\(server.port):127.0.0.1"
        let words = ["https://\(host):\(server.port)/", "--resolve", resolve, "--cacert", anchors.path, "--http1.1"]
        return words.map { RawText($0) } + ["--hsts", path]
    }

    private static func run(_ words: [RawText], error: MemorySink = MemorySink()) async -> ExitCode {
        await Runner(console: Console(input: -1, output: MemorySink(), error: error)).run(words)
    }

    private func respond(_ field: String, gate: String? = nil) {
        let response = Script.respond(200, headers: ["Strict-Transport-Security": field])
        server.route("/", gate.map { Script.stall(at: $0).then(response) } ?? response)
    }

    private func names(in text: String?) -> Set<String> {
        let lines = (text ?? "").split(separator: "\n").filter { !$0.hasPrefix("#") }
        return Set(lines.map { String($0.prefix { $0 != " " }) })
    }

    @Test func runsKeepEachOthersHosts() async throws {
        respond("max-age=1000", gate: "all")
        folder.write("old.test \"unlimited\"\nexpired.test \"20200101 00:00:00\"\n", to: "hsts", mode: 0o640)
        await withTaskGroup(of: ExitCode.self) { group in
            for host in Self.hosts {
                let words = words(host, RawText(path))
                group.addTask { await Self.run(words) }
            }
            #expect(await server.wait(for: .stalled(at: "all", count: Self.hosts.count)))
            server.open("all")
            for await exit in group { #expect(exit == .success) }
        }
        #expect(names(in: folder.content(of: "hsts")) == Set(Self.hosts).union(["old.test"]))
        #expect(folder.mode(of: "hsts") & 0o777 == 0o640)
        // Neither locks nor unfinished files stay.
        #expect(folder.names == [Array("hsts".utf8)])
    }

    @Test func aLinkIsFollowedAndTheHostIsRequestedOverTLS() async throws {
        respond("max-age=1000; includeSubDomains")
        folder.write("", to: "hsts", mode: 0o600)
        #expect(symlink("hsts", folder.path + "/link") == 0)
        #expect(await Self.run(words("h1.test", RawText(folder.path + "/link"))) == .success)
        #expect(folder.isLink("link") && names(in: folder.content(of: "hsts")) == [".h1.test"])
        var words = words("h1.test", RawText(path))
        words[0] = RawText("http://h1.test:\(server.port)/")
        #expect(await Self.run(words) == .success)
    }

    @Test func removedHostsAreRemoved() async throws {
        respond("max-age=0", gate: "file")
        folder.write("h1.test \"unlimited\"\nother.test \"unlimited\"\n", to: "hsts")
        let words = words("h1.test", RawText(path))
        let ended = Task { await Self.run(words) }
        #expect(await server.wait(for: .stalled(at: "file")))
        folder.write("h1.test \"unlimited\"\nnew.test \"unlimited\"\n", to: "hsts")
        server.open("file")
        #expect(await ended.value == .success)
        #expect(names(in: folder.content(of: "hsts")) == ["new.test"])
    }

    @Test func aHostThatAnotherRunRenewedIsKept() {
        let former = HSTSLines(Data("a.test \"20200101 00:00:00\"\n".utf8))
        var lines = HSTSLines(Data(".a.test \"20400101 00:00:00\"\n".utf8))
        lines.merge(from: former, to: HSTSLines())
        #expect(names(in: lines.text) == [".a.test"])
    }

    @Test func theNameCanBeAnyBytes() async throws {
        respond("max-age=1000")
        let name = RawText([0x68, 0xFF])
        #expect(await Self.run(words("h1.test", folder.path(name))) == .success)
        #expect(await Self.run(words("h2.test", folder.path(name))) == .success)
        #expect(names(in: folder.content(of: name)) == ["h1.test", "h2.test"])
    }

    @Test func refusesFolderBeforeAnythingIsSent() async throws {
        let error = MemorySink()
        #expect(await Self.run(words("h1.test", RawText(folder.path)), error: error) == .input)
        #expect(String(decoding: error.content, as: UTF8.self).contains("\(folder.path) is not a regular file"))
        #expect(server.requests.isEmpty)
    }

    @Test func aStoppedRunHasNoInvalidInput() async {
        folder.write("a.example \"20990101 00:00:00\"\n", to: "hosts")
        let path = folder.path("hosts")
        let words = ["http://127.0.0.1:1/", "--json", "--hsts", path.shown]
        let run = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await swiftaf(words)
        }
        let ended = await run.value
        #expect(ended.exit == 130 && ended.code == "cancelled" && ended.error == "swiftaf: cancelled\n")
        let late = #expect(throws: Failure.self) { try Deadline.$current.withValue(.now) { try HSTSFile(path) } }
        #expect(late?.exit == .timeout && late?.message.hasPrefix("total timeout: ") == true)
    }
}
