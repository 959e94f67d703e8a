import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite("What a stream keeps for its reader")
struct StreamStateTests {
    /// A state, and what was asked of it.
    private final class Keeper {
        private(set) var state = StreamState()

        /// Whether there was room.
        @discardableResult
        func give(_ bytes: [UInt8]) -> Bool {
            let step = bytes.withUnsafeBytes { state.take($0) }
            #expect(step.waiter == nil)
            #expect(!step.mustWake)
            return step.isTaken
        }

        func take() -> (bytes: [UInt8], mustWake: Bool)? {
            state.takeChunk().map { (Array($0.0), $0.mustWake) }
        }

        func finish() {
            let told = state.finish(SessionError(.truncated))
            #expect(told == nil)
        }
    }

    private let keeper = Keeper()

    @Test("Pieces that nobody waits for are taken together, in their order")
    func together() throws {
        #expect(keeper.take() == nil)
        for round in 0..<3 as Range<UInt8> {
            for piece in 0..<5 as Range<UInt8> { keeper.give([round, piece]) }
            keeper.give([])
            #expect(keeper.state.buffered == 10)
            let taken = keeper.take()
            #expect(taken?.bytes == (0..<5).flatMap { [round, $0] })
            #expect(taken?.mustWake == false)
            #expect(keeper.take() == nil)
        }
    }

    @Test("Chunks that the reader keeps aren't overwritten by later ones")
    func kept() throws {
        var state = StreamState()
        var kept: [(expected: Data, chunk: Data)] = []
        var number: UInt8 = 0
        for round in 0..<12 {
            for size in [1, 16 * 1024 - 1, 16 * 1024, 100_000, 600_000, 20_000] {
                number &+= 1
                let expected = Data(repeating: number, count: size)
                for start in stride(from: 0, to: size, by: 9_999) {
                    let piece = expected[start..<min(start + 9_999, size)]
                    let step = piece.withUnsafeBytes { state.take($0) }
                    #expect(step.isTaken)
                }
                let taken = state.takeChunk()
                let (chunk, mustWake) = try #require(taken)
                #expect(!mustWake && chunk == expected)
                kept.append((expected, chunk))
            }
            // Some are released early, some late, in another order than they were made in.
            if round % 3 == 1 { kept.removeSubrange(0..<kept.count / 2) }
            if round % 5 == 4 { kept.reverse() }
        }
        #expect(kept.allSatisfy { $0.chunk == $0.expected })
    }

    @Test("A stream that has become slow doesn't keep the memory of its large chunks")
    func shrinks() {
        keeper.give([UInt8](repeating: 1, count: 600_000))
        #expect(keeper.state.reserved >= 600_000)
        #expect(keeper.take()?.bytes.count == 600_000)
        for _ in 0..<2 {
            keeper.give([2])
            #expect(keeper.take()?.bytes == [2])
        }
        keeper.give([3])
        #expect(keeper.state.reserved == 16 * 1024)
    }

    @Test("Beyond the capacity the transfer is put off, and woken by the one who takes")
    func putOff() throws {
        let piece = [UInt8](repeating: 7, count: 100_000)
        for _ in 0..<3 {
            var count = 0
            while keeper.give(piece) { count += piece.count }
            #expect(count == keeper.state.buffered)
            #expect(count < StreamState.capacity + piece.count)
            #expect(keeper.state.isPutOff)
            let taken = keeper.take()
            #expect(taken?.bytes.count == count)
            #expect(taken?.mustWake == true)
            #expect(!keeper.state.isPutOff)
        }
    }

    @Test("The end does not hide what was not taken")
    func end() {
        keeper.give([1])
        keeper.finish()
        #expect(keeper.take()?.bytes == [1])
        #expect(keeper.take() == nil)
    }

    /// What a reader that waits is told after pieces of some sizes, before the next one.
    private func told(after sizes: [Int], wakes: inout Int) async -> StreamState.Answer? {
        let state = Locked(StreamState())
        var count = 0
        let task = Task {
            await withUnsafeContinuation { waiter in
                _ = state.withLock { $0.waitForChunk(waiter) }
            }
        }
        while state.withLock({ !$0.hasReader }) { await Task.yield() }
        var isTold = false
        for size in sizes {
            #expect(!isTold)
            let bytes = [UInt8](repeating: 1, count: size)
            let step = bytes.withUnsafeBytes { bytes in state.withLock { $0.take(bytes) } }
            if step.mustWake { count += 1 }
            step.waiter?.resume(returning: .ready)
            isTold = step.waiter != nil
        }
        wakes = count
        if !isTold {
            guard let waiter = state.withLock({ $0.wakeReader() }) else { return nil }
            waiter.resume(returning: .end)
        }
        return await task.value
    }

    @Test(
        "A reader that waits is told after the last piece of what was read, or after much, else by one wake",
        arguments: [
            ([1], 0, true), ([16_383], 0, true), ([16_385], 0, true), ([16_384], 1, false),
            ([16_384, 16_384, 16_384], 1, false), ([16_384, 16_384, 5], 1, true),
            (Array(repeating: 16_384, count: 15), 1, false), (Array(repeating: 16_384, count: 16), 1, true),
        ] as [([Int], Int, Bool)])
    func waking(sizes: [Int], expected: Int, isTold: Bool) async {
        var wakes = 0
        switch await told(after: sizes, wakes: &wakes) {
        case .ready: #expect(isTold)
        case .end: #expect(!isTold)
        default: Issue.record("neither told nor woken")
        }
        #expect(wakes == expected)
    }

    @Test("Small chunks after large ones and large after small")
    func sizes() {
        for count in [300_000, 3, 9, 300_000, 1, 16_384, 40_000] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
            keeper.give(Array(bytes[..<(count / 2)]))
            keeper.give(Array(bytes[(count / 2)...]))
            #expect(keeper.take()?.bytes == bytes)
        }
    }
}
