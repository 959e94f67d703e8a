import FoundationEssentials
import Testing

@testable import SwiftAFImage

/// A queue behind a reference, so that it can change inside an expectation.
private final class Subject {
    typealias Waiting = LoadQueue<String, String, String>.Waiting

    private var queue: LoadQueue<String, String, String>

    init(maximumActive: Int, prioritization: ImageDownloadPrioritization) {
        queue = LoadQueue(maximumActive: maximumActive, prioritization: prioritization)
    }

    var activeCount: Int { queue.activeCount }
    var queuedCount: Int { queue.queuedCount }

    func isWanted(_ run: Int) -> Bool { queue.spec(of: run) != nil }
    func begin(_ run: Int, by work: String) -> Bool { queue.begin(run, by: work) }
    func next() -> (key: String, run: Int)? { queue.next().map { ($0.spec, $0.run) } }
    func finish(_ run: Int) -> [Waiting] { queue.finish(run).waiting }

    /// The order of an image is its key.
    func add(_ waiting: Waiting, for key: String, priority: Int) {
        queue.add(waiting, for: key, key, priority: priority)
    }

    func cancel(_ id: UUID, for key: String) -> (handler: String, work: String?)? {
        queue.cancel(id, for: key).map { ($0.waiting[0].handler, $0.work) }
    }
}

/// Who waits for what, without threads.
struct LoadQueueTests {
    private func waiting(_ name: String, _ id: UUID = UUID()) -> Subject.Waiting {
        Subject.Waiting(receiptID: id, handler: name)
    }

    private func keys(_ queue: Subject) -> [String] {
        var keys: [String] = []
        while let next = queue.next() { keys.append(next.key) }
        return keys
    }

