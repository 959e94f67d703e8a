import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Bodies that become files, and what stays of those that break off.
@Suite struct DownloadTests {
    private static let size = 200_000
    private static let half = 80_000
    private static let tag = "\"one\""

    private let server: TestServer
    private let file: TemporaryFile
    private var url: String { server.urlString("/film") }
    private var partPath: String { file.path + ".part" }

    init() throws {
        server = try TestServer()
        file = try TemporaryFile()
        serve(Self.content())
    }

    private static func content(_ version: Int = 1) -> Data {
        Data((0..<size).map { UInt8(truncatingIfNeeded: $0 / 251 &+ $0 &* version) })
    }

    /// Answers with the file, or with a range of it.
    private func serve(_ content: Data, tag: String = tag) {
        server.route("/film") { request, connection in
            guard let range = request["Range"], request["If-Range"] == tag,
                let start = Int(range.dropFirst("bytes=".count).dropLast())
            else { return try connection.respond(headers: ["ETag": tag], body: content) }
            guard start < content.count else {
                return try connection.respond(416, headers: ["Content-Range": "bytes */\(content.count)"])
            }
            let place = "bytes \(start)-\(content.count - 1)/\(content.count)"
            try connection.respond(206, headers: ["ETag": tag, "Content-Range": place], body: content[start...])
        }
    }

    /// A first half, and then nothing more.
    private func half(_ headers: Script.Headers = ["ETag": tag]) -> Script {
        .truncated(headers: headers, body: Self.content().prefix(Self.half), promising: Self.size)
    }

    private func breakOff(_ arguments: String..., headers: Script.Headers = ["ETag": tag]) async -> RunResult {
        server.route("/film", times: 1, half(headers))
        let run = await swiftaf(["download", url, "-o", file.path, "--json"] + arguments)
        #expect(run.exit == 3)
        #expect(run.code == "truncated")
        #expect(run.json["file"] == .null)
        #expect(file.content == nil)
        return run
    }

    private func resume(_ arguments: String...) async -> RunResult {
        await swiftaf(["download", url, "-o", file.path, "--resume", "--json"] + arguments)
    }

    @Test(arguments: ["get", "download"])
    func failuresReportTheBytesThatWereReceived(verb: String) async {
        // Also those that are gathered to be written together.
        for size in [1, 5000, 100_000, Self.half] {
            for headers: Script.Headers in [[:], ["ETag": Self.tag]] {
                server.route(
                    "/film", .truncated(headers: headers, body: Self.content().prefix(size), promising: Self.size))
                let run = await swiftaf(verb, url, "-o", file.path, "--json")
                #expect(run.exit == 3 && run.code == "truncated")
                #expect(run.json["bodyBytes"]?.integer == Int64(size) && run.json["body"] == .null, "\(size)")
            }
        }
        server.route("/film", .status(404))
        #expect(await swiftaf(verb, url, "-o", file.path, "--json").json["bodyBytes"] == 0)
    }

    @Test func failuresOfAResumedDownloadCountWhatWasKept() async {
        _ = await breakOff()
        let place = "bytes \(Self.half)-\(Self.size - 1)/\(Self.size)"
        server.route(
            "/film",
            .truncated(
                206, headers: ["ETag": Self.tag, "Content-Range": place], body: Data(count: 10_000),
                promising: Self.size - Self.half))
        let run = await resume()
        #expect(run.exit == 3 && run.json["bodyBytes"]?.integer == Int64(Self.half + 10_000))
    }

    // MARK: Whole

    @Test func downloadReplacesFile() async throws {
        try Data("before".utf8).write(to: URL(filePath: file.path))
        let run = await swiftaf("download", url, "X:1", "q==2", "-o", file.path, "--json")
        #expect(run.exit == 0)
        #expect(run.error.isEmpty)
        #expect(run.json["file"]?.string == file.path)
        #expect(run.json["status"] == 200)
        #expect(run.json["body"] == .null && run.json["error"] == .null)
        #expect(run.json["bodyBytes"]?.integer == Int64(Self.size))
        #expect(file.content == Self.content())
        #expect(file.names == ["file"])
        let request = try #require(server.requests.first)
        #expect(request.method == "GET")
        #expect(request.target == "/film?q=2")
        #expect(request["X"] == "1")
        #expect(request["Range"] == nil)
        #expect(await swiftaf("download", url, "-o", file.path).output.isEmpty)
    }

    @Test(arguments: [404, 500, 304, 401])
    func otherAnswersAreNotWritten(status: Int) async throws {
        server.route("/film", .text("no", status: status))
        let run = await swiftaf("download", url, "-o", file.path)
        #expect(run.exit == (status == 401 ? 7 : 2))
        #expect(run.output.isEmpty)
        #expect(file.names == [])
    }

