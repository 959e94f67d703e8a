import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// `--checksum` and `--timestamps`.
@Suite struct CheckedFileTests {
    private let server: TestServer
    private let folder: TemporaryFolder
    /// Of the text "abc".
    private static let sum = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    init() throws {
        server = try TestServer()
        folder = try TemporaryFolder()
        server.route("/f", .text("abc"))
    }

    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (String(repeating: "a", count: 1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ])
    func hashesInPiecesOfAnySize(text: String, digest: String) {
        let bytes = Array(text.utf8)
        for size in [1, 63, 64, 65, 1000, 1_000_001] where bytes.count < 1000 || size > 900 {
            var hash = SHA256()
            for start in stride(from: 0, to: bytes.count, by: size) {
                bytes[start..<min(bytes.count, start + size)].withUnsafeBytes { hash.add($0) }
            }
            #expect(hash.digest().map { Format.hexadecimal($0).lowercased() }.joined() == digest)
        }
    }

    @Test func aFileWithTheChecksumIsKept() async {
        folder.write("old", to: "f", mode: 0o640)
        let run = await swiftaf("download", server.urlString("/f"), "-P", folder.path, "--checksum", Self.sum)
        #expect(run.exit == 0 && run.error.contains("wrote \(folder.path)/f, 3 B"))
        #expect(folder.content(of: "f") == "abc" && folder.mode(of: "f") & 0o777 == 0o640)
        #expect(folder.names.count == 1)
    }

    @Test func aFileWithAnotherChecksumIsNotKept() async {
        server.route("/f", .text("abd"))
        folder.write("old", to: "f")
        let words = ["-o", folder.path + "/f", "--checksum", Self.sum]
        let run = await swiftaf([server.urlString("/f")] + words + ["--json"])
        #expect(run.exit == 3 && run.code == "protocol" && run.error.contains("checksum"))
        #expect(folder.content(of: "f") == "old" && folder.names.count == 1)
    }

    @Test func anExistingFileIsKeptIfAsked() async {
        folder.write("old", to: "f")
        let words = ["-o", folder.path + "/f", "--checksum", Self.sum, "--no-clobber"]
        #expect(await swiftaf([server.urlString("/f")] + words).exit == 8)
        #expect(folder.content(of: "f") == "old" && folder.names.count == 1)
    }

    @Test func refusesWrongChecksumsAndWhatHasNoFile() async {
        let url = server.urlString("/f")
        for sum in ["", "md5:00", "sha256:", "sha256:" + String(repeating: "g", count: 64), Self.sum + "0"] {
            #expect(await swiftaf(url, "-o", folder.path + "/f", "--checksum", sum).exit == 1)
        }
        for words in [
            ["--checksum", Self.sum], ["--timestamps"], ["-o", "-", "--timestamps"],
            ["-o", "/dev/null", "--timestamps"],
        ] {
            #expect(await swiftaf([url] + words).exit == 1)
        }
        #expect(await swiftaf("download", url, "--timestamps", "--resume").exit == 1)
        #expect(server.requests.isEmpty)
    }

    @Test func aFileIsDownloadedOnlyIfTheServersIsNewer() async {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        server.route("/f") { request, connection in
            guard request["If-Modified-Since"] != date else { return try connection.respond(304) }
            try connection.respond(headers: ["Last-Modified": date], body: Data("abc".utf8))
        }
        let words = ["download", server.urlString("/f"), "-P", folder.path, "--timestamps"]
        #expect(await swiftaf(words).exit == 0)
        var status = stat()
        #expect(stat(folder.path + "/f", &status) == 0 && status.st_mtim.tv_sec == 784_111_777)
        let second = await swiftaf(words)
        #expect(second.exit == 0 && second.error.contains("/f is up to date"))
        #expect(server.requests.map { $0["If-Modified-Since"] } == [nil, date])
        #expect(folder.content(of: "f") == "abc" && folder.names.count == 1)
    }

    @Test(arguments: [0, -3600, 3600])
    func aServerThatIgnoresTheConditionIsComparedByItsTime(difference: Int) async {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        server.route("/f", .respond(200, headers: ["Last-Modified": date], body: Data("abc".utf8)))
        folder.write("own", to: "f")
        let time = timespec(tv_sec: 784_111_777 + difference, tv_nsec: 0)
        #expect(utimensat(AT_FDCWD, folder.path + "/f", [time, time], 0) == 0)
        let run = await swiftaf("download", server.urlString("/f"), "-P", folder.path, "--timestamps")
        let isNewer = difference < 0
        #expect(run.exit == 0 && run.error.contains(isNewer ? "wrote" : "/f is up to date"))
        #expect(folder.content(of: "f") == (isNewer ? "abc" : "own") && folder.names.count == 1)
    }
}
