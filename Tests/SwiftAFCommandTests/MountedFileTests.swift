import AFTestServer
import FoundationEssentials
import Glibc
import Testing

@testable import SwiftAFCommand

/// Files that are mount points, as containers get single files: they can't be replaced.
@Suite(.enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
struct MountedFileTests {
    @Test(arguments: [["-o"], ["download", "-o"], ["-c"], ["--har"]]) func areWrittenInPlace(words: [String])
        async throws
    {
        let folder = try TemporaryFolder()
        let server = try TestServer()
        server.route("/", .respond(headers: ["ETag": "\"1\"", "Set-Cookie": "a=b"], body: Data("body".utf8)))
        folder.write("former content, longer than the next", to: "source")
        folder.write("", to: "target")
        let program = ProgramRun.path ?? ""
        let (source, target) = (folder.path + "/source", folder.path + "/target")
        // Only who may mount can test it.
        let command = (words.dropLast() + [server.urlString(), words[words.count - 1], target]).joined(separator: " ")
        let mount = "mount --bind \(source) \(target)"
        guard try await ProgramRun("/usr/bin/unshare", "-m", "/bin/sh", "-c", "\(mount) 2>/dev/null").wait() == 0 else {
            return
        }
        let run = try ProgramRun("/usr/bin/unshare", "-m", "/bin/sh", "-c", "\(mount) && exec \(program) \(command) -q")
        #expect(await run.wait() == 0)
        let content = try #require(folder.content(of: "source"))
        if words.last == "-o" { #expect(content == "body") } else { #expect(!content.contains("former")) }
        #expect(folder.content(of: "target") == "")
        #expect(folder.names.count == 2)
    }
}
