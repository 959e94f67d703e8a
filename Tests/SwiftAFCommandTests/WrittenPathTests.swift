import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// The files of a run don't replace each other, nor a file that only looks like a partial one.
@Suite struct WrittenPathTests {
    private let server: TestServer
    private let folder: TemporaryFolder

    init() throws {
        server = try TestServer()
        folder = try TemporaryFolder()
        server.route("/", .respond(200, headers: ["Set-Cookie": "a=1"], body: Data("body".utf8)))
        for name in ["big", "big.part", "big.part.resume", "small"] {
            server.route("/\(name)", .respond(200, headers: ["ETag": "\"1\""], body: Data(name.utf8)))
        }
    }

    private func path(_ name: String) -> String { "\(folder.path)/\(name)" }

    // MARK: In one run

    @Test(arguments: [["big", "big.part"], ["big.part", "big"], ["small", "big.part.resume", "big"]])
    func aDownloadIsNotThePartialFileOfAnother(names: [String]) async {
        let run = await swiftaf(["download", "--json", "-P", folder.path] + names.map { server.urlString("/\($0)") })
        #expect(run.exit == 1 && run.code == "usage")
        #expect(run.error.contains("a download") && run.error.contains("the partial file of \(path("big"))"))
        #expect(run.error.contains(" would be the same file, \(path("big.part"))"))
        #expect(server.requests.isEmpty && folder.names.isEmpty)
    }

    @Test func downloadsWithOtherNamesAreAllowed() async {
        let urls = ["big", "small"].map { server.urlString("/\($0)") }
        #expect(await swiftaf(["download", "-P", folder.path] + urls).exit == 0)
        #expect(folder.content(of: "big") == "big" && folder.content(of: "small") == "small")
        #expect(symlink("big", path("link")) == 0)
        server.route("/link", .text("link"))
        let run = await swiftaf(["download", "-P", folder.path] + urls + [server.urlString("/link")])
        #expect(run.exit == 1 && run.error.contains("two downloads would be the same file, \(path("big"))"))
    }

    @Test(arguments: [
        ["-o", "f", "-c", "f"], ["-o", "f", "--har", "./f"], ["-c", "f", "--hsts", "f"],
        ["-o", "f", "--cookies", "link"],
        ["--cookies", "f", "-c", "./f"], ["--hsts", "new/./f", "--har", "new//f"], ["-o", "f.json", "--session", "f"],
        ["--session", "f", "-c", "./f.cookies"],
    ])
    func outputsThatAreTheSameFileAreRefused(words: [String]) async {
        #expect(symlink("f", path("link")) == 0)
        let words = words.map { $0.hasPrefix("-") ? $0 : path($0) }
        let run = await swiftaf([server.urlString(), "--json"] + words)
        #expect(run.exit == 1 && run.code == "usage")
        #expect(run.error.contains("\(words[0]) and \(words[2]) would be the same file, "), "\(run.error)")
        #expect(server.requests.isEmpty && folder.names == [Array("link".utf8)])
        #expect(await swiftaf([server.urlString(), "--as-curl"] + words).exit == 0)
    }

    @Test(arguments: ["--cookies", "--hsts"]) func noOutputIsTheLockOfAnother(option: String) async {
        let words = [server.urlString(), option, path("f"), "-o", path(".f.swiftaf-lock")]
        let run = await swiftaf(words)
        #expect(run.exit == 1 && run.error.contains("-o and the lock of \(option) would be the same file, "))
        #expect(server.requests.isEmpty && folder.names.isEmpty)
        // A jar that is only written isn't locked.
        let written = await swiftaf(server.urlString(), "-c", path("f"), "-o", path(".f.swiftaf-lock"))
        #expect(written.exit == 0 && folder.names.count == 2)
    }

    @Test(arguments: ["-c", "--har", "--hsts"])
    func outputsOfADownloadAreNoneOfItsFiles(option: String) async {
        for name in ["big", "big.part", "big.part.resume"] {
            let run = await swiftaf("download", server.urlString("/big"), "-P", folder.path, option, path(name))
            #expect(run.exit == 1 && run.error.contains("\(option) would be the same file, \(path(name))"))
        }
        #expect(server.requests.isEmpty && folder.names.isEmpty)
        // The response to another command has no partial file.
        let run = await swiftaf(server.urlString("/big"), "-o", path("big"), option, path("big.part"))
        #expect(run.exit == 0 && folder.content(of: "big") == "big")
    }

    @Test func devicesGetOneOutputAfterTheOther() async {
        let run = await swiftaf(server.urlString(), "-o", "/dev/null", "-c", "/dev/null", "--har", "/dev/null")
        #expect(run.exit == 0 && server.requests.count == 1)
    }

