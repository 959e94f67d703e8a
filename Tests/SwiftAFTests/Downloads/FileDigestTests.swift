import AFTestServer
import Dispatch
import FoundationEssentials
import Glibc
import Testing

@testable import SwiftAF

/// Downloads whose file must have a digest.
@Suite(.timeLimit(.minutes(10)))
struct FileDigestTests {
    /// The digests of "abc" and "abd".
    private static let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    private static let abd = "a52d159f262b2c6ddb724a61840befc36eb30c88877a4030b65cbe86298449c9"
    private static let longABC =
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd"
        + "454d4423643ce80e2a9ac94fa54ca49f"
    private static let longABD =
        "1a9840c27a5cf22dab060cdd8a83da2b0fbcb1aeb52d4f9d3894b639083e205a5ab3f6afaeeb21b8e99b5e0fe93daafa"
        + "abeef274da5d6eadcc9db36e5b6f64c4"
    /// The digest of `RangeServer.content(1)`.
    private static let ranged = "f0effddd8369cd84418e0501333284adc0d2854cda7fda9af0a4b6f092ca64cd"

    private let server: TestServer
    private let manager: HTTPSessionManager
    private let folder: TestFolder
    private var path: String { folder.file("f") }

    init() throws {
        server = try TestServer()
        server.route("/f", .text("abc"))
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        folder = try TestFolder()
    }

    // MARK: Right and wrong digests

    @Test(
        arguments: [
            .sha256(abc), .sha256(abc.uppercased()), .sha256("\(abc)  f".prefix(64)), .sha512(longABC),
        ] as [FileDigest])
    func keepsFileWithExpectedDigest(digest: FileDigest) async throws {
        try folder.write("old", to: "f")
        for options in [[], .resumes] as [DownloadOptions] {
            let saved = try await manager.download("f", to: .path(path).verified(by: digest), options: options)
            #expect(saved.fileSize == 3 && saved.filePath == path)
            #expect(try folder.read("f") == Data("abc".utf8))
            #expect(try folder.names == ["f"])
        }
    }

    @Test(arguments: [(FileDigest.sha256(abd.uppercased()), abc, abd), (.sha512(longABD), longABC, longABD)])
    func mismatchLeavesFormerFileAndNamesBothDigests(digest: FileDigest, found: String, expected: String) async throws {
        try folder.write("old", to: "f")
        server.route("/f", .respond(headers: ["ETag": "\"1\""], body: Data("abc".utf8)))
        for options in [[], .resumes] as [DownloadOptions] {
            let error = try await sessionError {
                try await manager.download("f", to: .path(path).verified(by: digest), options: options)
            }
            #expect(error.code == .protocol && error.reason == .digest)
            #expect(error.message.contains(found) && error.message.hasSuffix("expected \(expected)"))
            #expect(error.resumeToken == nil && error.response?.status == 200)
            #expect(try folder.read("f") == Data("old".utf8))
            #expect(try folder.names == ["f"])
        }
    }

    @Test func responseWithoutBodyHasDigestOfNothing() async throws {
        server.route("/f", .status(204))
        let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        try await manager.download("f", to: .path(path).verified(by: .sha256(nothing)))
        #expect(try folder.read("f").isEmpty)
        let error = try await sessionError {
            try await manager.download("f", to: .path(path).verified(by: .sha256(Self.abc)))
        }
        #expect(error.reason == .digest)
    }

    @Test(arguments: [
        "", "abc", abc + "0", String(abc.dropLast()), "g" + abc.dropFirst(), "\u{FF10}" + abc.dropFirst(3),
    ])
    func refusesInvalidTextBeforeSending(text: String) async throws {
        for destination in [.path(path), .folder(folder.path), .named { _ in "" }] as [DownloadDestination] {
            let error = try await sessionError {
                try await manager.download("f", to: destination.verified(by: .sha256(text)))
            }
            #expect(error.code == .invalidInput)
            #expect(error.message.hasPrefix("invalid sha-256 digest \""))
            #expect(error.message.hasSuffix("\": expected 64 hexadecimal digits"))
        }
        let error = try await sessionError {
            try await manager.download("f", to: .path(path).verified(by: .sha512(Self.abc)))
        }
        #expect(error.message == "invalid sha-512 digest \"\(Self.abc)\": expected 128 hexadecimal digits")
        #expect(server.requests.isEmpty)
    }

