import AFTestServer
import FoundationEssentials
import Glibc
import Testing

@testable import SwiftAFCommand

private let mountsTmpfs = "mount -t tmpfs -o size=16k tmpfs /mnt 2>/dev/null"

/// Files that are mount points, as containers get single files: they can't be replaced.
@Suite(
    .enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"),
    .enabled("only a process that may mount can test it") {
        try await ProgramRun("/usr/bin/unshare", "-m", "/bin/sh", "-c", mountsTmpfs).wait() == 0
    })
struct MountedFileTests {
    private let folder: TemporaryFolder
    private let server: TestServer
    private let source: String
    private let target: String

    init() throws {
        folder = try TemporaryFolder()
        server = try TestServer()
        (source, target) = (folder.path + "/source", folder.path + "/target")
        folder.write("", to: "target")
    }

    /// Runs the program in a mount namespace of its own.
    private func run(_ mount: String, _ words: [String], then command: String = "true") async throws -> Int32 {
        let line = ([ProgramRun.path ?? ""] + words + ["-q"]).joined(separator: " ")
        return try await ProgramRun(
            "/usr/bin/unshare", "-m", "/bin/sh", "-c", "\(mount) && { \(line); code=$?; \(command); exit $code; }"
        ).wait()
    }

    @Test(arguments: [["-o"], ["download", "-o"], ["-c"], ["--har"]]) func areWrittenInPlace(words: [String])
        async throws
    {
        server.route("/", .respond(headers: ["ETag": "\"1\"", "Set-Cookie": "a=b"], body: Data("body".utf8)))
        let former = "former content, " + String(repeating: "longer than the next ", count: 1000)
        folder.write(former, to: "source")
        let command = words.dropLast() + [server.urlString(), words[words.count - 1], target]
        #expect(try await run("mount --bind \(source) \(target)", Array(command)) == 0)
        let content = try #require(folder.content(of: "source"))
        if words.last == "-o" { #expect(content == "body") } else { #expect(!content.contains("longer")) }
        #expect(folder.content(of: "target") == "")
        #expect(folder.names.count == 2)
    }

    /// The former content stays if the file system has no room for the next.
    @Test func areNotTouchedWithoutRoom() async throws {
        server.route("/", .text(String(repeating: "x", count: 40000)))
        let mount = "\(mountsTmpfs) && echo former > /mnt/file && mount --bind /mnt/file \(target)"
        let words = ["get", server.urlString(), "--json", "--har", target]
        #expect(try await run(mount, words, then: "cp \(target) \(source)") == 8)
        #expect(folder.content(of: "source") == "former\n")
        #expect(folder.names.count == 2)
    }
}
