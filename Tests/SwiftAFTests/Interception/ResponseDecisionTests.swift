import AFTestServer
import Dispatch
import FoundationEssentials
import Glibc
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct ResponseDecisionTests {
    private let server: TestServer
    private let manager: HTTPSessionManager
    private let folder: TestFolder
    private let asked = Recorder<HTTPResponse>()
    private var path: String { folder.file("a") }

    init() throws {
        server = try TestServer()
        server.route("/json", .json(#"{"a":1}"#))
        server.route("/gone", .text("not here", status: 404))
        server.route("/endless", .respond(repeating: Data(repeating: 0x78, count: 16384), count: nil))
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        manager.completionQueue = DispatchQueue(label: "completions")
        folder = try TestFolder()
    }

    private func answering(_ decision: ResponseDecision) -> ResponseHandler {
        { [asked] response in
            asked.record(response)
            return decision
        }
    }

    private func request(_ url: String, _ decision: ResponseDecision) -> HTTPRequest {
        var request = HTTPRequest(url)
        request.responseHandler = answering(decision)
        return request
    }

    // MARK: Who is asked

    @Test func asksHandlerOnceForFinalHead() async throws {
        server.route("/from", [.interim(103), .redirect(to: "/to")])
        server.route("/to", [.interim(103), .json("[1]")])
        let answer = try await manager.response(for: request("from", .allow))
        #expect(try answer.json() == [1])
        #expect(answer.filePath == nil)
        #expect(asked.values.map(\.url) == [server.urlString("/to")])
        #expect(asked.values.map(\.status) == [200])
        #expect(asked.values[0].mediaType?.essence == "application/json")
    }

    @Test func requestHandlerOverridesManagersHandler() async throws {
        manager.responseHandler = answering(.cancel)
        #expect(try await manager.response(for: request("json", .allow)).body.count == 7)
        #expect(asked.values.count == 1)
        let error = try await sessionError { try await manager.get("json") as JSONValue }
        #expect(error.code == .cancelled)
        #expect(asked.values.count == 2)
    }

    @Test func handlerIsNotAskedForDownloadsAndEvents() async throws {
        manager.responseHandler = answering(.cancel)
        try await manager.download(HTTPRequest("json"), to: path)
        try await manager.download(request("json", .cancel), to: .named { [path] _ in path })
        server.route(
            "/events", .respond(headers: ["Content-Type": "text/event-stream"], body: Data("data: 1\n\n".utf8)))
        var events = manager.events(from: request("events", .cancel)).makeAsyncIterator()
        #expect(try await events.next()?.data == "1")
        #expect(asked.values.isEmpty)
    }

    // MARK: Cancelling

    @Test func cancelDecisionEndsTransferAfterHead() async throws {
        let error = try await sessionError { try await manager.response(for: request("endless", .cancel)) }
        #expect(error.code == .cancelled)
        #expect(error.status == 200)
        #expect(error.body == Data())
        #expect(await server.wait(for: .closes(1)))
        let streamError = try await sessionError { try await manager.stream(request("endless", .cancel)) }
        #expect(streamError.code == .cancelled)
        #expect(streamError.status == 200)
        #expect(await server.wait(for: .closes(2)))
    }

    @Test func cancelDecisionCompletesTaskOnceWithHead() async throws {
        let ends = Recorder<(HTTPResponse?, JSONValue?, SessionError?)>()
        let task = manager.dataTask(for: request("endless", .cancel)) { ends.record(($0, $1, $2)) }
        task.resume()
        let end = try await ends.value()
        #expect(end.0?.status == 200)
        #expect(end.1 == nil)
        #expect(end.2?.code == .cancelled)
        #expect(task.state == .completed)
        #expect(await server.wait(for: .closes(1)))
        #expect(ends.values.count == 1)
    }

    // MARK: Becoming a download

    @Test func downloadDecisionSavesBodyToFile() async throws {
        let answer = try await manager.response(for: request("json", .download(to: path)))
        #expect(answer.status == 200)
        #expect(answer.filePath == path)
        #expect(answer.body.isEmpty)
        #expect(try folder.read("a") == Data(#"{"a":1}"#.utf8))
        #expect(try folder.names == ["a"])
    }

    @Test func downloadDecisionIgnoresSessionBodyLimit() async throws {
        var configuration = SessionConfiguration.default
        configuration.limits.maximumBodySize = 4
        let manager = HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
        #expect(try await manager.response(for: request("json", .download(to: path))).filePath == path)
        #expect(try await sessionError { try await manager.response(.get, "json") }.code == .tooLarge)
        var limited = request("json", .download(to: path))
        limited.limits.maximumBodySize = 4
        #expect(try await sessionError { try await manager.response(for: limited) }.code == .tooLarge)
    }

    @Test func serializersSeeEmptyBodyOfSavedResponse() async throws {
        manager.responseHandler = answering(.download(to: path))
        #expect(try await manager.get("json") == JSONValue.null)
        #expect(try await manager.get("json").body == Data())
        #expect(try await sessionError { try await manager.get("json") as [String: Int] }.code == .serialization)
        #expect(try folder.names == ["a"])
    }

    @Test func downloadDecisionTurnsTaskIntoDownload() async throws {
        let ends = Recorder<(JSONValue?, SessionError?)>()
        let kinds = Recorder<SessionTask.Kind>()
        let task = manager.dataTask(
            for: request("json", .download(to: path)),
            progress: { [manager] _ in
                for task in manager.downloadTasks { kinds.record(task.kind) }
            }, completionHandler: { ends.record(($1, $2)) })
        #expect(task.kind == .data)
        task.resume()
        let end = try await ends.value()
        #expect(end.0 == .null)
        #expect(end.1 == nil)
        #expect(task.kind == .download)
        #expect(task.filePath == path)
        #expect(try folder.read("a") == Data(#"{"a":1}"#.utf8))
        #expect(ends.values.count == 1)
    }

    @Test func downloadDecisionEndsStreamWithoutChunks() async throws {
        server.route(
            "/slow",
            [.chunkedHead(), .chunk(Data("one".utf8)), .stall(at: "rest"), .chunk(Data("two".utf8)), .lastChunk()])
        let stream = try await manager.stream(request("slow", .download(to: path)))
        #expect(stream.filePath == path)
        #expect(stream.status == 200)
        #expect(await server.wait(for: .stalled(at: "rest")))
        #expect(access(path, F_OK) != 0)
        server.open("rest")
        for try await chunk in stream.bytes { Issue.record("a chunk of \(chunk.count)") }
        #expect(try folder.read("a") == Data("onetwo".utf8))
    }

    // MARK: Descriptors

    private func openPipe() throws -> (reader: Int32, writer: Int32) {
        // Swift doesn't have pipe2.
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    private func readSome(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    @Test(arguments: ["json", "gone"])
    func writeDecisionWritesBodyToDescriptor(path: String) async throws {
        let ends = try openPipe()
        defer { close(ends.reader) }
        let stream = try await manager.stream(request(path, .write(toDescriptor: ends.writer)))
        for try await chunk in stream.bytes { Issue.record("a chunk of \(chunk.count)") }
        let text = path == "json" ? #"{"a":1}"# : "not here"
        #expect(readSome(ends.reader) == text)
        let answer = try await manager.response(for: request(path, .write(toDescriptor: ends.writer)))
        #expect(answer.status == stream.status && answer.body.isEmpty)
        close(ends.writer)
        #expect(readSome(ends.reader) == text)
        #expect(readSome(ends.reader) == "")
    }

    @Test func failsForUnwritableDescriptor() async throws {
        let ends = try openPipe()
        let unwritable = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { for descriptor in [ends.writer, unwritable] { close(descriptor) } }
        for descriptor in [unwritable, -1] {
            let error = try await sessionError {
                try await manager.response(for: request("json", .write(toDescriptor: descriptor)))
            }
            #expect(error.code == .invalidInput && error.response?.status == 200)
        }
        close(ends.reader)
        let error = try await sessionError {
            let stream = try await manager.stream(request("endless", .write(toDescriptor: ends.writer)))
            for try await _ in stream.bytes {}
        }
        #expect(error.code == .file && error.systemError == EPIPE)
    }

    @Test func errorStatusIsReturnedInsteadOfSaved() async throws {
        let answer = try await manager.response(for: request("gone", .download(to: path)))
        #expect(answer.status == 404)
        #expect(answer.filePath == nil)
        #expect(answer.body == Data("not here".utf8))
        let stream = try await manager.stream(request("gone", .download(to: path)))
        #expect(stream.filePath == nil)
        var body = Data()
        for try await chunk in stream.bytes { body += chunk }
        #expect(body == Data("not here".utf8))
        #expect(try folder.names == [])
    }

    @Test func unwritableFileFailsWithHead() async throws {
        try folder.write("old", to: "a")
        let cases: [(ResponseDecision, SessionError.Code)] = [
            (.download(to: folder.file("a/b")), .file), (.download(to: path, options: .keepsExistingFile), .file),
            (.download(to: folder.file("b/c")), .file), (.download(to: ""), .invalidInput),
            (.download(to: "a\0b"), .invalidInput), (.download(to: folder.path + "/"), .invalidInput),
        ]
        for (decision, code) in cases {
            let error = try await sessionError { try await manager.response(for: request("json", decision)) }
            #expect(error.code == code)
            #expect(error.status == 200)
            let streamError = try await sessionError {
                for try await _ in try await manager.stream(request("json", decision)).bytes {}
            }
            #expect(streamError.code == code)
        }
        #expect(try folder.read("a") == Data("old".utf8))
        #expect(try folder.names == ["a"])
        _ = try await manager.response(
            for: request("json", .download(to: folder.file("b/c"), options: .createsFolders)))
        #expect(try folder.read("b/c") == Data(#"{"a":1}"#.utf8))
    }

    @Test func truncatedDownloadCanBeResumed() async throws {
        let ranges = try RangeServer()
        ranges.breakOff()
        let request = request("file", .download(to: path, options: .keepsPartialFile))
        let error = try await sessionError { try await ranges.manager.response(for: request) }
        #expect(error.code == .truncated)
        let token = try #require(error.resumeToken)
        let answer = try await ranges.manager.download(token.url, to: .resuming(token))
        #expect(answer.resumption == .resumed)
        #expect(try folder.read("a") == RangeServer.content(1))
    }

    @Test func cancelledDownloadLeavesNoFile() async throws {
        let stream = try await manager.stream(request("endless", .download(to: path)))
        let reading = Task { for try await _ in stream.bytes {} }
        reading.cancel()
        #expect(try await sessionError { try await reading.value }.code == .cancelled)
        #expect(await server.wait(for: .closes(1)))
        #expect(try folder.names == [])
    }
}
