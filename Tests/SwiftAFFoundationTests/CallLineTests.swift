import SwiftAF
import Testing

@testable import SwiftAFFoundation

@Suite(.timeLimit(.minutes(3))) struct CallLineTests {
    /// In quadratic time they would take longer than the limit.
    @Test func manyCallsProceedInOrderAfterTheFirstPlaceIsLeft() async {
        let line = CallLine()
        let order = Locked<[UInt64]>([])
        let places = (0..<50_000).map { _ in line.join() }
        await withTaskGroup(of: Void.self) { group in
            for place in places {
                group.addTask { @Sendable in
                    await line.waitForEarlierCalls(of: place)
                    order.withLock { $0.append(place) }
                    line.leave(place)
                }
            }
            line.leave(CallLine.firstID)
        }
        #expect(order.withLock { $0 } == places)
    }

    @Test func callThatIsCancelledDoesNotWaitAndKeepsItsPlace() async {
        let line = CallLine()
        let (first, second) = (line.join(), line.join())
        let cancelled = Task { await line.waitForEarlierCalls(of: first) }
        cancelled.cancel()
        await cancelled.value
        let waiting = Task {
            await line.waitForEarlierCalls(of: second)
            return Task.isCancelled
        }
        line.leave(CallLine.firstID)
        line.leave(first)
        #expect(await waiting.value == false)
        line.leave(second)
        // Nobody is before it.
        await line.waitForEarlierCalls(of: line.join())
    }
}
