import Dispatch
import Testing

@testable import SwiftAF

/// AFNetworkReachabilityManagerTests of AFNetworking, over the loopback. What happens when links come and go is tested
/// in C (reachability_net_test.c), in a network of its own.
@Suite(.timeLimit(.minutes(10))) struct NetworkReachabilityManagerTests {
    private static let makers: [@Sendable () -> NetworkReachabilityManager] = [
        { NetworkReachabilityManager(domain: "localhost") },
        { NetworkReachabilityManager(address: "127.0.0.1") },
    ]

    private func failure(of manager: NetworkReachabilityManager) -> SessionError.Code? {
        do throws(SessionError) {
            try manager.startMonitoring()
            return nil
        } catch {
            return error.code
        }
    }

    private func quiet(_ manager: NetworkReachabilityManager) -> NetworkReachabilityManager {
        manager.callbackQueue = DispatchQueue(label: "reachability")
        return manager
    }

    @Test(arguments: makers)
    func reachabilityStartsInUnknownState(make: @Sendable () -> NetworkReachabilityManager) {
        let manager = make()
        #expect(manager.status == .unknown)
        #expect(!manager.isReachable)
        #expect(!manager.isReachableViaWWAN)
        #expect(!manager.isReachableViaWiFi)
        #expect(manager.localizedStatus == "Unknown")
        manager.stopMonitoring()
        #expect(manager.status == .unknown)
    }

    @Test(arguments: makers)
    func theHandlerIsCalledAfterTheStart(make: @Sendable () -> NetworkReachabilityManager) async throws {
        let manager = quiet(make())
        let told = Recorder<NetworkReachability>()
        manager.statusChangeHandler = { told.record($0) }
        try manager.startMonitoring()
        let state = try #require(await told.wait().first)
        #expect(state == NetworkReachability(.reachableViaWiFi, link: .loopback, linkName: "lo"))
        #expect(manager.reachability == state)
        #expect(manager.isReachable && manager.isReachableViaWiFi && !manager.isReachableViaWWAN)
        #expect(manager.localizedStatus == "Reachable via WiFi")
        manager.stopMonitoring()
        #expect(manager.status == .reachableViaWiFi)
    }

    @Test func theMainQueueIsTheDefault() async throws {
        let manager = NetworkReachabilityManager(address: "::ffff:127.0.0.1")
        let told = Recorder<Bool>()
        manager.statusChangeHandler = { _ in
            dispatchPrecondition(condition: .onQueue(.main))
            told.record(true)
        }
        try manager.startMonitoring()
        await told.wait()
    }

    @Test func restartingReportsCurrentStateAgain() async throws {
        let manager = quiet(NetworkReachabilityManager(address: "127.0.0.1"))
        let told = Recorder<NetworkReachability>()
        manager.statusChangeHandler = { told.record($0) }
        try manager.startMonitoring()
        await told.wait()
        try manager.startMonitoring()
        #expect(await told.wait(for: 2).allSatisfy { $0.isReachable })
    }

    @Test func afterAStopNoHandlerIsCalled() async throws {
        let queue = DispatchQueue(label: "held")
        let manager = NetworkReachabilityManager(address: "127.0.0.1")
        manager.callbackQueue = queue
        let told = Recorder<NetworkReachability>()
        manager.statusChangeHandler = { told.record($0) }
        var changes = manager.changes.makeAsyncIterator()
        queue.suspend()
        try manager.startMonitoring()
        // It is known, and on its way to the handler.
        #expect(await changes.next()?.isReachable == true)
        manager.stopMonitoring()
        queue.resume()
        await withCheckedContinuation { done in queue.async { done.resume() } }
        #expect(told.values.isEmpty)
    }

    @Test func sequencesStartWithKnownStateAndEndWithManager() async throws {
        var manager: NetworkReachabilityManager? = quiet(NetworkReachabilityManager(address: "127.0.0.1"))
        let early = try #require(manager?.changes)
        try manager?.startMonitoring()
        var first = early.makeAsyncIterator()
        let known = await first.next()
        #expect(known?.status == .reachableViaWiFi)
        // One that comes late begins with what is known.
        var late = try #require(manager?.changes.makeAsyncIterator())
        #expect(await late.next() == known)
        manager = nil
        #expect(await first.next() == nil)
        #expect(await late.next() == nil)
    }

    @Test(.timeLimit(.minutes(1))) func aSequenceStartsMonitoring() async {
        let manager = quiet(NetworkReachabilityManager(address: "127.0.0.1"))
        let told = Recorder<NetworkReachability>()
        manager.statusChangeHandler = { told.record($0) }
        for await state in manager.changes {
            #expect(state.isReachable)
            break
        }
        // It is stopped, and started again by the next one.
        for _ in 0..<2 {
            var changes = manager.changes.makeAsyncIterator()
            #expect(await changes.next()?.isReachable == true)
        }
        // The handler is for startMonitoring().
        #expect(told.values.isEmpty)
    }

    @Test(.timeLimit(.minutes(1))) func aSequenceThatEndsDoesNotStopWhatTheProgramStarted() async throws {
        let manager = quiet(NetworkReachabilityManager(address: "127.0.0.1"))
        let told = Recorder<NetworkReachability>()
        manager.statusChangeHandler = { told.record($0) }
        for await _ in manager.changes { break }
        try manager.startMonitoring()
        await told.wait()
        for await _ in manager.changes { break }
        // A state that is monitored is known at once.
        var changes = manager.changes.makeAsyncIterator()
        manager.stopMonitoring()
        #expect(await changes.next()?.isReachable == true)
    }

    @Test(.timeLimit(.minutes(1))) func sequencesThatEndAtTheSameTimeAreMonitoredAgain() async {
        let manager = quiet(NetworkReachabilityManager(address: "127.0.0.1"))
        let states = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var states = 0
                    for _ in 0..<20 {
                        for await state in manager.changes {
                            if state.isReachable { states += 1 }
                            break
                        }
                    }
                    return states
                }
            }
            return await group.reduce(0, +)
        }
        #expect(states == 160)
    }

    @Test(.timeLimit(.minutes(1))) func sequenceOfInvalidHostEndsAtOnce() async {
        for await _ in NetworkReachabilityManager(domain: "").changes { Issue.record("a state of an invalid host") }
        for await _ in NetworkReachabilityManager(address: "::g").changes { Issue.record("a state of an invalid host") }
    }

    /// Reads the state where a new one resumes a task.
    private final class AskingExecutor: TaskExecutor {
        let queue = DispatchQueue(label: "reader")
        private let storage: ReachabilityStorage

        init(_ storage: ReachabilityStorage) { self.storage = storage }

        func enqueue(_ job: consuming ExecutorJob) {
            _ = storage.reachability
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }

        /// Returns when the reader waits for the next state.
        func drain() async {
            await withCheckedContinuation { done in queue.async { done.resume() } }
        }
    }

    @Test(.timeLimit(.minutes(1))) func readersExecutorMayAskForTheState() async {
        let storage = ReachabilityStorage()
        let executor = AskingExecutor(storage)
        let changes = storage.makeStream()
        let states = Recorder<NetworkReachability>()
        let reader = Task(executorPreference: executor) {
            for await state in changes { states.record(state) }
        }
        await executor.drain()
        storage.begin()
        let sent = [NetworkReachability(.notReachable), NetworkReachability(.reachableViaWiFi)]
        for (index, state) in sent.enumerated() {
            storage.receive(state)
            await states.wait(for: index + 1)
            await executor.drain()
        }
        #expect(states.values == sent)
        storage.finish()
        await reader.value
    }

    @Test func managersGoWhileTheyAreStarted() async throws {
        for _ in 0..<200 {
            let manager = quiet(NetworkReachabilityManager(address: "127.0.0.1"))
            manager.statusChangeHandler = { _ in }
            try manager.startMonitoring()
        }
        weak var gone: NetworkReachabilityManager?
        do {
            let manager = quiet(NetworkReachabilityManager(domain: "localhost"))
            gone = manager
            try manager.startMonitoring()
        }
        // Its queue may still be telling, and holds it meanwhile.
        await eventually { gone == nil }
    }

    @Test(
        arguments: [
            ("", ""), ("example.org", "example.org"), ("127.0.0.1\0", "127.0.0.1\u{FFFD}"), ("300.1.1.1", "300.1.1.1"),
            ("127.0.0.1%lo", "127.0.0.1%lo"), ("::1\n\u{1B}[2J", "::1\u{FFFD}\u{FFFD}[2J"),
        ])
    func whatIsNoAddressIsAnErrorOfTheStart(address: String, shown: String) {
        let manager = NetworkReachabilityManager(address: address)
        let error = #expect(throws: SessionError.self) { try manager.startMonitoring() }
        #expect(error?.code == .invalidInput)
        let expected = "expected an IPv4 or IPv6 address, such as 192.0.2.1 or fe80::1%eth0"
        #expect(error?.message == "invalid address \"\(shown)\": \(expected)")
        #expect(manager.status == .unknown)
    }

    @Test(arguments: ["", "a\0b", String(repeating: "a", count: 256)])
    func whatIsNoNameIsAnErrorOfTheStart(domain: String) {
        #expect(failure(of: NetworkReachabilityManager(domain: domain)) == .invalidInput)
    }

    @Test func statusesHaveAFNetworkingsNumbersAndWords() {
        let statuses = [-1, 0, 1, 2].map { NetworkReachabilityStatus(rawValue: $0) }
        #expect(statuses == [.unknown, .notReachable, .reachableViaWWAN, .reachableViaWiFi])
        #expect(
            statuses.compactMap { $0?.description } == [
                "Unknown", "Not Reachable", "Reachable via WWAN", "Reachable via WiFi",
            ])
    }

    @Test func thereIsOneSharedManager() {
        #expect(NetworkReachabilityManager.shared === NetworkReachabilityManager.shared)
    }
}
