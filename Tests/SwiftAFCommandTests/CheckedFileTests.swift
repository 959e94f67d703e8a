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
    /// The digest of the text "abc".
    private static let sum = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    init() throws {
        server = try TestServer()
        folder = try TemporaryFolder()
        server.route("/f", .text("abc"))
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
        let actual = "a52d159f262b2c6ddb724a61840befc36eb30c88877a4030b65cbe86298449c9"
        let expected = Self.sum.dropFirst("sha256:".count)
        #expect(run.error.hasPrefix("swiftaf: the file's sha-256 digest is \(actual), expected \(expected); "))
        #expect(folder.content(of: "f") == "old" && folder.names.count == 1)
    }

    @Test(arguments: [RawText("abc"), "abd"]) func checksADigestOfSHA512(content: RawText) async {
        let digits = """
            ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd\
            454d4423643ce80e2a9ac94fa54ca49f
            """
        server.route("/f", .text(content.shown))
        let sum = "sha512:" + digits.uppercased()
        let run = await swiftaf("download", server.urlString("/f"), "-P", folder.path, "--checksum", sum)
        if content == "abc" {
            #expect(run.exit == 0 && folder.content(of: "f") == "abc")
        } else {
            #expect(run.exit == 3 && folder.names.isEmpty)
            #expect(
                run.error.contains("sha-512 digest isn't the expected one: ")
                    && run.error.contains(", expected \(digits); "))
        }
    }

    @Test func saysWhichChecksumsAreAccepted() async {
        for sum in [
            "sha1:00", "sha512:" + String(repeating: "0", count: 64), "sha256:" + String(repeating: "0", count: 128),
        ] {
            let run = await swiftaf(server.urlString("/f"), "-o", folder.path + "/f", "--checksum", sum)
            #expect(
                run.exit == 1 && run.error.contains("invalid value '\(sum)' for --checksum: expected sha256: and 64"))
            #expect(run.error.contains("or sha512: and 128 hexadecimal digits"))
        }
    }

    @Test func otherFilesBesideItStayUntouched() async {
        folder.write("mine", to: "f.unverified")
        let run = await swiftaf("download", server.urlString("/f"), "-P", folder.path, "--checksum", Self.sum)
        #expect(run.exit == 0 && folder.content(of: "f") == "abc" && folder.content(of: "f.unverified") == "mine")
        #expect(folder.names.count == 2)
    }

    @Test func resumesAFileAndChecksAllOfIt() async {
        server.route("/f") { request, connection in
            guard request["Range"] != nil else {
                return try connection.run(
                    .truncated(headers: ["ETag": "\"1\""], body: Data("ab".utf8), promising: 3))
            }
            let headers: Script.Headers = ["ETag": "\"1\"", "Content-Range": "bytes 2-2/3"]
            try connection.respond(206, headers: headers, body: Data("c".utf8))
        }
        let words = ["download", server.urlString("/f"), "-P", folder.path]
        #expect(await swiftaf(words).exit == 3)
        #expect(folder.content(of: "f.part") == "ab")
        let run = await swiftaf(words + ["--resume", "--checksum", Self.sum])
        #expect(run.exit == 0 && server.requests.map { $0["Range"] } == [nil, "bytes=2-"])
        #expect(folder.content(of: "f") == "abc" && folder.names.count == 1)
    }

    @Test func anInterruptedRunKeepsWhatCanBeResumed() async {
        server.route("/f", .truncated(headers: ["ETag": "\"1\""], body: Data("ab".utf8), promising: 3))
        let words = ["download", server.urlString("/f"), "-P", folder.path, "--checksum", Self.sum, "--json"]
        let run = await swiftaf(words)
        #expect(run.code == "truncated" && run.json["error"]?["resumable"] == true)
        #expect(folder.content(of: "f.part") == "ab" && folder.content(of: "f") == nil)
    }

    /// `--timestamps` can't be combined with `--resume`.
    @Test func saysHowAnInterruptedRunWithTimestampsIsResumed() async {
        server.route("/f", .truncated(headers: ["ETag": "\"1\""], body: Data("ab".utf8), promising: 3))
        let run = await swiftaf("download", server.urlString("/f"), "-P", folder.path, "--timestamps")
        #expect(run.exit == 3 && run.error.contains("f.part; --resume in place of --timestamps continues the download"))
    }

    /// Whichever ends last, only the one with this checksum gives the file its content.
    @Test(arguments: ["get", "download"]) func runsAtTheSameTimeNeverLeaveAnotherFile(command: String) async {
        let other = Data(repeating: 0x78, count: 1 << 20)
        let good = Data(repeating: 0x61, count: 1_000_000)
        let sum = "sha256:cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        server.route("/good", .respond(200, body: good))
        server.route("/other", .respond(200, body: other))
        let path = folder.path + "/f"
        for _ in 0..<4 {
            async let right = swiftaf(command, server.urlString("/good"), "-o", path, "--checksum", sum)
            async let wrong = swiftaf(command, server.urlString("/other"), "-o", path, "--checksum", sum)
            // Two downloads can't have the same partial file, so one of them may fail with 8.
            let (first, second) = await (right.exit, wrong.exit)
            #expect(first == 0 || first == 8)
            #expect(second == 3 || second == 8)
            #expect((try? Data(contentsOf: URL(filePath: path))) == (first == 0 ? good : nil))
            #expect(folder.names.count == (first == 0 ? 1 : 0))
            unlink(path)
        }
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

    @Test func aTimeThatNoDateCanSayIsComparedByTheResponse() async {
        server.route("/f", .respond(200, headers: ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"]))
        folder.write("own", to: "f")
        // In the year 10000, or as late as the file system can say.
        let time = timespec(tv_sec: 253_402_300_800, tv_nsec: 0)
        #expect(utimensat(AT_FDCWD, folder.path + "/f", [time, time], 0) == 0)
        var status = stat()
        #expect(stat(folder.path + "/f", &status) == 0)
        let run = await swiftaf("download", server.urlString("/f"), "-P", folder.path, "--timestamps")
        #expect(run.exit == 0 && run.error.contains("/f is up to date"))
        #expect(server.requests.map { $0["If-Modified-Since"] == nil } == [status.st_mtim.tv_sec == time.tv_sec])
        #expect(folder.content(of: "f") == "own")
    }

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777 as Int?), ("Fri, 31 Dec 9999 23:59:59 GMT", nil), (nil, nil),
    ])
    func aTimeInTheFutureBecomesThatOfTheResponse(sent: String?, expected: Int?) async {
        let modified = "Fri, 31 Dec 9999 23:59:59 GMT"
        let headers: Script.Headers =
            if let sent { ["Date": sent, "Last-Modified": modified] } else { ["Last-Modified": modified] }
        server.route("/f", .respond(200, headers: headers, body: Data("abc".utf8)))
        let start = time(nil)
        #expect(await swiftaf("download", server.urlString("/f"), "-P", folder.path, "--timestamps").exit == 0)
        var status = stat()
        #expect(stat(folder.path + "/f", &status) == 0)
        #expect((expected.map { $0...$0 } ?? start...time(nil)).contains(status.st_mtim.tv_sec))
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

    /// A status that is a success but isn't saved leaves nothing that could be checked.
    @Test(arguments: [
        ["get", "--no-redirects"], ["get", "--accept-status", "302"], ["download", "--accept-status", "302"],
    ])
    func aFileThatWasNotWrittenFailsItsCheck(words: [String]) async {
        server.route("/f", .respond(302, headers: ["Location": "/g"], body: Data("abc".utf8)))
        server.route("/g", .respond(302, body: Data("abc".utf8)))
        let words =
            [words[0], server.urlString("/f"), "-o", folder.path + "/f", "--checksum", Self.sum]
            + words.dropFirst()
        let run = await swiftaf(words)
        #expect(run.exit == 2 && run.error.contains("--checksum") && !run.error.contains("--accept-status"))
        let json = await swiftaf(words + ["--json"])
        #expect(json.exit == 2 && json.code == "status" && json.json["ok"] == false && json.json["file"] == .null)
        #expect(folder.names.isEmpty)
    }

    @Test func anExistingFileIsKeptBeforeAnythingIsSent() async {
        folder.write("old", to: "f")
        for command in ["get", "post", "download"] {
            let words = [command, server.urlString("/f"), "-o", folder.path + "/f", "--no-clobber", "--json"]
            let run = await swiftaf(words)
            #expect(run.exit == 8 && run.code == "file" && run.error.contains("; --no-clobber keeps it"))
            let inFolder = await swiftaf(command, server.urlString("/f"), "-o", folder.path, "--json")
            #expect(inFolder.exit == 8 && inFolder.code == "file")
            #expect(inFolder.error.contains("; -o \(folder.path)/ or -P \(folder.path) writes into this folder"))
        }
        #expect(server.requests.isEmpty && folder.content(of: "f") == "old")
    }

    @Test func anExistingFileKeepsNoOtherFromBeingDownloaded() async {
        server.route("/g", .text("abc"))
        folder.write("old", to: "f")
        let run = await swiftaf(
            "download", server.urlString("/f"), server.urlString("/g"), "-P", folder.path, "--no-clobber")
        #expect(run.exit == 8 && server.requests.map(\.target) == ["/g"])
        #expect(folder.content(of: "f") == "old" && folder.content(of: "g") == "abc")
    }
}