    @Test(arguments: [ImageDownloadPrioritization.fifo, .lifo])
    func ordersByPriorityThenPrioritization(prioritization: ImageDownloadPrioritization) {
        let queue = Subject(maximumActive: 9, prioritization: prioritization)
        for key in ["a", "b", "c"] { queue.add(waiting(key), for: key, priority: 0) }
        queue.add(waiting("d"), for: "d", priority: 1)
        queue.add(waiting("e"), for: "e", priority: -1)
        queue.add(waiting("f"), for: "f", priority: 1)
        #expect(
            keys(queue)
                == (prioritization == .fifo ? ["d", "f", "a", "b", "c", "e"] : ["f", "d", "c", "b", "a", "e"]))
    }

    @Test func limitsActiveLoadsAndStartsNextWhenOneEnds() throws {
        let queue = Subject(maximumActive: 2, prioritization: .fifo)
        for key in ["a", "b", "c"] { queue.add(waiting(key), for: key, priority: 0) }
        let first = try #require(queue.next())
        _ = try #require(queue.next())
        #expect(queue.next() == nil)
        #expect((queue.activeCount, queue.queuedCount) == (2, 1))
        #expect(queue.finish(first.run).map(\.handler) == ["a"])
        #expect(queue.finish(first.run).isEmpty)
        #expect(queue.next()?.key == "c")
    }

    @Test func equalKeysMergeAndTakeHighestPriority() throws {
        let queue = Subject(maximumActive: 1, prioritization: .fifo)
        queue.add(waiting("1"), for: "a", priority: 0)
        queue.add(waiting("2"), for: "b", priority: 0)
        queue.add(waiting("3"), for: "c", priority: 0)
        queue.add(waiting("4"), for: "c", priority: 5)
        queue.add(waiting("5"), for: "c", priority: 1)
        let next = try #require(queue.next())
        #expect(next.key == "c")
        queue.add(waiting("6"), for: "c", priority: 9)
        #expect(queue.finish(next.run).map(\.handler) == ["3", "4", "5", "6"])
        #expect(queue.next()?.key == "a")
    }

    @Test func cancellingOneHandlerKeepsOthers() throws {
        let queue = Subject(maximumActive: 1, prioritization: .fifo)
        let id = UUID()
        queue.add(waiting("1", id), for: "a", priority: 0)
        queue.add(waiting("2"), for: "a", priority: 0)
        let next = try #require(queue.next())
        #expect(!queue.begin(next.run, by: "work"))
        let cancelled = try #require(queue.cancel(id, for: "a"))
        #expect(cancelled.handler == "1" && cancelled.work == nil && queue.isWanted(next.run))
        #expect(queue.cancel(id, for: "a") == nil)
        #expect(queue.finish(next.run).map(\.handler) == ["2"])
    }

    @Test func cancellingQueuedLoadStartsNoOther() throws {
        let queue = Subject(maximumActive: 1, prioritization: .fifo)
        let id = UUID()
        queue.add(waiting("1"), for: "a", priority: 0)
        queue.add(waiting("2", id), for: "b", priority: 0)
        queue.add(waiting("3"), for: "c", priority: 0)
        _ = try #require(queue.next())
        #expect(queue.cancel(id, for: "b")?.handler == "2")
        #expect(queue.next() == nil)
        #expect((queue.activeCount, queue.queuedCount) == (1, 1))
    }

    @Test func cancelledLoadKeepsItsSlotUntilItEnds() throws {
        let queue = Subject(maximumActive: 2, prioritization: .fifo)
        let id = UUID()
        queue.add(waiting("1", id), for: "a", priority: 0)
        let first = try #require(queue.next())
        #expect(!queue.begin(first.run, by: "work"))
        #expect(queue.cancel(id, for: "a")?.work == "work")
        #expect(!queue.isWanted(first.run) && queue.activeCount == 1)
        queue.add(waiting("2"), for: "a", priority: 0)
        queue.add(waiting("3"), for: "b", priority: 0)
        #expect(queue.next()?.key == "b")
        #expect(queue.next() == nil)
        #expect(queue.finish(first.run).isEmpty)
        let second = try #require(queue.next())
        #expect(second.key == "a" && queue.isWanted(second.run))
        #expect(queue.finish(second.run).map(\.handler) == ["2"])
        #expect(queue.activeCount == 1)
    }

    @Test func cancelsTheWorkOfARunThatWasGivenUpBeforeItBegan() throws {
        let queue = Subject(maximumActive: 1, prioritization: .fifo)
        let id = UUID()
        queue.add(waiting("1", id), for: "a", priority: 0)
        let next = try #require(queue.next())
        let cancelled = try #require(queue.cancel(id, for: "a"))
        #expect(cancelled.handler == "1" && cancelled.work == nil)
        #expect(queue.begin(next.run, by: "work"))
        #expect(queue.finish(next.run).isEmpty && queue.activeCount == 0)
        // The work of a run that has ended isn't kept.
        #expect(!queue.begin(next.run, by: "work"))
    }

    @Test func usesTheOrderOfTheFirstRequest() {
        var queue = LoadQueue<String, String, String>(maximumActive: 1, prioritization: .fifo)
        queue.add(waiting("1"), for: "a", "first", priority: 0)
        queue.add(waiting("2"), for: "a", "second", priority: 0)
        let next = queue.next()
        #expect(next?.spec == "first")
        queue.add(waiting("3"), for: "a", "third", priority: 0)
        #expect(next.flatMap { queue.spec(of: $0.run) } == "first")
    }

    @Test(arguments: [ImageDownloadPrioritization.fifo, .lifo])
    func choosesLikeSortedListInRandomOperations(prioritization: ImageDownloadPrioritization) {
        let queue = Subject(maximumActive: 3, prioritization: prioritization)
        var line: [(key: String, id: UUID, priority: Int)] = []
        var active: [(key: String, run: Int)] = []
        var random = SystemRandomNumberGenerator()
        for step in 0..<3000 {
            switch Int.random(in: 0..<6, using: &random) {
            case 0...2:
                let entry = (key: "\(step)", id: UUID(), priority: Int.random(in: -1...1, using: &random))
                queue.add(waiting(entry.key, entry.id), for: entry.key, priority: entry.priority)
                let index = line.firstIndex {
                    prioritization == .fifo ? $0.priority < entry.priority : $0.priority <= entry.priority
                }
                line.insert(entry, at: index ?? line.endIndex)
            case 3 where !line.isEmpty:
                let entry = line.remove(at: Int.random(in: line.indices, using: &random))
                #expect(queue.cancel(entry.id, for: entry.key)?.handler == entry.key)
            case 4 where !active.isEmpty:
                let run = active.removeFirst()
                #expect(queue.finish(run.run).map(\.handler) == [run.key])
            default:
                let next = queue.next()
                #expect(next?.key == (active.count < 3 ? line.first?.key : nil))
                if let next {
                    line.removeFirst()
                    active.append(next)
                }
            }
            #expect(queue.queuedCount == line.count)
        }
    }

    @Test func takes20000RequestsInOrder() {
        let queue = Subject(maximumActive: 1, prioritization: .fifo)
        let ids = (0..<20_000).map { _ in UUID() }
        for (number, id) in ids.enumerated() { queue.add(waiting("", id), for: "\(number)", priority: .min) }
        for number in ids.indices where number % 4 != 0 { _ = queue.cancel(ids[number], for: "\(number)") }
        #expect(queue.queuedCount == 5000)
        for number in stride(from: 0, to: ids.count, by: 4) {
            let next = queue.next()
            #expect(next?.key == "\(number)")
            if let next { _ = queue.finish(next.run) }
        }
        #expect(queue.next() == nil && queue.queuedCount == 0)
    }
}
