import AFTestServer
import Dispatch
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite struct CompletionExecutorTests {
    private let server: TestServer
    private let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        server.route("/x", .text(String(repeating: "x", count: 10_000)))
    }

    private struct Unencodable: Encodable {
        func encode(to encoder: any Encoder) throws { throw SessionError(.serialization) }
    }

    /// Makes requests with every kind of closure; returns what `mark` said inside of each.
    private func marks<Mark: Sendable>(_ mark: @escaping @Sendable () -> Mark) async throws -> [Mark] {
        let (seen, ends) = (Recorder<Mark>(), Recorder<Bool>())
        let task = manager.dataTask(
            for: HTTPRequest("x"), with: DataResponseSerializer(), progress: { _ in seen.record(mark()) }
        ) { _, _, _ in
            seen.record(mark())
            ends.record(true)
        }
        task.resume()
        manager.get(
            "x", with: .string,
            success: { _, _ in
                seen.record(mark())
                ends.record(true)
            }, failure: { _, _ in ends.record(false) })
        manager.post(
            "x", json: Unencodable(), with: .string, success: { _, _ in ends.record(false) },
            failure: { _, _ in
                seen.record(mark())
                ends.record(true)
            })
        let folder = try TestFolder()
        let download = manager.downloadTask(for: HTTPRequest("x"), to: .path(folder.file("x"))) { _, _, _ in
            seen.record(mark())
            ends.record(true)
        }
        download.resume()
        #expect(await ends.wait(for: 4).allSatisfy { $0 })
        download.cancel { _ in
            seen.record(mark())
            ends.record(true)
        }
        await ends.wait(for: 5)
        return seen.values
    }

    @Test func aQueueRunsEveryClosure() async throws {
        let key = DispatchSpecificKey<Bool>()
        let queue = DispatchQueue(label: "test")
        queue.setSpecific(key: key, value: true)
        manager.completionExecutor = .queue(queue)
        #expect(manager.completionQueue === queue)
        #expect(try await marks { DispatchQueue.getSpecific(key: key) ?? false }.allSatisfy { $0 })
    }

    /// A loop that isn't Swift's: one thread that runs what is added.
    private final class ForeignLoop: Sendable {
        private struct State {
            var works: [CompletionExecutor.Work] = []
        }

        private let state = Locked(State())
        private let arrivals = DispatchSemaphore(value: 0)
        @TaskLocal static var isInside = false

        func add(_ work: @escaping CompletionExecutor.Work) {
            state.withLock { $0.works.append(work) }
            arrivals.signal()
        }

        /// Runs what is added, until ``stop()``.
        func run() {
            while true {
                arrivals.wait()
                let work = state.withLock { $0.works.isEmpty ? nil : $0.works.removeFirst() }
                guard let work else { return }
                Self.$isInside.withValue(true) { work() }
            }
        }

        func stop() {
            arrivals.signal()
        }
    }

    @Test func aFunctionPostsToAForeignLoop() async throws {
        let (loop, ends) = (ForeignLoop(), Recorder<Bool>())
        manager.completionExecutor = CompletionExecutor { loop.add($0) }
        #expect(manager.completionQueue == nil)
        DispatchQueue(label: "loop").async {
            loop.run()
            ends.record(true)
        }
        #expect(try await marks { ForeignLoop.isInside }.allSatisfy { $0 })
        loop.stop()
        await ends.wait()
    }

    private actor Screen {
        private(set) var values: [Int] = []

        func append(_ value: Int) { values.append(value) }
    }

    @Test func anActorRunsEveryClosureIsolated() async throws {
        let screen = Screen()
        manager.completionExecutor = .actor(screen)
        #expect(
            try await marks {
                screen.preconditionIsolated()
                return true
            }.allSatisfy { $0 })
    }

    @Test func anActorRunsClosuresInOrder() async throws {
        let (screen, ends) = (Screen(), Recorder<Int>())
        let executor = CompletionExecutor.actor(screen)
        for index in 0..<1000 { executor.post { ends.record(index) } }
        #expect(await ends.wait(for: 1000) == Array(0..<1000))
    }

    private final class QueueExecutor: TaskExecutor, SerialExecutor {
        let queue = DispatchQueue(label: "executor")
        let key = DispatchSpecificKey<Bool>()

        init() { queue.setSpecific(key: key, value: true) }

        var isCurrent: Bool { DispatchQueue.getSpecific(key: key) ?? false }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async {
                job.runSynchronously(
                    isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: self.asUnownedTaskExecutor())
            }
        }
    }

    @Test(arguments: [false, true])
    func anExecutorRunsEveryClosure(isSerial: Bool) async throws {
        let executor = QueueExecutor()
        manager.completionExecutor =
            isSerial ? .executor(executor as any SerialExecutor) : .executor(executor as any TaskExecutor)
        #expect(try await marks { executor.isCurrent }.allSatisfy { $0 })
    }

    @Test func anExecutorOfBothKindsRunsClosuresInOrder() async {
        let executor = QueueExecutor()
        let completions = CompletionExecutor.executor(executor)
        let ends = Recorder<Int>()
        for index in 0..<1000 { completions.post { if executor.isCurrent { ends.record(index) } } }
        #expect(await ends.wait(for: 1000) == Array(0..<1000))
    }

    @MainActor @Test func closuresRunOnTheMainActorByDefault() async throws {
        let ends = Recorder<Bool>()
        manager.get(
            "x", with: .string, success: { _, _ in MainActor.assumeIsolated { ends.record(true) } },
            failure: { _, _ in ends.record(false) })
        #expect(await ends.wait() == [true])
    }

    @MainActor private final class Label {
        var text = ""
        let ends = Recorder<String>()

        func load(_ manager: HTTPSessionManager) {
            manager.get(
                "x", with: .string, progress: onMainActor { progress in self.text = "\(progress.downloaded)" },
                success: onMainActor { _, text in
                    MainActor.assertIsolated()
                    self.ends.record("\(self.text) \(text.count)")
                },
                failure: onMainActor { _, error in self.ends.record("\(error)") })
        }
    }

    @Test func closuresOfTheMainActorRunThereOnAnyExecutor() async throws {
        let label = Label()
        manager.completionQueue = DispatchQueue(label: "elsewhere")
        await label.load(manager)
        #expect(await label.ends.wait() == ["10000 10000"])
    }
}
