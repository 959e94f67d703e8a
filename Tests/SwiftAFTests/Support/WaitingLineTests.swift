import Testing

@testable import SwiftAF

@Suite struct WaitingLineTests {
    @Test func callsThatLeaveAnywhereKeepTheOrderOfTheOthers() {
        var line = WaitingLine<Int>()
        var expected: [(id: UInt64, waiter: Int?)] = []
        var numbers = SystemRandomNumberGenerator()
        for id in 0..<UInt64(5000) {
            line.wait(id, Int(id))
            expected.append((id, Int(id)))
            if id % 3 == 0 {
                let index = Int.random(in: expected.indices, using: &numbers)
                let wasFirst = line.leave(expected[index].id)
                #expect(wasFirst == (index == 0))
                expected.remove(at: index)
            } else if id % 7 == 0 {
                let index = Int.random(in: expected.indices, using: &numbers)
                let waiter = line.takeWaiter(of: expected[index].id)
                #expect(waiter == expected[index].waiter)
                expected[index].waiter = nil
            }
            #expect(line.firstID == expected.first?.id && line.isEmpty == expected.isEmpty)
        }
        while let first = expected.first {
            #expect(line.firstID == first.id)
            let waiter = line.takeFirstWaiter()
            let wasFirst = line.leave(first.id)
            #expect(waiter == first.waiter && wasFirst)
            expected.removeFirst()
        }
        #expect(line.isEmpty && line.firstID == nil)
    }

    @Test func callThatWaitsAgainKeepsItsPlace() {
        var line = WaitingLine<String>()
        for id in 1...3 as ClosedRange<UInt64> { line.wait(id, "\(id)") }
        let taken = [line.takeFirstWaiter(), line.takeFirstWaiter()]
        #expect(taken == ["1", nil])
        line.wait(1, "again")
        let waiters = [line.takeWaiters(), line.takeWaiters()]
        #expect(waiters == [["again", "2", "3"], []])
        let wereFirst = [line.leave(7), line.leave(2), line.leave(1)]
        #expect(wereFirst == [false, false, true] && line.firstID == 3)
    }
}