    @Test func redirectsAsTheAnswer() async throws {
        server.route("/film", .redirect(to: "/elsewhere"))
        let run = await swiftaf("download", url, "-o", file.path, "--no-redirects", "--json")
        #expect(run.exit == 0)
        #expect(run.json["file"] == .null)
        #expect(file.names == [])
    }

    @Test func filesThatCannotBeWritten() async throws {
        let (missing, inTheWay) = (file.path + "/film", file.folder)
        for path in [missing, inTheWay] {
            let run = await swiftaf("download", url, "-o", path, "--json")
            #expect(run.exit == 8)
            #expect(run.code == "file")
            #expect(run.json["error"]?["resumable"] == false)
        }
        #expect(file.names == [])
    }

    @Test func removesDownloadBeyondSizeLimit() async throws {
        let run = await swiftaf("download", url, "-o", file.path, "--max-body", "1000", "--json")
        #expect(run.exit == 6)
        #expect(run.json["error"]?["resumable"] == false)
        #expect(file.names == [])
    }

    // MARK: In pieces

    @Test func theRestIsAppended() async throws {
        let broken = await breakOff()
        #expect(broken.json["error"]?["resumable"] == true)
        #expect(
            broken.error.hasSuffix(
                "swiftaf: 78.1 KiB of 195.3 KiB are kept in \(partPath); --resume continues the download\n"))
        #expect(Set(file.names) == ["file.part", "file.part.resume"])
        let run = await resume()
        #expect(run.exit == 0)
        #expect(run.json["status"] == 206)
        #expect(run.json["file"]?.string == file.path)
        #expect(run.json["received"]?.integer == Int64(Self.size - Self.half))
        #expect(run.json["bodyBytes"]?.integer == Int64(Self.size))
        #expect(server.requests.last?["Range"] == "bytes=\(Self.half)-")
        #expect(server.requests.last?["If-Range"] == Self.tag)
        #expect(file.content == Self.content())
        #expect(file.names == ["file"])
    }

    @Test func downloadsWholeFileWithoutResumeOption() async throws {
        _ = await breakOff()
        #expect(await swiftaf("download", url, "-o", file.path).exit == 0)
        #expect(server.requests.last?["Range"] == nil)
        #expect(file.content == Self.content())
        #expect(file.names == ["file"])
    }

    @Test func restartsWhenServerHasAnotherVersion() async throws {
        _ = await breakOff()
        serve(Self.content(2), tag: "\"two\"")
        let run = await resume()
        #expect(run.exit == 0)
        #expect(run.json["status"] == 200)
        #expect(server.requests.last?["If-Range"] == Self.tag)
        #expect(file.content == Self.content(2))
        #expect(file.names == ["file"])
    }

    @Test(arguments: [["Content-Type": "video/mp4"], ["ETag": "W/\"weak\""]] as [Script.Headers])
    func withoutAStrongValidatorNothingIsKept(headers: Script.Headers) async throws {
        let run = await breakOff(headers: headers)
        #expect(run.json["error"]?["resumable"] == false)
        #expect(!run.error.contains("--resume"))
        #expect(file.names == [])
    }

    @Test func foreignPartsAreNotTrusted() async throws {
        try Data("foreign".utf8).write(to: URL(filePath: partPath))
        #expect(await resume().exit == 0)
        #expect(server.requests.last?["Range"] == nil)
        #expect(file.content == Self.content())
        #expect(file.names == ["file"])
    }

    @Test(arguments: [["--resume"], [], ["--no-clobber"]])
    func whatIsInPlaceOfThePartIsNamedAndStays(words: [String]) async throws {
        let words = ["download", url, "-o", file.path] + words
        #expect(symlink("/nowhere/film", partPath) == 0)
        let link = await swiftaf(words)
        let advice = "in place of the partial file: remove \(partPath)\n"
        #expect(link.exit == 8 && link.error == "swiftaf: a symbolic link is \(advice)")
        #expect(unlink(partPath) == 0 && mkfifo(partPath, 0o600) == 0)
        let pipe = await swiftaf(words)
        #expect(pipe.exit == 8 && pipe.error == "swiftaf: a named pipe is \(advice)")
        #expect(unlink(partPath) == 0 && mkdir(partPath, 0o700) == 0)
        let folder = await swiftaf(words)
        #expect(folder.exit == 8 && folder.error == "swiftaf: a folder is \(advice)")
        #expect(file.names == ["file.part"] && rmdir(partPath) == 0)
        #expect(await swiftaf(words).exit == 0 && file.content == Self.content())
    }

    @Test func aFolderInPlaceOfTheTokenIsNamed() async throws {
        #expect(mkdir(partPath + ".resume", 0o700) == 0)
        let run = await swiftaf("download", url, "-o", file.path)
        #expect(run.exit == 8 && run.error == "swiftaf: cannot write \(partPath).resume: Is a directory\n")
        #expect(rmdir(partPath + ".resume") == 0)
    }

    @Test func partsOfOtherURLsAreNotTrusted() async throws {
        _ = await breakOff()
        server.route("/other", .text("other"))
        let run = await swiftaf("download", server.urlString("/other"), "-o", file.path, "--resume")
        #expect(run.exit == 0)
        #expect(server.requests.last?["Range"] == nil)
        #expect(file.content == Data("other".utf8))
        #expect(file.names == ["file"])
    }

    /// The end of the body did not come, but nothing is missing.
    @Test func finishesPartThatIsAlreadyComplete() async throws {
        server.route("/film", times: 1, [.chunkedHead(headers: ["ETag": Self.tag]), .chunk(Self.content()), .close])
        let broken = await swiftaf("download", url, "-o", file.path, "--json")
        #expect(broken.exit == 3)
        #expect(broken.json["error"]?["resumable"] == true)
        let run = await resume()
        #expect(run.exit == 0)
        #expect(run.json["ok"] == true)
        #expect(run.json["status"] == 416)
        #expect(run.json["bodyBytes"]?.integer == Int64(Self.size))
        #expect(file.content == Self.content())
        #expect(file.names == ["file"])
    }

    @Test func refusalsKeepThePart() async throws {
        _ = await breakOff()
        server.route("/film", times: 1, .text("later", status: 503))
        let run = await resume()
        #expect(run.exit == 2)
        #expect(run.json["error"]?["resumable"] == true)
        #expect(Set(file.names) == ["file.part", "file.part.resume"])
        server.route("/film", times: 1, .text("gone", status: 404))
        let gone = await resume()
        #expect(gone.exit == 2)
        #expect(gone.json["error"]?["resumable"] == false)
        #expect(file.names == [])
    }

    @Test(arguments: [404, 410])
    func removalOfThePartIsSaid(status: Int) async throws {
        _ = await breakOff()
        let part = try #require(file.names.first { $0.hasSuffix(".part") })
        server.route("/film", times: 2, .text("gone", status: status))
        let gone = await resume()
        let reason = "\(part) was removed, since the server no longer has the file"
        #expect(gone.error.contains(reason))
        #expect(gone.json["error"]?["message"]?.string?.hasSuffix(reason) == true)
        #expect(!(await resume().error.contains("removed")))
    }

    @Test func serversThatAreDownKeepThePart() async throws {
        _ = await breakOff()
        server.stop()
        let run = await resume()
        #expect(run.exit == 3)
        #expect(run.code == "connect")
        #expect(run.json["error"]?["resumable"] == true)
        #expect(Set(file.names) == ["file.part", "file.part.resume"])
    }

    @Test func piecesMayBreakOffAgain() async throws {
        _ = await breakOff()
        let middle = 120_000
        let head = "bytes \(Self.half)-\(Self.size - 1)/\(Self.size)"
        server.route(
            "/film", times: 1,
            .truncated(
                206, headers: ["ETag": Self.tag, "Content-Range": head], body: Self.content()[Self.half..<middle],
                promising: Self.size - Self.half))
        let run = await resume()
        #expect(run.exit == 3)
        #expect(run.json["error"]?["resumable"] == true)
        #expect(await resume().exit == 0)
        #expect(server.requests.last?["Range"] == "bytes=\(middle)-")
        #expect(file.content == Self.content())
        #expect(file.names == ["file"])
    }

    // MARK: Wrong

    @Test(arguments: [
        ["a=b"], ["a:=1"], ["a@/dev/null"], ["a=@/dev/null"], ["-d", "x"], ["--form"], ["--multipart"],
        ["--content-disposition", "-o", "x"], ["--content-disposition", "--resume"],
    ])
    func refusesOptionsThatConflictWithDownload(arguments: [String]) async throws {
        let run = await swiftaf(["download", url, "--json"] + arguments)
        #expect(run.exit == 1)
        #expect(run.code == "usage")
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: ["--resume", "--content-disposition"])
    func optionsOfOtherCommands(option: String) async throws {
        #expect(await swiftaf("get", url, option, "--json").code == "usage")
        #expect(server.requests.isEmpty)
    }

    @Test func inputsThatSendNothing() async throws {
        for arguments in [[server.urlString("/")], [server.urlString("/a/.profile")], [server.urlString("/a%2Fb")]] {
            let run = await swiftaf(["download", "--json"] + arguments)
            #expect(run.exit == 1)
            #expect(run.code == "usage")
        }
        #expect(await swiftaf("download", "/nowhere/film", "--json").code == "invalidInput")
        #expect(await swiftaf("download", url, "Range:bytes=1-", "-o", file.path, "--json").code == "invalidInput")
        #expect(file.names == [])
        #expect(server.requests.isEmpty)
    }
}

