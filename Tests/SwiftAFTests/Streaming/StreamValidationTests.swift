import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct StreamValidationTests {
    private let server: TestServer
    private let manager: HTTPSessionManager
    private let limit = 1 << 20

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
    }

    private func refusal(
        _ script: Script, by validation: ResponseValidation? = nil
    ) async throws -> SessionError {
        server.route("/log", script)
        let response = try await manager.stream("log")
        return try #require(
            await #expect(throws: SessionError.self) { try await response.validated(by: validation) })
    }

    @Test func returnsAcceptableResponseWithoutReadingItsBody() async throws {
        server.route("/log", [.chunkedHead(), .stall(at: "body"), .chunk(Data("one\ntwo\n".utf8)), .lastChunk()])
        let response = try await manager.stream("log").validated()
        #expect(response.status == 200)
        server.open("body")
        var lines: [String] = []
        for try await line in response.lines { lines.append(line) }
        #expect(lines == ["one", "two"])
    }

    @Test func throwsBeforeTheFirstLineOfAnErrorPage() async throws {
        server.route("/log", .text("Internal\nServer Error", status: 500))
        var lines: [String] = []
        do {
            for try await line in try await manager.stream("log").validated().lines { lines.append(line) }
        } catch {
            #expect(error.code == .status)
            #expect(error.status == 500)
            #expect(error.body == Data("Internal\nServer Error".utf8))
            #expect(error.url == server.urlString("/log"))
        }
        #expect(lines.isEmpty)
    }

    @Test func usesValidationOfTheManager() async throws {
        manager.validation = ResponseValidation(
            acceptableStatusCodes: [200, 404], acceptableContentTypes: ["text/plain"])
        server.route("/log", .text("gone", status: 404))
        #expect(try await manager.stream("log").validated().collect(upTo: 10) == Data("gone".utf8))
        let error = try await refusal(.json("{}"))
        #expect(error.code == .contentType)
        #expect(error.body == Data("{}".utf8))
        #expect(try await refusal(.text("", status: 201)).code == .status)
    }

    @Test func usesGivenValidationInsteadOfTheManagers() async throws {
        manager.validation = ResponseValidation(acceptableContentTypes: ["text/plain"])
        server.route("/log", .json("{}", status: 500))
        let response = try await manager.stream("log")
        try await response.validated(by: .any)
        #expect(try await response.collect(upTo: 10) == Data("{}".utf8))
    }

    @Test func checksContentTypeOnlyIfTheValidationListsAny() async throws {
        server.route("/log", .json("{}"))
        try await manager.stream("log").validated()
        let error = try await refusal(
            .json("{}"), by: ResponseValidation(acceptableContentTypes: ["application/x-ndjson"]))
        #expect(error.code == .contentType)
        #expect(error.status == 200)
    }

    @Test func reportsBothFaultsAsOneError() async throws {
        let error = try await refusal(
            .json("{}", status: 500), by: ResponseValidation(acceptableContentTypes: ["text/plain"]))
        #expect(error.code == .status)
        #expect(error.contains(.contentType))
    }

    @Test func acceptsAnyTypeOfAnEmptyBody() async throws {
        server.route("/log", .text(""))
        let response = try await manager.stream("log")
            .validated(by: ResponseValidation(acceptableContentTypes: ["application/json"]))
        #expect(try await response.collect(upTo: 0).isEmpty)
    }

    @Test func keepsALimitedPartOfALongBodyAndCancelsTheRest() async throws {
        let block = Data(repeating: 7, count: 65_536)
        let error = try await refusal(.respond(500, repeating: block, count: nil))
        #expect(error.code == .status)
        #expect(error.body == Data(repeating: 7, count: limit))
        #expect(await server.wait(for: .closes(1)))
    }

    @Test(arguments: [-1, 0, 1])
    func keepsABodyUpToTheLimitOfRefusedDownloads(excess: Int) async throws {
        let body = Data(repeating: 7, count: limit + excess)
        let error = try await refusal(.respond(500, body: body))
        #expect(error.body == body.prefix(limit))
        let folder = try TestFolder()
        let download = await #expect(throws: SessionError.self) {
            try await manager.download("log", to: folder.file("log"))
        }
        #expect(download?.status == 500)
        #expect(download?.body == error.body)
    }

    @Test func keepsTheBytesReceivedIfTheErrorBodyIsCutShort() async throws {
        let error = try await refusal(.truncated(500, body: Data("half".utf8), promising: 8))
        #expect(error.code == .status)
        #expect(error.body == Data("half".utf8))
        let other = try await refusal(
            .truncated(headers: ["Content-Type": "text/plain"], body: Data(), promising: 8),
            by: ResponseValidation(acceptableContentTypes: ["application/json"]))
        #expect(other.code == .truncated)
    }

    @Test func cancellingTheTaskEndsReadingOfTheErrorBody() async throws {
        server.route("/log", [.chunkedHead(500), .stall(at: "body"), .lastChunk()])
        let task = Task { [manager] in try await manager.stream("log").validated() }
        #expect(await server.wait(for: .stalled(at: "body")))
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        // The rest of the response isn't sent before: if it came first, the connection would be kept.
        #expect(await server.wait(for: .closes(1)))
        server.open("body")
    }

    @Test func decodesTheErrorBodyByTheManagersDecoder() async throws {
        struct Problem: Decodable {
            var errorCode: Int
        }
        manager.decoder = JSONCoder(keys: .snakeCase)
        let error = try await refusal(.json(#"{"error_code": 7}"#, status: 422))
        #expect(try error.decodeBody(as: Problem.self).errorCode == 7)
    }

    @Test func checksAResponseThatBecameADownloadWithoutWaitingForIt() async throws {
        let folder = try TestFolder()
        server.route("/log", [.chunkedHead(201), .stall(at: "body"), .chunk(Data("new".utf8)), .lastChunk()])
        var request = HTTPRequest("log")
        request.responseHandler = { [path = folder.file("log")] _ in .download(to: path) }
        let response = try await manager.stream(request)
        try await response.validated()
        let error = await #expect(throws: SessionError.self) {
            try await response.validated(by: ResponseValidation(acceptableStatusCodes: [200]))
        }
        #expect(error?.code == .status)
        server.open("body")
        #expect(await server.wait(for: .closes(1)))
        #expect(try folder.names == [])
    }
}
