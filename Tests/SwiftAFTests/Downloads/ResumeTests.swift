import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct ResumeTests {
    private static let keeping: DownloadOptions = .keepsPartialFile
    private static let retrying: RetryPolicy = {
        var policy = RetryPolicy()
        policy.baseDelay = .zero
        return policy
    }()

    private let ranges: RangeServer
    private let folder: TestFolder
    private var path: String { folder.file("film") }

    init() throws {
        ranges = try RangeServer()
        folder = try TestFolder()
    }

    /// A token after half of the file.
    private func brokenOff() async throws -> ResumeToken {
        ranges.breakOff()
        let error = try await sessionError {
            try await ranges.manager.download(HTTPRequest("file"), to: path, options: Self.keeping)
        }
        #expect(error.code == .truncated)
        return try #require(error.resumeToken)
    }

    @Test func resumesWithTokenInAnotherManager() async throws {
        let token = try await brokenOff()
        #expect(token.url == ranges.server.urlString("/file"))
        #expect(token.filePath == path)
        #expect(token.bytesReceived == Int64(RangeServer.half))
        #expect(token.totalBytes == Int64(RangeServer.size))
        #expect(try folder.names == ["film.part", "film.part.resume"])

        let copy = try JSONDecoder().decode(ResumeToken.self, from: try JSONEncoder().encode(token))
        #expect(copy == token)
        let progress = Recorder<TransferProgress>()
        let again = HTTPRequest(copy.url, headers: ["X-A": "1"])
        let answer = try await ranges.manager.download(again, to: .resuming(copy)) { progress.record($0) }
        #expect(answer.status == 206)
        #expect(answer.filePath == path)
        #expect(answer.resumption == .resumed)
        #expect(answer.offset == Int64(RangeServer.half))
        #expect(answer.fileSize == Int64(RangeServer.size))
        #expect(try folder.read("film") == RangeServer.content(1))
        #expect(try folder.names == ["film"])
        let request = ranges.server.requests[1]
        #expect(request["Range"] == "bytes=\(RangeServer.half)-")
        #expect(request["If-Range"] == RangeServer.tag(1))
        #expect(request["X-A"] == "1")
        #expect(progress.values.last?.offset == Int64(RangeServer.half))
        #expect(progress.values.last?.received == Int64(RangeServer.size - RangeServer.half))
        #expect(progress.values.last?.fractionCompleted == 1)
    }

    @Test func resumesFromPartialFileBesidePath() async throws {
        _ = try await brokenOff()
        let answer = try await ranges.manager.download(HTTPRequest("file"), to: path, options: .resumes)
        #expect(answer.resumption == .resumed)
        #expect(try folder.read("film") == RangeServer.content(1))
        #expect(try folder.names == ["film"])
        _ = try await ranges.manager.download(HTTPRequest("file"), to: path)
        #expect(ranges.server.requests[2]["Range"] == nil)
    }

    @Test func resumingDownloadAlsoKeepsPartialFile() async throws {
        for options: DownloadOptions in [.resumes, [.resumes, .keepsExistingFile]] {
            ranges.breakOff()
            let error = try await sessionError {
                try await ranges.manager.download("file", to: path, options: options)
            }
            #expect(error.resumeToken?.bytesReceived == Int64(RangeServer.half))
            let response = try await ranges.manager.download("file", to: path, options: options)
            #expect(response.resumption == .resumed)
            #expect(try folder.names == ["film"])
            try FileManager.default.removeItem(atPath: path)
        }
    }

    @Test func resumesManagersDestinationWhereOnly200IsAcceptable() async throws {
        let manager = HTTPSessionManager()
        manager.validation = ResponseValidation(acceptableStatusCodes: [200])
        let url = ranges.server.urlString("/file")
        for isToken in [false, true] {
            ranges.breakOff()
            manager.downloadDestination = .path(path)
            let error = try await sessionError { try await manager.download(url, options: .resumes) }
            let token = try #require(error.resumeToken)
            if isToken { manager.downloadDestination = .resuming(token) }
            #expect(try await manager.download(url, options: .resumes).resumption == .resumed)
            #expect(try folder.read("film") == RangeServer.content(1))
        }
    }

    @Test func retryResumesWhereOnly200IsAcceptable() async throws {
        ranges.breakOff()
        let manager = ranges.manager
        manager.validation = ResponseValidation(acceptableStatusCodes: [200])
        manager.interceptors = [Self.retrying]
        let response = try await manager.download("file", to: .path(path), options: Self.keeping)
        #expect(response.resumption == .resumed)
        #expect(try folder.read("film") == RangeServer.content(1))
    }

    @Test func resumesDownloadNamedByDestinationClosure() async throws {
        ranges.breakOff()
        let error = try await sessionError {
            try await ranges.manager.download(
                "file", to: .named { [folder] in folder.file("named-" + $0.suggestedFileName) }, options: Self.keeping)
        }
        let token = try #require(error.resumeToken)
        #expect(token.filePath == folder.file("named-file"))
        #expect(try await ranges.manager.download(token.url, to: .resuming(token)).resumption == .resumed)
        #expect(try folder.read("named-file") == RangeServer.content(1))
        #expect(try folder.names == ["named-file"])
    }

    @Test func restartsWhenServerHasAnotherVersion() async throws {
        let token = try await brokenOff()
        ranges.serve(version: 2)
        let answer = try await ranges.manager.download(token.url, to: .resuming(token))
        #expect(answer.status == 200)
        #expect(answer.resumption == .restarted)
        #expect(answer.offset == 0)
        #expect(try folder.read("film") == RangeServer.content(2))
    }

    @Test func restartsWhenPartialFileIsMissing() async throws {
        let token = try await brokenOff()
        try FileManager.default.removeItem(atPath: path + ".part")
        #expect(try await ranges.manager.download(token.url, to: .resuming(token)).offset == 0)
        #expect(try folder.read("film") == RangeServer.content(1))
    }

    @Test func keepsNothingWithoutStrongValidatorOrOption() async throws {
        for (tag, options) in [("W/\"1\"", Self.keeping), (RangeServer.tag(1), DownloadOptions())] {
            ranges.breakOff(tag: tag)
            let error = try await sessionError {
                try await ranges.manager.download(HTTPRequest("file"), to: path, options: options)
            }
            #expect(error.code == .truncated)
            #expect(error.resumeToken == nil)
            #expect(try folder.names == [])
        }
    }

    @Test func returns416AtEndAsAlreadyComplete() async throws {
        ranges.forgetTheEnd()
        let error = try await sessionError {
            try await ranges.manager.download(HTTPRequest("file"), to: path, options: Self.keeping)
        }
        let token = try #require(error.resumeToken)
        #expect(token.totalBytes == nil)
        let answer = try await ranges.manager.download(token.url, to: .resuming(token))
        #expect(answer.status == 416)
        #expect(answer.resumption == .alreadyComplete)
        #expect(answer.fileSize == Int64(RangeServer.size))
        #expect(try folder.read("film") == RangeServer.content(1))
        #expect(try folder.names == ["film"])
    }

    @Test func keepsPartialFileAfter503AndRemovesItAfter410() async throws {
        let token = try await brokenOff()
        ranges.refuse(503)
        var error = try await sessionError { try await ranges.manager.download(token.url, to: .resuming(token)) }
        #expect(error.status == 503)
        #expect(error.body == Data("no".utf8))
        #expect(error.resumeToken?.bytesReceived == Int64(RangeServer.half))
        #expect(try folder.names == ["film.part", "film.part.resume"])
        ranges.refuse(410)
        error = try await sessionError { try await ranges.manager.download(token.url, to: .resuming(token)) }
        #expect(error.status == 410)
        #expect(error.resumeToken == nil)
        #expect(try folder.names == [])
    }

    @Test func keepsTokenWhenConnectionIsLost() async throws {
        let token = try await brokenOff()
        let manager = ranges.manager
        ranges.server.route("/file", times: 2, .reset)
        let error = try await sessionError { try await manager.download(token.url, to: .resuming(token)) }
        #expect(error.code == .connectionLost)
        let again = try #require(error.resumeToken)
        #expect(again.bytesReceived == token.bytesReceived)
        #expect(try folder.names == ["film.part", "film.part.resume"])
    }

    @Test(arguments: ["Range", "If-Range"])
    func refusesRequestsWithOwnRange(name: String) async throws {
        let request = HTTPRequest("file", headers: HTTPHeaders([(name, "bytes=1-")]))
        let error = try await sessionError {
            try await ranges.manager.download(request, to: path, options: .resumes)
        }
        #expect(error.code == .invalidInput)
    }

    // MARK: Tokens

    @Test(arguments: ["", "afcore-resume 1\n", "\0", "url x\nend\n"])
    func refusesInvalidTokenText(text: String) throws {
        #expect(throws: SessionError.self) { try ResumeToken(text: text, filePath: "/a") }
        let json = try JSONEncoder().encode(["text": text, "filePath": "/a"])
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(ResumeToken.self, from: json) }
    }

    @Test func refusesTokenWithInvalidPath() async throws {
        let token = try await brokenOff()
        for path in ["", "a\0"] {
            #expect(throws: SessionError.self) { try ResumeToken(text: token.text, filePath: path) }
        }
        let relative = try ResumeToken(text: token.text, filePath: "x/y")
        #expect(relative.filePath == FileManager.default.currentDirectoryPath + "/x/y")
        #expect(relative != token)
        #expect(try ResumeToken(text: token.text, filePath: "/\u{301}a").filePath == "/\u{301}a")
        let text = String(decoding: try folder.read("film.part.resume"), as: UTF8.self)
        #expect(try ResumeToken(text: text, filePath: path).url == token.url)
    }

    @Test func descriptionOfTokenHidesQuery() async throws {
        let token = try await brokenOff()
        let text = token.text.replacing("/file", with: "/file?key=secret")
        let other = try ResumeToken(text: text, filePath: path)
        #expect(other.url.contains("secret"))
        #expect(!"\(other)".contains("secret"))
        #expect("\(other)".contains("\(RangeServer.half) of \(RangeServer.size)"))
    }
}
