import AFTestServer
import FoundationEssentials
import Glibc
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct DownloadTests {
    private let server: TestServer
    private let manager: HTTPSessionManager
    private let folder: TestFolder

    init() throws {
        server = try TestServer()
        server.route("/file", .text("new"))
        server.route("/gone", .text("not here", status: 404))
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        folder = try TestFolder()
    }

    // MARK: The place

    @Test(arguments: [true, false])
    func replacesOrKeepsExistingFile(replaces: Bool) async throws {
        try folder.write("old", to: "a")
        if replaces {
            try await manager.download(HTTPRequest("file"), to: folder.file("a"))
        } else {
            let error = try await sessionError {
                try await manager.download(HTTPRequest("file"), to: folder.file("a"), options: .keepsExistingFile)
            }
            #expect(error.code == .file)
            #expect(error.systemError == EEXIST)
        }
        #expect(try folder.read("a") == Data((replaces ? "new" : "old").utf8))
        #expect(try folder.names == ["a"])
    }

    @Test(arguments: [true, false])
    func unacceptableResponseLeavesExistingFile(isNamed: Bool) async throws {
        try folder.write("old", to: "a")
        let path = folder.file("a")
        let destination = isNamed ? DownloadDestination.named { _ in path } : .path(path)
        manager.validation.acceptableContentTypes = ["application/pdf"]
        let type = try await sessionError { try await manager.download("file", to: destination) }
        #expect(type.code == .contentType)
        #expect(type.response?.status == 200)
        manager.validation = ResponseValidation(acceptableStatusCodes: [201])
        let status = try await sessionError { try await manager.download("file", to: destination) }
        #expect(status.code == .status)
        #expect(status.message.contains("200"))
        #expect(try folder.read("a") == Data("old".utf8))
        #expect(try folder.names == ["a"])
        manager.validation = ResponseValidation(acceptableStatusCodes: [200], acceptableContentTypes: ["text/plain"])
        try await manager.download("file", to: destination)
        #expect(try folder.read("a") == Data("new".utf8))
    }

    @Test(arguments: [true, false])
    func failsForAcceptableStatusThatIsNotSaved(exists: Bool) async throws {
        if exists { try folder.write("old", to: "a") }
        manager.validation = .any
        let error = try await sessionError { try await manager.download("gone", to: folder.file("a")) }
        #expect(error.code == .status)
        #expect(error.body == Data("not here".utf8))
        #expect(try folder.names == (exists ? ["a"] : []))
    }

    @Test func refusesEmptyFolderPath() async throws {
        let error = try await sessionError { try await manager.download("file", to: .folder("")) }
        #expect(error.code == .invalidInput)
        #expect(server.requests.isEmpty)
    }

    @Test func savesIntoFolderOfFileURL() async throws {
        let url = try #require(URL(string: "https://host/folder"))
        let error = try await sessionError { try await manager.download("file", to: .folder(url)) }
        #expect(error.code == .invalidInput && server.requests.isEmpty)
        let saved = try await manager.download("file", to: .folder(URL(filePath: folder.path)))
        #expect(saved.filePath == folder.file("file"))
    }

    @Test func missingDestinationNamesWhatToPass() async throws {
        let error = try await sessionError { try await manager.download("file") }
        #expect(error.code == .invalidInput && error.message.contains("pass one as to:"))
    }

    @Test func createsMissingFoldersOnRequest() async throws {
        let path = folder.file("a/b/c")
        let error = try await sessionError { try await manager.download(HTTPRequest("file"), to: path) }
        #expect(error.code == .file)
        #expect(error.systemError == ENOENT)
        #expect(try folder.names == [])
        try await manager.download(HTTPRequest("file"), to: path, options: .createsFolders)
        #expect(try folder.read("a/b/c") == Data("new".utf8))
    }

    @Test(arguments: [[], .keepsPartialFile] as [DownloadOptions])
    func failsForUnwritablePath(options: DownloadOptions) async throws {
        try folder.write("file", to: "a")
        for path in [folder.file("a/b"), "/proc/swiftaf"] {
            let error = try await sessionError {
                try await manager.download(HTTPRequest("file"), to: path, options: options)
            }
            #expect(error.code == .file)
            #expect(error.message.contains(path))
        }
        #expect(try folder.names == ["a"])
    }

    @Test(arguments: ["", "a\0b", "/tmp/"])
    func refusesInvalidPaths(path: String) async throws {
        #expect(
            try await sessionError { try await manager.download(HTTPRequest("file"), to: path) }.code == .invalidInput)
    }

    @Test func syncedDownloadWritesFile() async throws {
        try await manager.download(HTTPRequest("file"), to: folder.file("a"), options: .syncsToDisk)
        #expect(try folder.read("a") == Data("new".utf8))
    }

    @Test(arguments: [[], .resumes] as [DownloadOptions])
    func refusedStatusReturnsBodyAndLeavesNoFile(options: DownloadOptions) async throws {
        let error = try await sessionError {
            try await manager.download(HTTPRequest("gone"), to: folder.file("a"), options: options)
        }
        #expect(error.status == 404)
        #expect(error.body == Data("not here".utf8))
        #expect(error.resumeToken == nil)
        #expect(try folder.names == [])
    }

    // MARK: Named when the head is there

    @Test func asksDestinationOnceWithFinalResponse() async throws {
        server.route("/from", .redirect(to: "/to/here.txt"))
        server.route("/to/here.txt", .respond(headers: ["X-A": "1"], body: Data("new".utf8)))
        let asked = Recorder<HTTPResponse>()
        let answer = try await manager.download(
            "from",
            to: .named { [folder] response in
                asked.record(response)
                return folder.file(response.suggestedFileName)
            })
        #expect(answer.filePath == folder.file("here.txt"))
        #expect(answer.fileSize == 3)
        #expect(try folder.read("here.txt") == Data("new".utf8))
        #expect(asked.values.map(\.url) == [server.urlString("/to/here.txt")])
        #expect(asked.values.map(\.status) == [200])
        #expect(asked.values[0].headers["X-A"] == "1")
    }

    @Test func destinationSeesURLOfReplacedRedirect() async throws {
        server.route("/from", .redirect(to: "/to"))
        server.route("/edited.bin", .text("new"))
        manager.redirectHandler = { [server] proposal in
            var request = proposal.request
            request.url = server.urlString("/edited.bin")
            return .replace(request)
        }
        try await manager.download("from", to: .named { [folder] in folder.file($0.suggestedFileName) })
        #expect(try folder.names == ["edited.bin"])
    }

    @Test func destinationIsNotAskedForErrorStatus() async throws {
        let asked = Recorder<Int>()
        let error = try await sessionError {
            try await manager.download(
                "gone",
                to: .named { [folder] response in
                    asked.record(response.status)
                    return folder.file("a")
                })
        }
        #expect(error.status == 404)
        #expect(error.body == Data("not here".utf8))
        #expect(asked.values == [])
        #expect(try folder.names == [])
    }

    @Test(arguments: ["", "/tmp/a\0b", "/tmp/"])
    func refusesInvalidPathFromDestination(path: String) async throws {
        let error = try await sessionError { try await manager.download("file", to: .named { _ in path }) }
        #expect(error.code == .invalidInput)
        let later = try await manager.response(.get, "file")
        #expect(try later.text() == "new")
    }

    @Test func refusesHEADBeforeItIsSent() async throws {
        try folder.write("old", to: "a")
        let error = try await sessionError {
            try await manager.download(HTTPRequest(.head, "file"), to: folder.file("a"))
        }
        #expect(error.code == .invalidInput)
        #expect(error.message.contains("HEAD"))
        #expect(server.requests.isEmpty)
        #expect(try folder.read("a") == Data("old".utf8))
    }

    @Test func managerDestinationAppliesToDownloadsWithoutOne() async throws {
        #expect(try await sessionError { try await manager.download(HTTPRequest("file")) }.code == .invalidInput)
        #expect(server.requests.isEmpty)
        manager.downloadDestination = .named { [folder] in folder.file("manager-" + $0.suggestedFileName) }
        try await manager.download(HTTPRequest("file"))
        try await manager.download(HTTPRequest("file"), to: folder.file("own"))
        try await manager.download("file", to: .named { [folder] _ in folder.file("closure") })
        #expect(try folder.names == ["closure", "manager-file", "own"])
    }

    // MARK: At once

    @Test func concurrentDownloadsToOnePathLeaveWholeFile() async throws {
        server.route("/a", .respond(repeating: Data("a".utf8), count: 300_000))
        server.route("/b", .respond(repeating: Data("b".utf8), count: 300_000))
        async let first = manager.download(HTTPRequest("a"), to: folder.file("x"))
        async let second = manager.download(HTTPRequest("b"), to: folder.file("x"))
        _ = try await (first, second)
        let data = try folder.read("x")
        #expect(data.count == 300_000)
        #expect(Set(data).count == 1)
        #expect(try folder.names == ["x"])
    }

    @Test func partialFileHasOnlyOneWriter() async throws {
        let options: DownloadOptions = .keepsPartialFile
        server.route(
            "/slow",
            [
                .send("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 4\r\n\r\nab"), .stall(at: "gate"), .send("cd"),
            ])
        let opened = Recorder<Int>()
        let first = Task { [manager, folder] in
            try await manager.download(
                "slow",
                to: .named { response in
                    opened.record(response.status)
                    return folder.file("x")
                }, options: options)
        }
        await opened.wait()
        let error = try await sessionError {
            try await manager.download(HTTPRequest("file"), to: folder.file("x"), options: options)
        }
        #expect(error.code == .file)
        #expect(error.systemError == EBUSY)
        server.open("gate")
        _ = try await first.value
        #expect(try folder.read("x") == Data("abcd".utf8))
        #expect(try folder.names == ["x"])
    }
}