    @Test func messageShowsNoControlCharactersOfInvalidText() async throws {
        let error = try await sessionError {
            try await manager.download("f", to: .path(path).verified(by: .sha256("\u{1B}[2J\n")))
        }
        #expect(error.message.contains("\"\u{FFFD}[2j\u{FFFD}\""))
    }

    @Test func digestsCompareWithoutCase() {
        #expect(FileDigest.sha256(Self.abc) == .sha256(Self.abc.uppercased()))
        #expect(FileDigest.sha256(Self.abc) != .sha512(Self.abc))
        #expect("\(FileDigest.sha256(Self.abc.uppercased()))" == "sha-256 \(Self.abc)")
    }

    // MARK: Kinds of destinations and downloads

    @Test func everyDestinationIsVerified() async throws {
        manager.downloadDestination = .path(path)
        let destinations: [DownloadDestination] = [
            .managerDefault, .folder(folder.path), .named { [path] _ in path }, .path(URL(filePath: path)),
        ]
        for destination in destinations {
            let wrong = destination.verified(by: .sha256(Self.abd))
            let error = try await sessionError { try await manager.download("f", to: wrong) }
            #expect(error.reason == .digest)
            #expect(try folder.names == [])
            try await manager.download("f", to: destination.verified(by: .sha256(Self.abc)))
            #expect(try folder.names == ["f"])
            try FileManager.default.removeItem(atPath: path)
        }
    }

    /// Unless the download has a digest of its own.
    @Test func managersDestinationMayHaveDigest() async throws {
        manager.downloadDestination = .path(path).verified(by: .sha256(Self.abd))
        #expect(try await sessionError { try await manager.download("f") }.reason == .digest)
        try await manager.download("f", to: .managerDefault.verified(by: .sha256(Self.abc)))
        #expect(try folder.read("f") == Data("abc".utf8))
    }

    @Test func batchVerifiesEachOfItsFiles() async throws {
        let items = [Self.abc, Self.abd, "no digest"].enumerated().map { index, text in
            DownloadItem("f", to: .path(folder.file("f\(index)")).verified(by: .sha256(text)))
        }
        var reasons = [SessionError.Reason?](repeating: nil, count: items.count)
        var codes = [SessionError.Code?](repeating: nil, count: items.count)
        for await download in manager.downloads(of: items) {
            guard case .failure(let error) = download.result else { continue }
            reasons[download.index] = error.reason
            codes[download.index] = error.code
        }
        #expect(reasons == [nil, .digest, nil] && codes == [nil, .protocol, .invalidInput])
        #expect(try folder.names == ["f0"])
    }

    @Test(arguments: [true, false]) func taskReportsResultOfVerification(isRight: Bool) async throws {
        let endings = Recorder<(path: String?, error: SessionError?)>()
        manager.completionQueue = DispatchQueue(label: "completions")
        let task = manager.downloadTask(
            for: "f", to: .path(path).verified(by: isRight ? .sha256(Self.abc) : .sha512(Self.longABD))
        ) { _, path, error in endings.record((path, error)) }
        task.resume()
        let ending = try await endings.value()
        #expect(ending.path == (isRight ? path : nil) && ending.error?.reason == (isRight ? nil : .digest))
        #expect(isRight || ending.error?.message.hasSuffix("expected \(Self.longABD)") == true)
        #expect(try folder.names == (isRight ? ["f"] : []))
    }

    // MARK: Resumed downloads

    /// Leaves the first half of the file, or all of it.
    private func interrupt(_ ranges: RangeServer, isWhole: Bool = false) async throws -> ResumeToken {
        if isWhole { ranges.forgetTheEnd() } else { ranges.breakOff() }
        let error = try await sessionError {
            try await ranges.manager.download(
                "file", to: .path(path).verified(by: .sha256(Self.ranged)), options: .keepsPartialFile)
        }
        #expect(error.code == .truncated)
        return try #require(error.resumeToken)
    }

    /// In place: the token is that of this very file.
    private func damagePart() throws {
        let part = open(path + ".part", O_WRONLY | O_CLOEXEC)
        defer { close(part) }
        try #require(pwrite(part, [0xFF], 1, 0) == 1)
    }

    @Test(arguments: [true, false], [true, false])
    func resumedFileIsVerifiedAsWhole(hasToken: Bool, isWhole: Bool) async throws {
        let ranges = try RangeServer()
        let token = try await interrupt(ranges, isWhole: isWhole)
        let destination = hasToken ? DownloadDestination.resuming(token) : .path(path)
        let saved = try await ranges.manager.download(
            token.url, to: destination.verified(by: .sha256(Self.ranged)), options: .resumes)
        #expect(saved.resumption == (isWhole ? .alreadyComplete : .resumed))
        #expect(try folder.read("f") == RangeServer.content(1))
        #expect(try folder.names == ["f"])
    }

