import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Which file a path stands for, and what becomes of it.
@Suite struct ReplacedFileTests {
    private let server: TestServer
    private let folder: TemporaryFolder

    init() throws {
        server = try TestServer()
        folder = try TemporaryFolder()
        server.route("/", .respond(headers: ["Set-Cookie": "a=b"], body: Data("body".utf8)))
    }

    // MARK: Links

    @Test(arguments: ["--cookies", "-c", "--hsts", "--har", "-o"])
    func linksToMissingFilesAreFollowed(option: String) async throws {
        #expect(mkdir(folder.path + "/d", 0o700) == 0)
        #expect(symlink("d/second", folder.path + "/first") == 0)
        #expect(symlink("../missing", folder.path + "/d/second") == 0)
        #expect(await swiftaf(server.urlString(), option, folder.path + "/first").exit == 0)
        #expect(folder.isLink("first") && folder.isLink("d/second"))
        #expect(folder.content(of: "missing")?.isEmpty == false)
        #expect(folder.names == [Array("d".utf8), Array("first".utf8), Array("missing".utf8)])
    }

    @Test func linksInACircleAreKept() async {
        #expect(symlink("b", folder.path + "/a") == 0 && symlink("a", folder.path + "/b") == 0)
        let run = await swiftaf(server.urlString(), "-c", folder.path + "/a")
        #expect(run.exit == 8 && run.error.contains("Too many levels of symbolic links"))
        #expect(folder.isLink("a") && folder.isLink("b"))
    }

    // MARK: Owners