    /// The names aren't known before the responses.
    @Test(arguments: [["big", "big.part"], ["big", "big.part.resume"], ["big", "big"]])
    func whatResponsesNameIsNoOtherFileOfTheRun(names: [String]) async {
        for (index, name) in names.enumerated() {
            let headers: Script.Headers = ["ETag": "\"1\"", "Content-Disposition": "attachment; filename=\(name)"]
            server.route("/\(index)", .respond(200, headers: headers, body: Data(name.utf8)))
        }
        let run = await swiftaf("download", "-J", "-P", folder.path, server.urlString("/0"), server.urlString("/1"))
        #expect(run.exit == 8 && run.error.contains(" would be the same file, "))
        let written = names.filter { run.error.contains("wrote \(path($0)),") }
        #expect(Set(written).count == 1 && folder.names == Set(written.map { Array($0.utf8) }))
        for name in written { #expect(folder.content(of: RawText(name)) == name) }
    }

    @Test func aServerDoesNotNameAnotherOutput() async {
        let headers: Script.Headers = ["Content-Disposition": "attachment; filename=jar", "Set-Cookie": "a=1"]
        server.route("/", .respond(200, headers: headers, body: Data("body".utf8)))
        let run = await swiftaf("download", server.urlString(), "-J", "-P", folder.path, "-c", path("jar"), "--json")
        #expect(run.exit == 8 && run.code == "file" && run.json["status"] == 200)
        #expect(run.error.contains("-c and a download would be the same file, \(path("jar")); -o PATH names another"))
    }

    /// The name that its own first attempt took.
    @Test func anotherAttemptTakesTheSameName() async {
        let headers: Script.Headers = ["ETag": "\"1\"", "Content-Disposition": "attachment; filename=film"]
        server.route("/", times: 1, .truncated(headers: headers, body: Data("b".utf8), promising: 4))
        server.route("/", .respond(200, headers: headers, body: Data("body".utf8)))
        let run = await swiftaf("download", server.urlString(), "-J", "-P", folder.path, "--retry", "1")
        #expect(run.exit == 0 && folder.content(of: "film") == "body", "\(run.error)")
    }

    // MARK: From another run

    @Test func aFileInPlaceOfThePartialOneIsNamed() async {
        for option in ["-q", "--resume", "--json"] {
            folder.write("mine", to: "big.part")
            let run = await swiftaf("download", server.urlString("/big"), "-P", folder.path, option)
            #expect(run.exit == 0 && folder.content(of: "big") == "big")
            #expect(run.error.contains("swiftaf: \(path("big.part")) is in place of the partial file: "))
        }
        folder.write("mine", to: "big.part")
        #expect(await swiftaf("download", server.urlString("/big"), "-P", folder.path, "-s").error.isEmpty)
        unlink(path("big"))
        folder.write("mine", to: "big.part")
        let kept = await swiftaf("download", server.urlString("/big"), "-P", folder.path, "--no-clobber")
        #expect(kept.exit == 8 && folder.content(of: "big.part") == "mine" && !kept.error.contains("in place of"))
        #expect(kept.error.contains("\(path("big.part")) can't be written: File exists; --no-clobber keeps it"))
    }

    @Test func aFileInPlaceOfTheTokenIsNamed() async {
        server.route("/tagged", .respond(200, headers: ["ETag": "\"1\""], body: Data("tagged".utf8)))
        folder.write("mine", to: "tagged.part.resume")
        let kept = await swiftaf("download", server.urlString("/tagged"), "-P", folder.path, "--no-clobber")
        #expect(kept.exit == 8 && folder.content(of: "tagged.part.resume") == "mine")
        #expect(kept.error.contains("\(path("tagged.part.resume")) can't be written: File exists; --no-clobber keeps"))
        let run = await swiftaf("download", server.urlString("/tagged"), "-P", folder.path)
        #expect(run.exit == 0 && folder.content(of: "tagged") == "tagged")
        #expect(run.error.contains("swiftaf: \(path("tagged.part.resume")) is in place of what a download is resumed"))
        #expect(access(path("tagged.part.resume"), F_OK) != 0)
    }

    @Test func aNameOfAResponseReplacesNoFileInPlaceOfTheToken() async {
        let headers: Script.Headers = ["ETag": "\"1\"", "Content-Disposition": "attachment; filename=film"]
        server.route("/", .respond(200, headers: headers, body: Data("body".utf8)))
        folder.write("mine", to: "film.part.resume")
        let run = await swiftaf("download", server.urlString(), "-J", "-P", folder.path)
        #expect(run.exit == 8 && folder.content(of: "film.part.resume") == "mine")
        #expect(run.error.contains("cannot write \(path("film.part.resume")): File exists; -o PATH names another file"))
    }

    @Test func partialFilesOfDownloadsAreNotNamed() async {
        #expect(!(await swiftaf("download", server.urlString("/big"), "-P", folder.path).error.contains(".part")))
        let cut = Script.truncated(headers: ["ETag": "\"1\""], body: Data("bi".utf8), promising: 3)
        server.route("/big", times: 1, cut)
        #expect(await swiftaf("download", server.urlString("/big"), "-P", folder.path).exit == 3)
        #expect(folder.content(of: "big.part") == "bi")
        let again = await swiftaf("download", server.urlString("/big"), "-P", folder.path)
        #expect(again.exit == 0 && !again.error.contains(".part"))
        // What isn't written beside the file needs no name there.
        folder.write("mine", to: "big.part")
        let saved = await swiftaf(server.urlString("/big"), "-o", path("big"))
        #expect(saved.error.isEmpty && folder.content(of: "big.part") == "mine")
    }
}