    /// The server knows nothing of it: it sends what is missing.
    @Test(arguments: [true, false], [true, false])
    func damageBeforeResumptionIsFound(hasToken: Bool, isWhole: Bool) async throws {
        let ranges = try RangeServer()
        let token = try await interrupt(ranges, isWhole: isWhole)
        try damagePart()
        let destination = hasToken ? DownloadDestination.resuming(token) : .path(path)
        let verified = destination.verified(by: .sha256(Self.ranged))
        let error = try await sessionError {
            try await ranges.manager.download(token.url, to: verified, options: .resumes)
        }
        #expect(error.reason == .digest && error.resumeToken == nil)
        #expect(try folder.names == [])
        #expect(try await ranges.manager.download(token.url, to: verified, options: .resumes).offset == 0)
        #expect(try folder.read("f") == RangeServer.content(1))
    }

    @Test func retryThatResumesVerifiesWhole() async throws {
        let ranges = try RangeServer()
        let manager = ranges.manager
        var policy = RetryPolicy()
        policy.baseDelay = .zero
        manager.interceptors = [policy]
        ranges.breakOff()
        let saved = try await manager.download(
            "file", to: .path(path).verified(by: .sha256(Self.ranged)), options: .keepsPartialFile)
        #expect(saved.resumption == .resumed)
        ranges.breakOff()
        let error = try await sessionError {
            try await manager.download(
                "file", to: .path(path).verified(by: .sha256(Self.abc)), options: .keepsPartialFile)
        }
        // A mismatch isn't retried.
        #expect(error.reason == .digest && ranges.server.requests.count == 4)
        #expect(try folder.names == ["f"])
    }

    // MARK: Encoded and stored responses

    /// It is the digest of the file, whatever was received.
    @Test(arguments: [true, false]) func digestIsThatOfSavedBytes(isDecoded: Bool) async throws {
        let encoded = try #require(Data(base64Encoded: "H4sIAAAAAAACA0tMSgYAwkEkNQMAAAA="))
        let own = "0e595b139299cc148895fcdf42cb286dbc9230bd303f416289e2e98bf4a5bb46"
        server.route("/f", .respond(headers: ["Content-Encoding": "gzip"], body: encoded))
        var request = HTTPRequest("f")
        request.decompressesBody = isDecoded
        try await manager.download(request, to: .path(path).verified(by: .sha256(isDecoded ? Self.abc : own)))
        #expect(try folder.read("f") == (isDecoded ? Data("abc".utf8) : encoded))
        let error = try await sessionError {
            try await manager.download(request, to: .path(path).verified(by: .sha256(isDecoded ? own : Self.abc)))
        }
        #expect(error.reason == .digest)
    }

    @Test func replacesDigestThatResponseDeclares() async throws {
        let headers: Script.Headers = [
            "Repr-Digest": "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:", "ETag": "\"1\"",
        ]
        server.route("/f", .respond(headers: headers, body: Data("abc".utf8)))
        try await manager.download("f", to: .path(path).verified(by: .sha256(Self.abc)), options: .resumes)
        #expect(try folder.read("f") == Data("abc".utf8))
    }

    /// Otherwise each further download would get the same bytes.
    @Test(arguments: [true, false]) func storedResponseWithAnotherDigestIsRemoved(isStoredBefore: Bool) async throws {
        var configuration = SessionConfiguration()
        configuration.cache = try HTTPCache()
        let manager = HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
        let headers: Script.Headers = ["Cache-Control": "max-age=1000"]
        server.route("/f", .respond(headers: headers, body: Data("abd".utf8)))
        if isStoredBefore { try await manager.download("f", to: path) }
        let destination = DownloadDestination.path(path).verified(by: .sha256(Self.abc))
        let error = try await sessionError { try await manager.download("f", to: destination) }
        #expect(error.reason == .digest && server.requests.count == 1)
        server.route("/f", .respond(headers: headers, body: Data("abc".utf8)))
        try await manager.download("f", to: destination)
        #expect(server.requests.count == 2)
        // One that has the digest stays.
        let again = try await manager.download("f", to: destination)
        #expect(again.head.cacheStatus == .hit && server.requests.count == 2)
        #expect(try folder.read("f") == Data("abc".utf8))
    }
}