    /// Only a privileged process can set the owner; for any other, the test finds no difference.
    @Test(arguments: ["--cookies", "-c", "--hsts", "--har", "-o"])
    func replacedFilesKeepTheirOwner(option: String) async throws {
        let path = folder.path + "/file"
        folder.write("# Netscape HTTP Cookie File\n", to: "file")
        let owner: uid_t = geteuid() == 0 ? 65534 : geteuid()
        let group: gid_t = geteuid() == 0 ? 65534 : getegid()
        #expect(chown(path, owner, group) == 0 && chmod(path, 0o640) == 0)
        #expect(await swiftaf(server.urlString(), option, path).exit == 0)
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_uid == owner && status.st_gid == group && status.st_mode & 0o777 == 0o640)
    }

    // MARK: Failures

    @Test(arguments: [true, false])
    func aFileThatCannotBeClosedReplacesNone(exists: Bool) throws {
        if exists { folder.write("former", to: "file") }
        var file = try NewFile(folder.path("file"))
        #expect(write(file.descriptor, "new", 3) == 3)
        file.closeFile = { descriptor in
            close(descriptor)
            errno = EDQUOT
            return -1
        }
        let error = #expect(throws: SessionError.self) { try file.finish() }
        #expect(error?.code == .file && error?.systemError == EDQUOT)
        #expect(folder.content(of: "file") == (exists ? "former" : nil))
        #expect(folder.names == (exists ? [Array("file".utf8)] : []))
    }

    /// After a power failure, a file that got its name before its content was written may be empty.
    @Test(arguments: [true, false])
    func aFileThatCannotBeSyncedReplacesNone(exists: Bool) throws {
        if exists { folder.write("former", to: "file") }
        var file = try NewFile(folder.path("file"), syncs: true)
        #expect(write(file.descriptor, "new", 3) == 3)
        file.syncFile = { _ in
            errno = EIO
            return -1
        }
        let error = #expect(throws: SessionError.self) { try file.finish() }
        #expect(error?.code == .file && error?.systemError == EIO)
        #expect(folder.content(of: "file") == (exists ? "former" : nil))
        #expect(folder.names == (exists ? [Array("file".utf8)] : []))
    }

    /// Cookies and credentials are in it.
    @Test(arguments: [true, false]) func nothingIsLeftOfAFileThatIsNotComplete(exists: Bool) throws {
        if exists { folder.write("former", to: "file") }
        let file = try NewFile(folder.path("file"))
        #expect(write(file.descriptor, "new", 3) == 3)
        // As if the process were killed now.
        #expect(folder.names == (exists ? [Array("file".utf8)] : []))
        try file.finish()
        #expect(folder.content(of: "file") == "new" && folder.names == [Array("file".utf8)])
    }

    @Test func aFileThatExistsIsKept() throws {
        folder.write("former", to: "file")
        let file = try NewFile(folder.path("file"))
        let error = #expect(throws: SessionError.self) { try file.finish(keepsExisting: true) }
        #expect(error?.systemError == EEXIST)
        #expect(folder.content(of: "file") == "former" && folder.names == [Array("file".utf8)])
    }

    // MARK: Statuses other than 2xx

    @Test(arguments: [(404, ["--accept-status", "404"]), (302, ["--no-redirects"])])
    func acceptedStatusesAreSaved(status: Int, words: [String]) async throws {
        server.route("/page", .respond(status, headers: ["Location": "/"], body: Data("page".utf8)))
        folder.write("former", to: "file", mode: 0o640)
        let base = [server.urlString("/page"), "-o", folder.path + "/file"]
        let run = await swiftaf(base + words + ["--json"])
        #expect(run.exit == 0 && run.json["file"]?.string == folder.path + "/file" && run.json["bodyBytes"] == 4)
        #expect(folder.content(of: "file") == "page" && folder.mode(of: "file") & 0o777 == 0o640)
        #expect(await swiftaf(base + words + ["--no-clobber"]).exit == 8)
        #expect(await swiftaf([server.urlString("/page"), "-P", folder.path + "/new"] + words).exit == 0)
        #expect(folder.content(of: "new/page") == "page")
        // Without these options, as ever.
        server.route("/page", .respond(404, body: Data("other".utf8)))
        #expect(await swiftaf(base).exit == 2)
        #expect(folder.content(of: "file") == "page")
        #expect(folder.names == [Array("file".utf8), Array("new".utf8)])
    }

    @Test func largeBodiesOfAcceptedStatusesAreSavedAsAWhole() async {
        let block = Data(repeating: 0x61, count: 1 << 20)
        server.route("/", .respond(404, repeating: block, count: 3))
        let run = await swiftaf(server.urlString(), "-o", folder.path + "/file", "--accept-status", "404", "--json")
        #expect(run.exit == 0 && run.json["bodyBytes"]?.integer == 3 << 20)
        var status = stat()
        #expect(stat(folder.path + "/file", &status) == 0 && status.st_size == 3 << 20)
    }

    @Test func aCutBodyOfAnAcceptedStatusIsNotSaved() async {
        server.route("/", .truncated(404, body: Data("abc".utf8), promising: 9))
        let run = await swiftaf(server.urlString(), "-o", folder.path + "/file", "--accept-status", "404")
        #expect(run.exit == 3 && folder.names.isEmpty)
    }

    @Test func downloadsSayThatNothingWasWritten() async {
        server.route("/page", .respond(404, body: Data("page".utf8)))
        let words = ["download", server.urlString("/page"), "-P", folder.path, "--accept-status", "404"]
        let run = await swiftaf(words)
        #expect(run.exit == 0 && run.error == "swiftaf: nothing was written: only a status of 2xx is saved\n")
        #expect(await swiftaf(words + ["-q"]).error.isEmpty && folder.names.isEmpty)
    }

    @Test func aFileIsReportedOnlyIfItExists() async throws {
        server.route("/", .status(304))
        let path = folder.path + "/file"
        let words = [server.urlString(), "-o", path]
        let accepted = await swiftaf(words + ["--accept-status", "304", "--json"])
        #expect(accepted.exit == 0 && accepted.json["file"] == .null)
        let plain = await swiftaf(words + ["--accept-status", "304"])
        #expect(plain.exit == 0 && plain.error == "swiftaf: nothing was written: a 304 has no body\n")
        let conditional = words + ["--timestamps", "If-None-Match:\"1\"", "--json"]
        #expect(await swiftaf(conditional).json["file"] == .null && folder.names.isEmpty)
        folder.write("former", to: "file")
        #expect(await swiftaf(conditional).json["file"]?.string == path)
        #expect(folder.content(of: "file") == "former")
    }

    // MARK: Standard output

    @Test func cookiesGoToStandardOutput() async {
        let run = await swiftaf(server.urlString(), "-c", "-")
        #expect(run.exit == 0 && run.text.hasPrefix("body# Netscape HTTP Cookie File\n"))
        #expect(run.text.hasSuffix("\t0\ta\tb\n"))
        #expect(access("-", F_OK) != 0)
    }

    @Test(arguments: [["-c", "-", "--json"], ["--cookies", "-"], ["--hsts", "-"], ["--har", "-"]])
    func filesThatAreReadOrReportedAreNotStandardOutput(words: [String]) async {
        #expect(await swiftaf([server.urlString()] + words).exit == 1)
        #expect(server.requests.isEmpty)
    }
}
