import AFTestServer
import Dispatch
import FoundationEssentials
import SwiftAF
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ClosureTests {
    private enum Outcome: Sendable {
        case success(DataTask, JSONValue)
        case failure(DataTask?, SessionError)

        var value: JSONValue? { if case .success(_, let value) = self { value } else { nil } }
        var error: SessionError? { if case .failure(_, let error) = self { error } else { nil } }
    }

    private static let queueKey = DispatchSpecificKey<String>()
    private let server: TestServer
    private let manager: HTTPSessionManager
    private let outcomes = Recorder<Outcome>()
    private let queues = Recorder<String?>()

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        let queue = DispatchQueue(label: "completions")
        queue.setSpecific(key: Self.queueKey, value: "completions")
        manager.completionQueue = queue
    }

    /// Waits for another request of the session, which never ends if this thread is the network's.
    private static func ends(_ manager: HTTPSessionManager) -> Bool {
        let end = DispatchSemaphore(value: 0)
        let task = manager.dataTask(for: HTTPRequest("other"), with: DataResponseSerializer()) { _, _, _ in
            end.signal()
        }
        task.resume()
        return end.wait(timeout: .now() + 600) == .success
    }

    /// A caller's serializer: returns the body like ``DataResponseSerializer``, but waits.
    private struct WaitingSerializer: ResponseSerializer {
        let manager: HTTPSessionManager

        func serialize(_ response: HTTPResponse, body: Data) throws -> Data {
            ClosureTests.ends(manager) ? body : Data()
        }
    }

    @Test func callerCodeNeverRunsOnNetworkThread() async {
        server.route("/value", .json(#"{"a":1}"#))
        server.route("/other", .respond(200))
        // Concurrent, because each closure waits for another one.
        let other = DispatchQueue(label: "others", attributes: .concurrent)
        let ends = Recorder<Bool>()
        for executor in [CompletionExecutor { $0() }, .queue(other)] {
            manager.completionExecutor = executor
            let request = HTTPRequest("value")
            let tasks = [
                manager.dataTask(for: request, with: DataResponseSerializer()) { [manager] _, body, _ in
                    ends.record(body?.count == 7 && Self.ends(manager))
                },
                manager.dataTask(for: request, with: .json) { [manager] _, value, _ in
                    ends.record(value?["a"]?.int == 1 && Self.ends(manager))
                },
            ]
            for task in tasks { task.resume() }
        }
        manager.completionExecutor = .queue(other)
        let task = manager.dataTask(for: HTTPRequest("value"), with: WaitingSerializer(manager: manager)) {
            _, body, _ in
            ends.record(body?.count == 7)
        }
        task.resume()
        #expect(await ends.wait(for: 5) == Array(repeating: true, count: 5))
    }

    private struct EmptySerializer: ResponseSerializer {
        func serialize(_ response: HTTPResponse, body: Data) throws -> JSONValue { .null }

        func result(for response: HTTPResponse, body: Data) -> SerializedResult<JSONValue> { SerializedResult() }
    }

    @Test func failsWhenSerializerReturnsNeitherValueNorError() async throws {
        server.route("/value", .json("{}"))
        manager.get("value", with: EmptySerializer(), success: succeed, failure: fail)
        let outcome = try #require(await outcomes.wait(for: 1).first)
        #expect(outcome.error?.code == .serialization)
    }

    @Test func taskHasErrorOfItsClosure() async throws {
        server.route("/text", .text("no JSON"))
        let task = try #require(manager.get("text", success: succeed, failure: fail))
        #expect(try await outcomes.value().error?.code == .contentType)
        #expect(task.error?.code == .contentType && task.response?.status == 200)
        let folder = try TestFolder()
        server.route("/missing", .status(404))
        let codes = Recorder<SessionError.Code?>()
        let download = manager.downloadTask(for: HTTPRequest("missing"), to: folder.file("f")) { _, _, error in
            codes.record(error?.code)
        }
        download.resume()
        #expect(await codes.wait() == [.status])
        #expect(download.error?.code == .status)
    }

    private func succeed(_ task: DataTask, _ value: JSONValue) {
        queues.record(DispatchQueue.getSpecific(key: Self.queueKey))
        outcomes.record(.success(task, value))
    }

    private func fail(_ task: DataTask?, _ error: SessionError) {
        queues.record(DispatchQueue.getSpecific(key: Self.queueKey))
        outcomes.record(.failure(task, error))
    }

    @Test func callsSuccessOnCompletionQueue() async throws {
        server.route("GET /a", .json(#"{"a":1}"#))
        let task = try #require(manager.get("a", parameters: ["q": 1], success: succeed, failure: fail))
        let outcome = try await outcomes.value()
        #expect(outcome.value == ["a": 1])
        #expect(queues.values == ["completions"])
        #expect(task.state == .completed)
        #expect(task.response?.status == 200)
        #expect(task.error == nil)
        #expect(task.originalRequest.url == server.urlString("/a?q=1"))
        #expect(manager.tasks.isEmpty)
    }

    @Test func everyVerbSendsItsMethod() async throws {
        manager.post("x", parameters: ["a": 1], success: succeed, failure: fail)
        manager.put("x", success: succeed, failure: fail)
        manager.patch("x", success: succeed, failure: fail)
        manager.delete("x", success: succeed, failure: fail)
        await outcomes.wait(for: 4)
        #expect(Set(server.requests.map(\.method)) == ["POST", "PUT", "PATCH", "DELETE"])
        let heads = Recorder<Int>()
        manager.head("x", success: { _, response in heads.record(response.status) }, failure: fail)
        #expect(await heads.wait() == [200])
    }

    @Test func refusedStatusFailsWithParsedBody() async throws {
        let body = Data(#"{"e":7}"#.utf8)
        server.route("GET /a", .respond(422, headers: ["Content-Type": "application/json"], body: body))
        let task = try #require(manager.get("a", success: succeed, failure: fail))
        let error = try #require(try await outcomes.value().error)
        #expect(error.code == .status)
        #expect(error.status == 422)
        #expect(error.parsedBody as? JSONValue == ["e": 7])
        #expect(error.body == body)
        #expect(task.response?.status == 422)
    }

    @Test func completionHandlerGetsValueAndError() async throws {
        server.route("GET /a", .respond(404, headers: ["Content-Type": "application/json"], body: Data("[1]".utf8)))
        let results = Recorder<(HTTPResponse?, JSONValue?, SessionError?)>()
        let task = manager.dataTask(for: HTTPRequest("a")) { results.record(($0, $1, $2)) }
        #expect(task.state == .suspended)
        #expect(manager.dataTasks == [task])
        task.resume()
        let (response, value, error) = try await results.value()
        #expect(response?.status == 404)
        #expect(value == [1])
        #expect(error?.code == .status)
    }

    @Test func decodesCustomTypesAndUsesCustomSerializers() async throws {
        server.route("GET /a", .json(#"{"a":1}"#))
        let numbers = Recorder<[String: Int]>()
        let texts = Recorder<String>()
        manager.request(.get, "a", with: .value([String: Int].self), success: { numbers.record($1) }, failure: fail)
        manager.request(.get, "a", with: StringResponseSerializer(), success: { texts.record($1) }, failure: fail)
        #expect(await numbers.wait() == [["a": 1]])
        #expect(await texts.wait() == [#"{"a":1}"#])
    }

    @Test func managerSerializerAppliesToItsType() async throws {
        server.route("GET /a", .text("[1]"))
        manager.get("a", success: succeed, failure: fail)
        #expect(try await outcomes.value().error?.code == .contentType)
        manager.responseSerializer = JSONResponseSerializer(validation: .default)
        manager.get("a", success: succeed, failure: fail)
        #expect(try await outcomes.value(at: 1).value == [1])
        let value: JSONValue = try await manager.get("a")
        #expect(value == [1])
    }

    @Test func unserializableParametersFailWithoutTask() async throws {
        manager.requestSerializer = JSONRequestSerializer()
        #expect(manager.post("a", parameters: ["x": Set([1])], success: succeed, failure: fail) == nil)
        guard case .failure(nil, let error) = try await outcomes.value() else {
            Issue.record("expected a failure without a task")
            return
        }
        #expect(error.code == .serialization)
        #expect(queues.values == ["completions"])
    }

    @Test(arguments: ["http://", "ftp://host/", "http://host:99999/", "a\nb"])
    func invalidURLFailsInFailureClosure(url: String) async throws {
        manager.get(url, success: succeed, failure: fail)
        #expect(try await outcomes.value().error?.code == .invalidInput)
    }

    @Test func leavesCompletionGroupAfterCompletion() async throws {
        let group = DispatchGroup()
        manager.completionGroup = group
        server.route("GET /a", [.stall(at: "a"), .json("1")])
        manager.get("a", success: succeed, failure: fail)
        var unstarted: DataTask? = manager.dataTask(for: HTTPRequest("a")) { _, _, _ in }
        let finished = Recorder<Int>()
        #expect(unstarted?.state == .suspended)
        unstarted = nil
        group.notify(queue: .global()) { [outcomes] in finished.record(outcomes.values.count) }
        #expect(await server.wait(for: .stalled(at: "a")))
        #expect(finished.values.isEmpty)
        server.open("a")
        #expect(await finished.wait() == [1])
    }

    @Test func theGroupWaitsForTheFailureOfARequestThatCannotBeBuilt() async throws {
        let queue = DispatchQueue(label: "closures")
        let group = DispatchGroup()
        manager.completionQueue = queue
        manager.completionGroup = group
        manager.requestSerializer = JSONRequestSerializer()
        let order = Recorder<String>()
        // The closure can't run before the group is notified, unless the group waits for it.
        queue.suspend()
        let task = manager.post(
            "a", parameters: ["x": Set([1])], success: succeed, failure: { _, _ in order.record("failure") })
        #expect(task == nil)
        #expect(group.wait(timeout: .now()) == .timedOut)
        group.notify(queue: queue) { order.record("group") }
        queue.resume()
        #expect(await order.wait(for: 2) == ["failure", "group"])
    }

    @Test func progressIncreasesAndEndsBeforeSuccess() async throws {
        let size = 3_000_000
        server.route("POST /a", .respond(200, headers: ["Content-Type": "application/json"], body: Data("[1]".utf8)))
        let order = Recorder<TransferProgress?>()
        var request = HTTPRequest(.post, "a", body: .data(Data(count: size)))
        request.headers["Content-Type"] = "application/octet-stream"
        let task = manager.dataTask(for: request, progress: { order.record($0) }) { _, _, _ in order.record(nil) }
        task.resume()
        while order.values.last.map({ $0 != nil }) ?? true { await order.wait(for: order.values.count + 1) }
        let snapshots = order.values.compactMap { $0 }
        let last = try #require(snapshots.last)
        #expect(last == TransferProgress(sent: Int64(size), sentTotal: Int64(size), received: 3, receivedTotal: 3))
        #expect(last.fractionCompleted == 1)
        #expect(zip(snapshots, snapshots.dropFirst()).allSatisfy { $0.sent <= $1.sent && $0.received <= $1.received })
        #expect(task.progress == last)
    }

    @Test func reportsProgressOfTaskWithInterceptors() async throws {
        server.route("/x", .text(String(repeating: "x", count: 100_000)))
        manager.interceptors = [RetryPolicy()]
        let (ends, seen) = (Recorder<Int?>(), Recorder<TransferProgress>())
        let task = manager.dataTask(
            for: HTTPRequest("x"), with: DataResponseSerializer(), progress: { seen.record($0) },
            completionHandler: { _, body, _ in ends.record(body?.count) })
        task.resume()
        #expect(await ends.wait() == [100_000])
        #expect(seen.values.last?.received == 100_000)
        #expect(task.progress == seen.values.last)
    }
}
