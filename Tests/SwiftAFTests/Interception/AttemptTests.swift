import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct AttemptTests {
    private let server: TestServer
    private let manager: HTTPSessionManager
    private let outcomes = Recorder<AttemptOutcome>()

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        manager.completionQueue = .global()
        manager.interceptors = [always]
        server.route("/x", .text("done"))
    }

    /// Numbers what is sent, notes what came of it, and sends again at once, five times at most.
    private var always: Interceptor {
        Interceptor(
            adapt: { request, attempt in
                var request = request
                request.headers.add(name: "X-Attempt", value: String(attempt.number))
                return request
            },
            retry: { [outcomes] _, outcome in
                outcomes.record(outcome)
                return outcome.attempt.number <= 5 ? .retry : .doNotRetry
            })
    }

    /// Wants a repeat in an hour.
    private var patient: Interceptor {
        Interceptor(retry: { [outcomes] _, outcome in
            outcomes.record(outcome)
            return .retry(after: .seconds(3600))
        })
    }

    private var attempts: [String?] { server.requests.map { $0["X-Attempt"] } }

    private func fail(_ times: Int = 2) {
        server.route("/x", times: times, .text("busy", status: 503))
    }

    // MARK: Ways to send

    @Test func adaptsEachAttemptAndReturnsLastResponse() async throws {
        fail()
        let text: String = try await manager.get("x")
        #expect(text == "done")
        #expect(attempts == ["1", "2", "3"])
        #expect(outcomes.values.map(\.status) == [503, 503])
        #expect(outcomes.values.map(\.attempt.earlierStatuses) == [[], [503]])
        #expect(outcomes.values.map(\.metrics.hops.count) == [1, 1])
    }

    @Test func returnsLastResponseWhenRetriesAreExhausted() async throws {
        server.route("/x", .text("busy", status: 503))
        let response = try await manager.response(.get, "x")
        #expect(response.status == 503)
        #expect(try response.text(validation: .any) == "busy")
        #expect(server.requests.count == 6)
    }

    @Test func retriesLostConnectionAndTruncatedBody() async throws {
        server.route("/x", times: 1, .reset)
        server.route("/y", times: 1, .truncated(body: Data("do".utf8), promising: 4))
        server.route("/y", .text("done"))
        for path in ["x", "y"] {
            let text: String = try await manager.get(path)
            #expect(text == "done")
        }
        #expect(outcomes.values.compactMap(\.error?.code).last == .truncated)
    }

    @Test func resendsWholeFileAndForm() async throws {
        let folder = try TestFolder()
        let path = folder.file("upload")
        try folder.write(String(repeating: "a", count: 100_000), to: "upload")
        fail(1)
        let response = try await manager.response(for: HTTPRequest(.put, "x", body: .file(path)))
        #expect(response.status == 200)
        #expect(server.requests.map(\.body) == Array(repeating: Data(repeating: 0x61, count: 100_000), count: 2))
        fail(1)
        var form = MultipartFormData()
        try form.append(Data("value".utf8), name: "field")
        #expect(try await manager.response(for: HTTPRequest(.put, "x", body: .multipart(form))).status == 200)
        let bodies = server.requests.suffix(2).map(\.body)
        #expect(bodies[0] == bodies[1] && !bodies[0].isEmpty)
    }

    @Test func sendsBodyThatCannotBeReplayedOnce() async throws {
        fail()
        let chunks = AsyncStream<Data> { continuation in
            continuation.yield(Data("once".utf8))
            continuation.finish()
        }
        let response = try await manager.response(for: HTTPRequest(.put, "x", body: .stream(once: chunks)))
        #expect(response.status == 503)
        #expect(server.requests.count == 1)
        // Asked, because an interceptor may learn something from the outcome for later requests.
        #expect(outcomes.values.map(\.status) == [503])
    }

    @Test func resendsStreamThatCanBeReplayed() async throws {
        fail(1)
        let body = HTTPBody.stream {
            AsyncStream<Data> { continuation in
                continuation.yield(Data("again".utf8))
                continuation.finish()
            }
        }
        #expect(try await manager.response(for: HTTPRequest(.put, "x", body: body)).status == 200)
        #expect(server.requests.map(\.bodyText) == ["again", "again"])
    }

    @Test func retryResumesDownloadFromPartialFile() async throws {
        let server = try RangeServer()
        server.breakOff()
        server.refuse(503)
        let manager = server.manager
        manager.interceptors = [always]
        let folder = try TestFolder()
        let done = try await manager.download(
            HTTPRequest("file"), to: folder.file("film"), options: .keepsPartialFile)
        #expect(done.resumption == .resumed)
        #expect(try folder.read("film") == RangeServer.content(1))
        #expect(outcomes.values.map(\.status) == [200, 503])
        #expect(outcomes.values.map(\.error?.code) == [.truncated, nil])
        #expect(server.server.requests.last?["Range"] == "bytes=\(RangeServer.half)-")
    }

    @Test func failingInterceptorKeepsResumeToken() async throws {
        struct Refused: Error {}
        let folder = try TestFolder()
        let failing: [Interceptor] = [
            Interceptor(
                adapt: { request, attempt in
                    guard attempt.number == 1 else { throw Refused() }
                    return request
                }, retry: { _, outcome in outcome.endedInAdapt ? .doNotRetry : .retry }),
            Interceptor(retry: { _, _ in .fail(Refused()) }),
        ]
        for interceptor in failing {
            let server = try RangeServer()
            server.breakOff()
            let manager = server.manager
            manager.interceptors = [interceptor]
            let error = await #expect(throws: SessionError.self) {
                try await manager.download("file", to: folder.file("film"), options: .keepsPartialFile)
            }
            #expect(error?.code == .interceptor)
            #expect(error?.resumeToken?.bytesReceived == Int64(RangeServer.half))
        }
    }

    @Test func retryRestartsDownloadWithoutPartialFile() async throws {
        server.route("/x", times: 1, .truncated(headers: ["ETag": "\"1\""], body: Data("do".utf8), promising: 4))
        let folder = try TestFolder()
        let done = try await manager.download(HTTPRequest("x"), to: folder.file("film"))
        #expect(done.resumption == .none)
        #expect(try folder.read("film") == Data("done".utf8))
        #expect(try folder.names == ["film"])
    }

    @Test func streamReturnsOnlyHeadOfLastAttempt() async throws {
        fail()
        let response = try await manager.stream(HTTPRequest("x"))
        #expect(response.status == 200)
        var body = Data()
        for try await chunk in response.bytes { body += chunk }
        #expect(body == Data("done".utf8))
        #expect(attempts == ["1", "2", "3"])
    }

    @Test func refusedStreamFreesItsConnectionDuringDelay() async throws {
        manager.interceptors = [patient]
        server.route("/x", [.chunkedHead(503), .chunk("busy"), .waitForPeerClose])
        let task = Task { [manager] in try await manager.stream(HTTPRequest("x")).status }
        #expect(await server.wait(for: .closes(1)))
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        #expect(server.requests.count == 1)
    }

    @Test func streamIsNotRetriedAfterItsHead() async throws {
        server.route("/x", .truncated(body: Data("do".utf8), promising: 4))
        let response = try await manager.stream(HTTPRequest("x"))
        await #expect(throws: SessionError.self) { for try await _ in response.bytes {} }
        #expect(server.requests.count == 1)
    }

    @Test func taskCompletesOnceAfterAllAttempts() async throws {
        fail()
        let ends = Recorder<(Int?, SessionError?)>()
        let task = manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { response, _, error in
            ends.record((response?.status, error))
        }
        #expect(task.state == .suspended)
        task.resume()
        let end = try await ends.value()
        #expect(end.0 == 200 && end.1 == nil)
        #expect(task.state == .completed)
        #expect(task.response?.status == 200)
        #expect(attempts == ["1", "2", "3"])
        #expect(ends.values.count == 1)
        #expect(manager.tasks.isEmpty)
    }

    @Test func downloadTaskIsRetried() async throws {
        fail(1)
        let folder = try TestFolder()
        let ends = Recorder<String?>()
        manager.downloadTask(for: HTTPRequest("x"), to: folder.file("film")) { _, path, _ in ends.record(path) }
            .resume()
        #expect(await ends.wait() == [folder.file("film")])
        #expect(attempts == ["1", "2"])
    }

    // MARK: Who has a say

    @Test func requestInterceptorsRunBeforeManagers() async throws {
        fail(1)
        let order = Recorder<String>()
        func mark(_ name: String, _ decision: RetryDecision) -> Interceptor {
            Interceptor(
                adapt: { request, _ in
                    var request = request
                    request.headers.add(name: "X-By", value: name)
                    return request
                },
                retry: { _, _ in
                    order.record(name)
                    return decision
                })
        }
        manager.interceptors = [mark("c", .retry), mark("d", .doNotRetry)]
        var request = HTTPRequest("x")
        request.interceptors = [mark("a", .doNotRetry), mark("b", .doNotRetry)]
        #expect(try await manager.response(for: request).status == 200)
        #expect(server.requests.map { $0.values(named: "X-By") } == [["a", "b", "c", "d"], ["a", "b", "c", "d"]])
        #expect(order.values == ["a", "b", "c"])
    }

    @Test func validatesAdaptedRequest() async throws {
        manager.interceptors = [
            Interceptor(adapt: { request, _ in
                var request = request
                request.headers.add(name: "X", value: "a\r\nB: c")
                return request
            })
        ]
        #expect(try await sessionError { try await manager.response(.get, "x") }.code == .invalidInput)
        #expect(server.requests.isEmpty)
    }

    private struct Refusal: Error {}

    @Test func failsWithErrorsOfInterceptors() async throws {
        manager.interceptors = [Interceptor(adapt: { _, _ in throw Refusal() })]
        let own = try await sessionError { try await manager.response(.get, "x") }
        #expect(own.code == .interceptor)
        #expect(own.underlying is Refusal)
        #expect(own.url == server.urlString("/x"))
        manager.interceptors = [Interceptor(adapt: { _, _ in throw SessionError(.authentication) })]
        #expect(try await sessionError { try await manager.response(.get, "x") }.code == .authentication)
        #expect(server.requests.isEmpty)
        fail(1)
        manager.interceptors = [Interceptor(retry: { _, _ in .fail(Refusal()) })]
        let late = try await sessionError { try await manager.response(.get, "x") }
        #expect(late.code == .interceptor)
        #expect(late.status == 503)
    }

    @Test func acceptableResponsesAreNotRetried() async throws {
        server.route("/moved", .redirect(to: "/x"))
        server.route("/same", .status(304))
        for path in ["x", "moved", "same"] { _ = try await manager.response(.get, path) }
        #expect(outcomes.values.isEmpty)
        #expect(server.requests.count == 4)
    }

    // MARK: What ends them

    @Test func cancellationEndsWaitForNextAttempt() async throws {
        manager.interceptors = [patient]
        fail()
        let task = Task { [manager] in try await manager.response(.get, "x") }
        await outcomes.wait()
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        #expect(server.requests.count == 1)
    }

    @Test func cancellationEndsWaitOfStream() async throws {
        manager.interceptors = [patient]
        fail()
        let task = Task { [manager] in try await manager.stream(HTTPRequest("x")) }
        await outcomes.wait()
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? SessionError)?.code == .cancelled }
    }

    @Test func cancellationEndsWaitOfTaskAndInvalidatedManager() async throws {
        manager.interceptors = [patient]
        fail(3)
        let ends = Recorder<SessionError?>()
        func start() -> DataTask {
            let task = manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { ends.record($2) }
            task.resume()
            return task
        }
        let task = start()
        await outcomes.wait()
        #expect(task.state == .running)
        task.cancel()
        #expect(try await ends.value()?.code == .cancelled)
        #expect(task.state == .completed)

        let awaited = Task { [manager] in try await manager.response(.get, "x") }
        _ = start()
        await outcomes.wait(for: 3)
        manager.invalidate(cancellingTasks: true)
        #expect(try await ends.value(at: 1)?.code == .cancelled)
        await #expect { try await awaited.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        #expect(server.requests.count == 3)
    }

    @Test func cancellationDoesNotWaitForInterceptor() async throws {
        let asked = Recorder<Bool>()
        let released = Recorder<Bool>()
        manager.interceptors = [
            Interceptor(adapt: { request, _ in
                asked.record(true)
                // Waits for the test, not for its own cancellation.
                await released.wait()
                return request
            })
        ]
        let task = Task { [manager] in try await manager.response(.get, "x") }
        await asked.wait()
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        released.record(true)
        #expect(server.requests.isEmpty)
    }

    @Test func totalTimeoutDoesNotWaitForInterceptor() async throws {
        let released = Recorder<Bool>()
        manager.interceptors = [
            Interceptor(adapt: { request, _ in
                await released.wait()
                return request
            })
        ]
        var request = HTTPRequest("x")
        request.timeouts.total = .milliseconds(20)
        let error = try await sessionError { try await manager.response(for: request) }
        #expect(error.reason == .total && error.message.hasPrefix("total timeout: not complete"))
        released.record(true)
    }

    @Test func skipsRetryWhoseDelayExceedsTotalTimeout() async throws {
        manager.interceptors = [patient]
        fail()
        var request = HTTPRequest("x")
        request.timeouts.total = .seconds(1800)
        #expect(try await manager.response(for: request).status == 503)
        #expect(server.requests.count == 1)
    }

    @Test func attemptGetsRemainingTotalTimeout() async throws {
        fail()
        let limits = Recorder<Duration?>()
        var request = HTTPRequest("x")
        request.timeouts.total = .seconds(3600)
        request.interceptors = [
            Interceptor(retry: { request, _ in
                limits.record(request.timeouts.total)
                return .retry
            })
        ]
        #expect(try await manager.response(for: request).status == 200)
        let rest = limits.values.compactMap { $0 }
        try #require(rest.count == 2)
        #expect(.seconds(3600) > rest[0] && rest[0] > rest[1] && rest[1] > .zero)
    }

    @Test func sessionTotalTimeoutPreventsRetry() async throws {
        var configuration = SessionConfiguration()
        configuration.timeouts.total = .milliseconds(50)
        let manager = HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
        manager.interceptors = [Interceptor(retry: { _, _ in .retry })]
        server.route("/x", .stall(at: "x"))
        await #expect { _ = try await manager.response(.get, "x") } throws: {
            ($0 as? SessionError)?.reason == .total
        }
        #expect(server.requests.count <= 1)
        server.open("x")
    }

    /// A task that is suspended after a failed attempt and would retry, and its ends.
    private func taskSuspendedBetweenAttempts() async -> (task: DataTask, ends: Recorder<SessionError?>) {
        let gate = Recorder<Bool>()
        manager.interceptors = [
            Interceptor(retry: { [outcomes] _, outcome in
                outcomes.record(outcome)
                await gate.wait()
                return .retry
            })
        ]
        fail(1)
        let ends = Recorder<SessionError?>()
        let task = manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { ends.record($2) }
        task.resume()
        await outcomes.wait()
        task.suspend()
        gate.record(true)
        return (task, ends)
    }

    @Test func suspendedTaskStartsNoAttemptUntilResumed() async throws {
        let (task, ends) = await taskSuspendedBetweenAttempts()
        #expect(task.state == .suspended)
        // A later request of the same session is answered, this one is not even sent.
        manager.interceptors = []
        for _ in 0..<5 { _ = try await manager.response(.get, "y") }
        #expect(server.requests.filter { $0.path == "/x" }.count == 1)
        task.resume()
        #expect(try await ends.value() == nil)
        #expect(server.requests.filter { $0.path == "/x" }.count == 2)
    }

    @Test func totalTimeoutRunsWhileTaskIsSuspended() async throws {
        // Long enough to get there on a busy machine.
        manager.timeouts.total = .seconds(8)
        let (task, ends) = await taskSuspendedBetweenAttempts()
        let error = try await ends.value()
        #expect(error?.code == .timeout && error?.reason == .total)
        #expect(task.state == .completed)
        task.resume()
        #expect(server.requests.count == 1)
    }

    @Test func cancelsTaskSuspendedBetweenAttempts() async throws {
        let (task, ends) = await taskSuspendedBetweenAttempts()
        task.cancel()
        #expect(try await ends.value()?.code == .cancelled)
        #expect(server.requests.count == 1)
    }

    /// An object of a program that asks a task for its state when it is freed.
    private final class Asking: Sendable {
        let tasks: Recorder<DataTask>
        let states: Recorder<SessionTask.State?>

        init(_ tasks: Recorder<DataTask>, _ states: Recorder<SessionTask.State?>) {
            (self.tasks, self.states) = (tasks, states)
        }

        deinit {
            states.record(tasks.values.first?.state)
        }
    }

    @Test(arguments: [false, true])
    func requestOfFormerAttemptMayAskTaskWhenFreed(isSuspended: Bool) async throws {
        fail(1)
        let (tasks, states) = (Recorder<DataTask>(), Recorder<SessionTask.State?>())
        manager.interceptors = [
            Interceptor(
                adapt: { request, _ in
                    var request = request
                    let asking = Asking(tasks, states)
                    request.responseHandler = { _ in withExtendedLifetime(asking) { .allow } }
                    return request
                },
                retry: { _, _ in
                    if isSuspended { tasks.values.first?.suspend() }
                    return .retry
                })
        ]
        let ends = Recorder<SessionError?>()
        let task = manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { ends.record($2) }
        tasks.record(task)
        task.resume()
        #expect(try await states.value() == (isSuspended ? .suspended : .running))
        task.resume()
        #expect(try await ends.value() == nil)
    }

    @Test func everyConcurrentTaskCompletesOnce() async throws {
        server.route("/x", times: 100, .text("busy", status: 503))
        let ends = Recorder<SessionError?>()
        let tasks = (0..<100).map { _ in
            manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { ends.record($2) }
        }
        for task in tasks { task.resume() }
        for task in tasks.prefix(30) { task.suspend() }
        for task in tasks[10..<50] { task.cancel() }
        for task in tasks.prefix(10) { task.resume() }
        let all = await ends.wait(for: 100)
        #expect(all.count == 100)
        #expect(tasks.allSatisfy { $0.state == .completed })
    }

    @Test func retryPolicyRetriesIdempotentMethodsUpToMaximum() async throws {
        var policy = RetryPolicy(maximumRetries: 2)
        policy.baseDelay = .milliseconds(1)
        manager.interceptors = [policy]
        fail(2)
        let text: String = try await manager.get("x")
        #expect(text == "done")
        fail(3)
        #expect(try await manager.response(.get, "x").status == 503)
        #expect(try await manager.response(.post, "x").status == 200)
        fail(1)
        #expect(try await manager.response(.post, "x").status == 503)
        #expect(server.requests.count == 8)
    }

    // MARK: Where interceptors run

    @Test func interceptorRisesToThePriorityOfItsCaller() async throws {
        let began = OneValueChannel<Void>()
        let risen = OneValueChannel<TaskPriority>()
        manager.interceptors = [
            Interceptor(adapt: { request, _ in
                let priority = await withTaskPriorityEscalationHandler {
                    began.send()
                    return await risen.wait()
                } onPriorityEscalated: { _, priority in
                    risen.send(priority)
                }
                #expect(priority == .high)
                return request
            })
        ]
        let call = Task(priority: .background) { [manager] in try await manager.response(.get, "x").status }
        await began.wait()
        call.escalatePriority(to: .high)
        #expect(try await call.value == 200)
    }

    @Test func bodyOfAStreamHasThePriorityOfItsCaller() async throws {
        let priorities = Recorder<TaskPriority>()
        let body = HTTPBody.stream {
            AsyncStream<Data> {
                guard priorities.values.isEmpty else { return nil }
                priorities.record(Task.basePriority ?? .medium)
                return Data("x".utf8)
            }
        }
        let call = Task(priority: .low) { [manager] in
            try await manager.response(for: HTTPRequest(.put, "x", body: body)).status
        }
        // Waits without lending it this task's priority.
        #expect(await server.wait(for: .requests(1)))
        _ = try await call.value
        #expect(priorities.values == [.low])
    }

    @Test func interceptorsRunOnTheExecutorThatTheCallerPrefers() async throws {
        let executor = manager.taskExecutor
        manager.interceptors = [
            Interceptor(adapt: { request, _ in
                let own = withUnsafeCurrentTask { $0?.unownedTaskExecutor }
                #expect(own == executor.asUnownedTaskExecutor())
                return request
            })
        ]
        let status = try await withTaskExecutorPreference(executor) { try await manager.response(.get, "x").status }
        #expect(status == 200)
    }
}
