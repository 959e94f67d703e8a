import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct MonitorQueueTests {
    /// Notes the number of each request that was created.
    private final class Numbers: EventMonitor {
        let values = Locked<[UInt64]>([])

        func requestCreated(_ request: MonitoredRequest) { values.withLock { $0.append(request.id) } }
    }

    private static func created(_ id: UInt64, _ group: MonitorGroup) -> MonitorQueue.Notice {
        .request(.created, MonitoredRequest(id: id, request: HTTPRequest("http://host/")), group)
    }

    @Test func deliversInOrderAcrossGroups() async throws {
        let (queue, numbers) = (MonitorQueue(), Numbers())
        let groups = try (0..<2).map { _ in try #require(MonitorGroup([numbers], on: queue)) }
        for id in 0..<1000 { queue.add(Self.created(UInt64(id), groups[id % 2])) }
        await queue.flush()
        #expect(numbers.values.withLock { $0 } == Array(0..<1000))
    }

    @Test func flushDeliversEarlierNoticesWhileOthersAreAdded() async throws {
        let queue = MonitorQueue()
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for _ in 0..<8 {
                tasks.addTask {
                    let numbers = Numbers()
                    let group = try #require(MonitorGroup([numbers], on: queue))
                    for id in 1...100 as ClosedRange<UInt64> {
                        queue.add(Self.created(id, group))
                        if id.isMultiple(of: 10) {
                            await queue.flush()
                            #expect(numbers.values.withLock { $0 } == Array(1...id))
                        }
                    }
                }
            }
            try await tasks.waitForAll()
        }
    }

    @Test func deliversNoticesOfAReleasedQueue() async throws {
        let numbers = Numbers()
        let ended = OneValueChannel<Void>()
        struct Ending: EventMonitor {
            let ended: OneValueChannel<Void>
            func managerInvalidated() { ended.send() }
        }
        do {
            let queue = MonitorQueue()
            let group = try #require(MonitorGroup([numbers, Ending(ended: ended)], on: queue))
            for id in 1...100 as ClosedRange<UInt64> { queue.add(Self.created(id, group)) }
            queue.add(.invalidated(group))
        }
        await ended.wait()
        #expect(numbers.values.withLock { $0 } == Array(1...100))
    }
}