/// Files in the current folder, which only a process can choose, and Ctrl-C.
@Suite(.enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
struct DownloadProgramTests {
    private let path = ProgramRun.path ?? ""
    private let server: TestServer
    private let file: TemporaryFile

    init() throws {
        server = try TestServer()
        file = try TemporaryFile()
    }

    private func download(_ target: String, _ option: String...) async throws -> (exit: Int32, json: JSONValue) {
        let option = option.first ?? "-q"
        let run = try ProgramRun(path, "download", server.urlString(target), "--json", option, folder: file.folder)
        let report = try await JSONValue(parsing: run.readAll())
        return (await run.wait(), report)
    }

    private func size(of name: String) -> Int {
        var status = stat()
        return stat("\(file.folder)/\(name)", &status) == 0 ? Int(status.st_size) : 0
    }

    private func content(_ name: String) -> String? {
        try? String(contentsOfFile: "\(file.folder)/\(name)", encoding: .utf8)
    }

    @Test func theURLNamesTheFile() async throws {
        server.route("/a/b%20c.txt", .redirect(to: "/end"))
        let headers: Script.Headers = ["Content-Disposition": "attachment; filename=evil"]
        server.route("/end", .respond(headers: headers, body: Data("end".utf8)))
        let (exit, json) = try await download("/a/b%20c.txt?d=e")
        #expect(exit == 0)
        #expect(json["file"] == "b c.txt")
        #expect(file.names == ["b c.txt"])
        #expect(content("b c.txt") == "end")
    }

    @Test func theAnswerNamesTheFile() async throws {
        let headers: Script.Headers = ["Content-Disposition": "attachment; filename=\"../../named.txt\""]
        server.route("/", .respond(headers: headers, body: Data("1".utf8)))
        let (exit, json) = try await download("/", "--content-disposition")
        #expect(exit == 0)
        #expect(json["file"] == "named.txt")
        #expect(content("named.txt") == "1")
        // The server must not choose what is overwritten.
        server.route("/", .respond(headers: headers, body: Data("2".utf8)))
        let again = try await download("/", "--content-disposition")
        #expect(again.exit == 8)
        #expect(content("named.txt") == "1")
        #expect(file.names == ["named.txt"])
    }

    @Test func theURLNamesTheFileOfAnAnswerThatDoesNot() async throws {
        server.route("/plain.txt", .text("plain"))
        server.route("/", .text("nameless"))
        let (exit, json) = try await download("/plain.txt", "--content-disposition")
        #expect(exit == 0)
        #expect(json["file"] == "plain.txt")
        let nameless = try await download("/", "--content-disposition")
        #expect(nameless.exit == 1)
        #expect(nameless.json["error"]?["code"] == "usage")
        #expect(file.names == ["plain.txt"])
    }

    @Test func interruptsLeaveWhatHasCome() async throws {
        let body = Data(repeating: 0x61, count: 100_000)
        let head: Script.Headers = ["ETag": "\"one\"", "Content-Length": "200000"]
        server.route("/film", [.respond(200, headers: head, body: body), .stall(at: "never")])
        let run = try ProgramRun(
            path, "download", server.urlString("/film"), "--idle-timeout", "0", "--json", folder: file.folder)
        #expect(await server.wait(for: .stalled(at: "never")))
        // What was sent is kept only once it was written.
        while size(of: "film.part") == 0, !run.hasEnded { await Task.yield() }
        run.interrupt()
        let report = try await JSONValue(parsing: run.readAll())
        #expect(await run.wait() == 130)
        #expect(report["error"]?["code"] == "cancelled")
        #expect(report["error"]?["resumable"] == true)
        #expect(Set(file.names) == ["film.part", "film.part.resume"])
        let came = size(of: "film.part")
        #expect(report["bodyBytes"]?.integer == Int64(came))
        let range: Script.Headers = ["ETag": "\"one\"", "Content-Range": "bytes \(came)-199999/200000"]
        server.route("/film", .respond(206, headers: range, body: Data(repeating: 0x62, count: 200_000 - came)))
        let (exit, _) = try await download("/film", "--resume")
        #expect(exit == 0)
        #expect(server.requests.last?["Range"] == "bytes=\(came)-")
        #expect(file.names == ["film"])
        #expect(size(of: "film") == 200_000)
    }
}
