import AFTestServer
import Dispatch
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@Suite(.timeLimit(.minutes(10)))
struct MultipartTransferTests {
    private let server: TestServer
    private let manager: HTTPSessionManager
    private let folder: TestFolder

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        manager.completionQueue = DispatchQueue(label: "completions")
        folder = try TestFolder()
    }

    private static let field = "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1"

    private func post(_ form: MultipartFormData, _ path: String = "/form") async throws -> Response<Data> {
        try await manager.response(for: HTTPRequest(.post, path, body: .multipart(form)))
    }

    @Test func formArrivesWithLengthAndType() async throws {
        var form = try MultipartFormData(boundary: "B")
        try form.append("1", name: "a")
        try form.append(Data(repeating: 7, count: 5000), name: "lent")
        try form.append(file: folder.file("f.txt", text: "file"), name: "f")
        try form.append(length: 4, name: "s") { Chunks(chunks: ["st", "re"]) }
        _ = try await post(form)
        let seen = server.requests[0]
        let path = folder.file("wire")
        try await form.write(to: path)
        #expect(try seen.body == contents(of: path))
        #expect(seen["Content-Type"] == "multipart/form-data; boundary=B")
        #expect(try seen["Content-Length"] == form.length().map { "\($0)" })
        #expect(seen["Transfer-Encoding"] == nil)
    }

    @Test func sendsFormOfUnknownLengthChunked() async throws {
        var form = try MultipartFormData(boundary: "B")
        try form.append("1", name: "a")
        try form.append(name: "s") { Chunks(chunks: ["st", "re"]) }
        _ = try await post(form)
        #expect(server.requests[0]["Transfer-Encoding"] == "chunked")
        #expect(
            server.requests[0].bodyText
                == Self.field + "\r\n--B\r\nContent-Disposition: form-data; name=\"s\"\r\n\r\nstre\r\n--B--\r\n")
    }

    @Test(arguments: [307, 308])
    func sendsFormAgainAfterRedirect(status: Int) async throws {
        server.route("POST /from", .redirect(to: "/to", status: status))
        let begun = Recorder<Void>()
        var form = MultipartFormData()
        try form.append(Data(repeating: 7, count: 100_000), name: "data")
        try form.append(file: folder.file("f", Data(repeating: 8, count: 100_000)), name: "f")
        try form.append(length: 4, name: "s") {
            begun.record(())
            return Chunks(chunks: ["st", "re"])
        }
        let response = try await post(form, "/from")
        #expect(response.status == 200)
        #expect(server.requests.count == 2)
        #expect(server.requests[0].body == server.requests[1].body)
        #expect(try server.requests[1].bodyLength == form.length().map(UInt64.init))
        #expect(begun.values.count == 2)
        // The same value can be sent again.
        #expect(try await post(form).status == 200)
        #expect(server.requests[2].body == server.requests[0].body)
    }

    @Test func streamReadableOnceFailsOnRedirect() async throws {
        server.route("POST /from", .redirect(to: "/to", status: 307))
        var form = MultipartFormData()
        try form.append(once: Chunks(chunks: ["st", "re"]), length: 4, name: "s")
        await expectCode(.bodyNotReplayable) { try await post(form, "/from") }
        #expect(server.requests.count == 1)
    }

    @Test func failsWithErrorOfStream() async throws {
        var form = MultipartFormData()
        try form.append("1", name: "a")
        try form.append(length: 10, name: "s") { Chunks(chunks: ["st"], fails: true) }
        let error = await #expect(throws: SessionError.self) { try await post(form) }
        #expect(error?.code == .bodySource)
        #expect(error?.underlying as? ChunksFailure == ChunksFailure())
    }

    @Test(arguments: [3, 5])
    func failsWhenStreamHasAnotherLength(length: Int64) async throws {
        var form = MultipartFormData()
        try form.append(length: length, name: "s") { Chunks(chunks: ["st", "re"]) }
        await expectCode(.bodySource) { try await post(form) }
    }

    @Test(arguments: [nil, "012", "01234"])
    func failsWhenFileChangedAfterAdding(content: String?) async throws {
        let path = try folder.file("a", text: "0123")
        var form = MultipartFormData()
        try form.append(file: path, name: "f")
        if let content {
            _ = try folder.file("a", text: content)
        } else {
            try FileManager.default.removeItem(atPath: path)
        }
        let error = await #expect(throws: SessionError.self) { try await post(form) }
        #expect(error?.code == .file)
        #expect(error?.message.contains(path) == true)
        #expect(error?.url == server.urlString("/form"))
    }

    @Test func failsWhenFileVanishesBeforeRedirect() async throws {
        let path = try folder.file("a", text: "0123")
        manager.redirectHandler = { _ in
            unlink(path)
            return .follow
        }
        server.route("POST /from", .redirect(to: "/to", status: 307))
        var form = MultipartFormData()
        try form.append(file: path, name: "f")
        let error = await #expect(throws: SessionError.self) { try await post(form, "/from") }
        #expect(error?.code == .file)
        #expect(error?.systemError == ENOENT)
    }

    @Test func throttledFormArrivesWholeAfterRedirect() async throws {
        server.route("POST /from", .redirect(to: "/to", status: 307))
        var form = try MultipartFormData(boundary: "B")
        try form.append("1", name: "a")
        form.throttleBandwidth(packetSize: 10, delay: .milliseconds(1))
        _ = try await post(form, "/from")
        #expect(server.requests.map(\.bodyText) == Array(repeating: Self.field + "\r\n--B--\r\n", count: 2))
    }

    @Test func cancelsThrottledFormWhileItWaits() async throws {
        server.route("POST /form", [.readHeadOnly, .stall(at: "head")])
        var form = MultipartFormData()
        try form.append("1", name: "a")
        form.throttleBandwidth(
            packetSize: MultipartFormData.slowNetworkPacketSize / 1024, delay: .seconds(3600))
        let task = Task { [form, manager] in
            try await manager.response(for: HTTPRequest(.post, "/form", body: .multipart(form)))
        }
        #expect(await server.wait(for: .stalled(at: "head")))
        task.cancel()
        await expectCode(.cancelled) { try await task.value }
    }

    @Test func spooledFormEqualsStreamedForm() async throws {
        let request = try HTTPRequestSerializer().multipartFormRequest(
            .post, server.urlString("/form"), parameters: ["a": 1]
        ) { form in
            try form.append(file: folder.file("f", text: "file"), name: "f")
        }
        let file = try await request.writeMultipart(to: folder.file("spooled"))
        _ = try await manager.response(for: request)
        _ = try await manager.response(for: file)
        #expect(server.requests[0].body == server.requests[1].body)
        #expect(server.requests[0]["Content-Type"] == server.requests[1]["Content-Type"])
        #expect(server.requests[0]["Content-Length"] == server.requests[1]["Content-Length"])
    }

    /// That it goes through little memory is tested where nothing else runs in the process (UploadProgramTests).
    @Test func sendsFileOf300MiBCompletely() async throws {
        let size = 300 << 20
        let path = try folder.file("sparse", text: "")
        #expect(truncate(path, off_t(size)) == 0)
        server.route("POST /form", .json("{}"))
        var form = MultipartFormData()
        try form.append(file: path, name: "f")
        let response = try await manager.response(for: HTTPRequest(.post, "/form", body: .multipart(form)))
        #expect(response.status == 200)
        #expect(server.requests[0].isBodyComplete)
        #expect(try server.requests[0].bodyLength == form.length().map(UInt64.init))
    }

    // MARK: The manager's verb

    @Test func awaitedPostSendsParametersAndForm() async throws {
        server.route("POST /form", .json(#"{"ok":true}"#))
        let answer: JSONValue = try await manager.post(
            "form", parameters: ["b": nil, "a": 1],
            body: .multipart { try $0.append(file: folder.file("f.txt", text: "file"), name: "f") },
            headers: ["X-A": "b"])
        #expect(answer == ["ok": true])
        let seen = server.requests[0]
        let boundary = try #require(seen["Content-Type"]?.split(separator: "=").last)
        let names = seen.bodyText.replacing(boundary, with: "B").matches(of: /; name="(.*?)"/).map { String($0.1) }
        #expect(names == ["a", "b", "f"])
        #expect(seen["X-A"] == "b")
        #expect(seen["User-Agent"] == DefaultHeaders.all["User-Agent"])
    }

    @Test(arguments: [nil, [:], ["a": []]] as [Parameters?])
    func formWithoutPartsIsOrdinaryRequest(parameters: Parameters?) async throws {
        try await manager.post("form", parameters: parameters, body: .multipart { _ in })
        manager.requestSerializer = JSONRequestSerializer()
        try await manager.post("form", parameters: parameters, body: .multipart { _ in })
        try await manager.delete("form", body: .multipart { _ in })
        #expect(
            server.requests.map { $0["Content-Type"] } == ["application/x-www-form-urlencoded", nil, nil])
        #expect(server.requests.map(\.bodyText) == ["", "", ""])
    }

    @Test func headersOfCallReplaceFormType() async throws {
        let type = "multipart/form-data; boundary=\"mine\""
        try await manager.post(
            "form",
            body: .multipart { form in
                form = try MultipartFormData(boundary: "mine")
                try form.append("1", name: "a")
            }, headers: ["Content-Type": type])
        #expect(server.requests[0].values(named: "Content-Type") == [type])
    }

    @Test func closureErrorBecomesUnderlyingError() async throws {
        struct Mine: Error {}
        let error = await #expect(throws: SessionError.self) {
            try await manager.post("form", body: .multipart { _ in throw Mine() })
        }
        #expect(error?.underlying is Mine)
        await expectCode(.file) {
            try await manager.post("form", body: .multipart { try $0.append(file: "/no/such/file", name: "f") })
        }
        #expect(server.requests.isEmpty)
    }

    @Test func postWithClosuresSendsFormAndReportsProgress() async throws {
        server.route("POST /form", .json(#"{"ok":true}"#))
        let (values, errors, progress) = (Recorder<JSONValue>(), Recorder<SessionError>(), Recorder<TransferProgress>())
        let task = manager.post(
            "form", parameters: ["a": 1], body: .multipart { try $0.append("2", name: "b") },
            progress: { progress.record($0) }, success: { _, value in values.record(value) },
            failure: { _, error in errors.record(error) })
        #expect(task?.kind == .upload)
        #expect(await values.wait() == [["ok": true]])
        #expect(await progress.wait().last?.sent == Int64(server.requests[0].bodyLength))
        #expect(errors.values.isEmpty)
    }

    @Test func invalidFormFailsWithoutCreatingTask() async throws {
        let errors = Recorder<SessionError>()
        let task = manager.post(
            "form", body: .multipart { try $0.append("1", name: "\n") }, success: { _, _ in },
            failure: { task, error in if task == nil { errors.record(error) } })
        #expect(task == nil)
        #expect(try await errors.value().code == .invalidInput)
    }
}
