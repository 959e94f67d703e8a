import AFTestServer
import FoundationEssentials
import Glibc
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10))) struct TaskExecutorTests {
    private let server: TestServer
    private let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        server.route("/x", .text(String(repeating: "x", count: 1000)))
        server.route("/echo", [.upgrade(), .echoFrames])
    }

    /// The name of the current thread; the core names each thread that it starts.
    private static func thread() -> String {
        guard let file = fopen("/proc/thread-self/comm", "re") else { return "" }
        defer { fclose(file) }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { line in
            guard let text = fgets(line.baseAddress!, 32, file) else { return "" }
            return String(String(cString: text).prefix { $0 != "\n" })
        }
    }

    private static let loop = "af-loop"

    private actor Model {
        var text = ""

        func load(_ manager: HTTPSessionManager) async throws -> [String] {
            var threads = [TaskExecutorTests.thread()]
            text = try await manager.get("x")
            threads.append(TaskExecutorTests.thread())
            return threads
        }
    }

    @Test func tasksRunOnTheNetworkThread() async throws {
        #expect(Self.thread() != Self.loop)
        try await withTaskExecutorPreference(manager.taskExecutor) {
            #expect(Self.thread() == Self.loop)
            let text: String = try await manager.get("x")
            #expect(text.count == 1000)
            #expect(Self.thread() == Self.loop)
            async let child = Self.thread()
            #expect(await child == Self.loop)
            #expect(try await Model().load(manager) == [Self.loop, Self.loop])
            await MainActor.run { #expect(Self.thread() != Self.loop) }
            #expect(Self.thread() == Self.loop)
        }
        #expect(Self.thread() != Self.loop)
    }

    @Test func everyKindOfCallEndsOnTheNetworkThread() async throws {
        try await withTaskExecutorPreference(manager.taskExecutor) {
            let folder = try TestFolder()
            try await manager.download("x", to: .path(folder.file("x")))
            #expect(Self.thread() == Self.loop)
            let streamed = try await manager.stream(HTTPRequest("x"))
            var count = 0
            for try await chunk in streamed.bytes { count += chunk.count }
            #expect(count == 1000)
            #expect(Self.thread() == Self.loop)
            let socket = try await manager.webSocket("echo")
            for index in 0..<100 {
                try await socket.send("\(index)")
                var messages = socket.makeAsyncIterator()
                #expect(try await messages.next() == .text("\(index)"))
            }
            #expect(Self.thread() == Self.loop)
            try await socket.close()
            await #expect(throws: SessionError.self) { let _: String = try await manager.get("http://127.0.0.1:1/") }
            #expect(Self.thread() == Self.loop)
        }
    }

    @Test func manyTasksOfManyThreadsAllRun() async throws {
        let executor = manager.taskExecutor
        let sum = await withTaskGroup(of: Int.self) { group in
            for index in 0..<2000 {
                group.addTask {
                    // Leaves the network thread and comes back.
                    await Task(executorPreference: executor) {
                        await Task.yield()
                        return Self.thread() == Self.loop ? index : -1_000_000
                    }.value
                }
            }
            return await group.reduce(0, +)
        }
        #expect(sum == 2000 * 1999 / 2)
    }

    @Test func transfersProceedBesideATaskThatAlwaysYields() async throws {
        let isOver = Locked(false)
        let busy = Task(executorPreference: manager.taskExecutor) {
            while !isOver.withLock({ $0 }) { await Task.yield() }
        }
        for _ in 0..<10 {
            let text: String = try await manager.get("x")
            #expect(text.count == 1000)
        }
        isOver.withLock { $0 = true }
        await busy.value
    }

    @Test func cancellingEndsATaskThatWaitsThere() async throws {
        server.route("/held", .stall(at: "never"))
        let task = Task(executorPreference: manager.taskExecutor) { () -> SessionError.Code? in
            do throws(SessionError) {
                let _: String = try await manager.get("held")
                return nil
            } catch {
                return error.code
            }
        }
        #expect(await server.wait(for: .stalled(at: "never")))
        task.cancel()
        #expect(await task.value == .cancelled)
    }

    /// The task alone keeps the executor, and the executor its network thread. The task ends while another thread
    /// resumes it.
    @Test func aTaskOutlivesItsManager() async throws {
        for _ in 0..<20 { try await outliveManager() }
        CoreSession.joinClosed()
    }

    private func outliveManager() async throws {
        let (gate, threads) = (Recorder<Bool>(), Recorder<String>())
        weak var session: CoreSession?
        var task: Task<Void, Never>?
        do {
            let manager = HTTPSessionManager(baseURL: server.urlString("/"))
            session = try manager.snapshot.session.get()
            task = Task(executorPreference: manager.taskExecutor) {
                threads.record(Self.thread())
                await gate.wait()
                threads.record(Self.thread())
            }
        }
        #expect(session == nil)
        gate.record(true)
        await task?.value
        #expect(threads.values == [Self.loop, Self.loop])
    }

    @Test func lastReferenceMayBeReleasedOnNetworkThread() async throws {
        for _ in 0..<20 {
            let owned = Locked<HTTPSessionManager?>(HTTPSessionManager(baseURL: server.urlString("/")))
            weak let session = try owned.withLock { try $0?.snapshot.session.get() }
            #expect(session != nil)
            let thread = await Task(executorPreference: owned.withLock { $0?.taskExecutor }) {
                let manager = owned.withLock { owned in
                    defer { owned = nil }
                    return owned
                }
                // Released here, without the lock.
                withExtendedLifetime(manager) {}
                return Self.thread()
            }.value
            #expect(thread == Self.loop)
            #expect(session == nil)
        }
        CoreSession.joinClosed()
    }

    @Test func aNewPolicyMeansANewThread() async throws {
        let former = manager.taskExecutor
        manager.securityPolicy = SecurityPolicy(allowsInvalidCertificates: true)
        #expect(former as AnyObject !== manager.taskExecutor as AnyObject)
        try await withTaskExecutorPreference(former) {
            let text: String = try await manager.get("x")
            #expect(text.count == 1000)
            #expect(Self.thread() == Self.loop)
        }
    }

    @Test func withoutASessionTasksRunElsewhere() async throws {
        manager.invalidate(cancellingTasks: true)
        await withTaskExecutorPreference(manager.taskExecutor) {
            #expect(Self.thread() != Self.loop)
            await #expect(throws: SessionError.self) { let _: String = try await manager.get("x") }
        }
    }

    @Test func closuresRunThereInOrder() async throws {
        let (seen, ends) = (Recorder<String>(), Recorder<Int>())
        manager.completionExecutor = .executor(manager.taskExecutor)
        for index in 0..<100 { manager.completionExecutor.post { ends.record(index) } }
        #expect(await ends.wait(for: 100) == Array(0..<100))
        manager.get(
            "x", with: .string, success: { _, text in seen.record("\(Self.thread()) \(text.count)") },
            failure: { _, error in seen.record("\(error)") })
        #expect(await seen.wait() == ["\(Self.loop) 1000"])
    }
}
