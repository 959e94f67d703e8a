import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)), .serialized)
struct StressTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
        server.fallback(.text("ok"))
    }

    @Test func completes2000RequestsOverFewConnections() async throws {
        let manager = HTTPSessionManager(baseURL: server.urlString("/"))
        let count = try await withThrowingTaskGroup(of: String.self) { group in
            for index in 0..<2000 { group.addTask { try await manager.get("r\(index)") } }
            return try await group.reduce(into: 0) { count, text in count += text == "ok" ? 1 : 0 }
        }
        #expect(count == 2000)
        let statistics = try #require(manager.statistics)
        #expect(statistics.posts == 2000)
        #expect(statistics.events == 2000)
        #expect(statistics.connections <= 6)
    }

    @Test func tasksSuspendedAndCancelledConcurrentlyCompleteOnce() async throws {
        let manager = HTTPSessionManager(baseURL: server.urlString("/"))
        manager.completionQueue = .global()
        let completions = Recorder<Int>()
        let total = 10_000
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for index in stride(from: worker, to: total, by: 8) {
                        let task = manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { _, _, _ in
                            completions.record(index)
                        }
                        if index % 5 == 0 { task.cancel() }
                        task.resume()
                        if index % 3 == 0 { task.suspend() }
                        if index % 2 == 0 { task.cancel() } else { task.resume() }
                    }
                }
            }
        }
        let indices = await completions.wait(for: total)
        #expect(indices.count == total)
        #expect(Set(indices).count == total)
        #expect(manager.tasks.isEmpty)
    }

    @Test func tasksCancelledAnytimeEndOnceWithoutLeaks() async throws {
        var manager: HTTPSessionManager? = HTTPSessionManager(baseURL: server.urlString("/"))
        let outcomes = try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<2000 {
                let request = Task { [manager] in try await manager?.get("x", as: String.self) == "ok" }
                group.addTask {
                    if index % 2 == 0 { request.cancel() }
                    do {
                        return try await request.value
                    } catch SessionError.Code.cancelled {
                        return false
                    }
                }
            }
            return try await group.reduce(into: [false: 0, true: 0]) { $0[$1, default: 0] += 1 }
        }
        let answered = outcomes[true] ?? 0
        let cancelled = outcomes[false] ?? 0
        #expect(answered >= 1000)
        #expect(answered + cancelled == 2000)
        manager = nil
        CoreSession.joinClosed()
    }
}

@Suite(.timeLimit(.minutes(10)))
struct LeakTests {
    @Test func transferReleasesItsSessionAndTask() async throws {
        weak var session: CoreSession?
        weak var task: CoreTask?
        let server = try TestServer()
        do {
            let held = try CoreSession(SessionConfiguration())
            session = held
            let observed = CountingTask(
                CoreRequest(
                    HTTPRequest(server.url("/x")), session: held, sink: .memory, handlers: TransferHandlers()))
            task = observed
            #expect(observed.begin() == nil)
            await observed.ends.wait()
        }
        // The last reference to the task, which refers to the session, is the core's, given back right after the end.
        #expect(await server.wait(for: .open(atMost: 0)))
        CoreSession.joinClosed()
        #expect(session == nil)
        #expect(task == nil)
    }

    @Test func uploadCancelledBeforeStartIsReleased() async throws {
        weak var session: CoreSession?
        weak var task: CoreTask?
        do {
            let held = try CoreSession(SessionConfiguration())
            session = held
            let body = HTTPBody.stream { AsyncStream<Data> { $0.finish() } }
            let upload = CoreTask(
                CoreRequest(
                    HTTPRequest(.post, "http://127.0.0.1/", body: body), session: held, sink: .memory,
                    handlers: TransferHandlers()))
            task = upload
            upload.cancel()
            #expect(upload.begin()?.code == .cancelled)
        }
        #expect(task == nil)
        CoreSession.joinClosed()
        #expect(session == nil)
    }
}

private final class CountingTask: CoreTask, @unchecked Sendable {
    let ends = Recorder<Void>()

    override func didFinish(_ result: CoreResult) {
        result.discard()
        ends.record(())
    }
}
