import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite struct StreamStateTests {
    /// A state, and what was asked of it.
    private final class Keeper {
        private(set) var state = StreamState.reading()

        /// Whether there was room.
        @discardableResult
        func give(_ bytes: [UInt8]) -> Bool {
            guard let step = state.give(bytes) else { return false }
            #expect(step.reader == nil)
            #expect(!step.mustWake)
            return true
        }

        func take() -> (bytes: [UInt8], mustWake: Bool)? {
            state.takeChunk().map { (Array($0.0), $0.mustWake) }
        }

        /// All chunks, and whether one of them resumes the transfer.
        func takeAll() -> (bytes: [UInt8], chunks: [Int], mustWake: Bool) {
            var taken: (bytes: [UInt8], chunks: [Int], mustWake: Bool) = ([], [], false)
            while let (bytes, mustWake) = take() {
                taken.bytes += bytes
                taken.chunks.append(bytes.count)
                #expect(!(taken.mustWake && mustWake))
                taken.mustWake = taken.mustWake || mustWake
            }
            return taken
        }

        /// Calls `body` while a piece of nines is being written.
        func reserving<Result>(_ count: Int, _ body: () -> Result) -> Result? {
            guard let space = state.beginPiece(count) else { return nil }
            let result = body()
            [UInt8](repeating: 9, count: count).withUnsafeBytes { space.copy($0) }
            _ = state.endPiece(space)
            return result
        }

        func finish() {
            if case .nothing = state.finish(SessionError(.truncated)) { return }
            Issue.record("a call was resumed")
        }
    }

    private let keeper = Keeper()

    @Test func combinesUnreadPiecesInOrder() throws {
        #expect(keeper.take() == nil)
        for round in 0..<3 as Range<UInt8> {
            for piece in 0..<5 as Range<UInt8> { keeper.give([round, piece]) }
            #expect(keeper.state.buffered == 10)
            let taken = keeper.take()
            #expect(taken?.bytes == (0..<5).flatMap { [round, $0] })
            #expect(taken?.mustWake == false)
            #expect(keeper.take() == nil)
        }
    }

    @Test func keptChunksAreNotOverwritten() {
        var state = StreamState.reading()
        var kept: [(expected: Data, chunk: Data)] = []
        var number: UInt8 = 0
        for round in 0..<12 {
            for size in [1, 16 * 1024 - 1, 16 * 1024, 100_000, 600_000, 20_000] {
                number &+= 1
                let expected = Data(repeating: number, count: size)
                for start in stride(from: 0, to: size, by: 9_999) {
                    let step = state.give(Array(expected[start..<min(start + 9_999, size)]))
                    #expect(step != nil)
                }
                var count = 0
                while let (chunk, mustWake) = state.takeChunk() {
                    #expect(!mustWake && !chunk.isEmpty)
                    kept.append((expected[count..<(count + chunk.count)], chunk))
                    count += chunk.count
                }
                #expect(count == size)
            }
            // Some are released early, some late, in another order than they were made in.
            if round % 3 == 1 { kept.removeSubrange(0..<kept.count / 2) }
            if round % 5 == 4 { kept.reverse() }
        }
        #expect(kept.allSatisfy { $0.chunk == $0.expected })
    }

    @Test func slowStreamReleasesMemoryOfLargeChunks() {
        for _ in 0..<2 {
            for _ in 0..<60 { keeper.give([UInt8](repeating: 1, count: 10_000)) }
            #expect(keeper.state.reserved >= 600_000)
            #expect(keeper.takeAll().bytes.count == 600_000)
            #expect(keeper.state.spare > 0)
            for _ in 0..<2 {
                keeper.give([2])
                #expect(keeper.takeAll().bytes == [2])
            }
            keeper.give([3])
            #expect(keeper.state.reserved == 16 * 1024)
            #expect(keeper.state.spare == 0)
            #expect(keeper.takeAll().bytes == [3])
        }
    }

    @Test(arguments: [1_000, 16_384, 100_000])
    func pausesBeyondCapacityAndResumesAtHalf(size: Int) throws {
        let piece = [UInt8](repeating: 7, count: size)
        for _ in 0..<3 {
            var count = 0
            while keeper.give(piece) { count += piece.count }
            #expect(count == keeper.state.buffered)
            #expect(count >= StreamState.capacity && count < StreamState.capacity + piece.count)
            // Memory that isn't filled is at most the rest of the last block.
            #expect(keeper.state.reserved < count + 128 * 1024)
            var wakes: [Int] = []
            while let (_, mustWake) = keeper.take() {
                if mustWake { wakes.append(keeper.state.buffered) }
                #expect(keeper.state.isAtRest == wakes.isEmpty)
            }
            let left = try #require(wakes.first)
            #expect(wakes.count == 1 && left <= StreamState.capacity / 2 && left > StreamState.capacity / 4)
        }
    }

    @Test func writtenPieceResumesWaitingReader() async {
        let state = Locked(StreamState.reading())
        let first = state.withLock { $0.give([1, 2]) }
        #expect(first != nil)
        let space = state.withLock { $0.beginPiece(2) }
        #expect(state.withLock { $0.takeChunk() } == nil)
        let task = Task {
            await withUnsafeContinuation { waiter in
                let event = state.withLock { $0.waitForChunk(waiter) }
                if let event { waiter.resume(returning: event) }
            }
        }
        await eventually { state.withLock { $0.hasReader } }
        if let space {
            [UInt8]([3, 4]).withUnsafeBytes { space.copy($0) }
            state.withLock { $0.endPiece(space) }.reader?.resume(returning: .ready)
        }
        guard case .ready = await task.value else {
            Issue.record("not told")
            return
        }
        #expect(state.withLock { $0.takeChunk() }.map { Array($0.0) } == [1, 2, 3, 4])
    }

    @Test func refusesASecondReader() async {
        let state = Locked(StreamState.reading())
        let first = Task {
            await withUnsafeContinuation { waiter in
                let event = state.withLock { $0.waitForChunk(waiter) }
                if let event { waiter.resume(returning: event) }
            }
        }
        await eventually { state.withLock { $0.hasReader } }
        let second: StreamState.Next = await withUnsafeContinuation { waiter in
            let event = state.withLock { $0.waitForChunk(waiter) }
            if let event { waiter.resume(returning: event) }
        }
        if case .failed(let error) = second {
            #expect(error.code == .invalidInput)
            #expect(error.message == "the body is already being read by another task")
        } else {
            Issue.record("two readers")
        }
        state.withLock { $0.finish(nil) }.resume()
        guard case .end = await first.value else {
            Issue.record("not resumed")
            return
        }
    }

    @Test func takesFullBlockWhileNextIsWritten() {
        keeper.give([UInt8](repeating: 1, count: 16 * 1024))
        #expect(keeper.reserving(10) { keeper.takeAll().chunks } == [16 * 1024])
        #expect(keeper.takeAll().bytes == [UInt8](repeating: 9, count: 10))
    }

    @Test func endKeepsBytesThatWereNotRead() {
        keeper.give([1])
        keeper.finish()
        #expect(keeper.take()?.bytes == [1])
        #expect(keeper.take() == nil)
    }

    @Test func keepsAHeadThatArrivesBeforeItIsAwaitedAndTheFailureBehindIt() async {
        let state = Locked(StreamState.reading())
        state.withLock { $0.finish(SessionError(.truncated)) }.resume()
        guard case .head(let head) = await Self.opening(of: state), head.status == 200 else {
            Issue.record("no head")
            return
        }
        for _ in 0..<2 {
            let next: StreamState.Next = await withUnsafeContinuation { reader in
                let next = state.withLock { $0.waitForChunk(reader) }
                if let next { reader.resume(returning: next) }
            }
            switch next {
            case .failed(let error): #expect(error.code == .truncated)
            case .end, .chunk, .ready: Issue.record("no failure")
            }
        }
    }

    @Test func failsToOpenWithTheErrorOfATransferWithoutAHead() async {
        for isWaiting in [true, false] {
            let state = Locked(StreamState())
            let waiting = Task { await Self.opening(of: state) }
            if isWaiting { await eventually { state.withLock { $0.hasOpener } } }
            state.withLock { $0.finish(SessionError(.dns)) }.resume()
            guard case .failed(let error) = await waiting.value else {
                Issue.record("opened")
                return
            }
            #expect(error?.code == .dns)
        }
    }

    private static func opening(of state: borrowing Locked<StreamState>) async -> StreamState.Opening {
        await withUnsafeContinuation { opener in
            let opening = state.withLock { $0.waitForHead(opener) }
            if let opening { opener.resume(returning: opening) }
        }
    }

    /// What a reader that waits is told after pieces of some sizes, before the next one.
    private func told(after sizes: [Int], wakes: inout Int) async -> StreamState.Next? {
        let state = Locked(StreamState.reading())
        var count = 0
        let task = Task {
            await withUnsafeContinuation { waiter in
                _ = state.withLock { $0.waitForChunk(waiter) }
            }
        }
        await eventually { state.withLock { $0.hasReader } }
        var isTold = false
        for size in sizes {
            #expect(!isTold)
            let bytes = [UInt8](repeating: 1, count: size)
            guard let step = state.withLock({ $0.give(bytes) }) else {
                Issue.record("no room")
                continue
            }
            if step.mustWake { count += 1 }
            step.reader?.resume(returning: .ready)
            isTold = step.reader != nil
        }
        wakes = count
        if !isTold {
            guard let waiter = state.withLock({ $0.wakeReader() }) else { return nil }
            waiter.resume(returning: .end)
        }
        return await task.value
    }

    @Test(
        arguments: [
            ([1], 0, true), ([16_383], 0, true), ([16_385], 1, false), ([16_384], 1, false),
            ([16_384, 16_384, 16_384], 1, false), ([16_384, 16_384, 5], 1, false),
            (Array(repeating: 16_384, count: 31), 1, false), (Array(repeating: 16_384, count: 32), 1, true),
        ] as [([Int], Int, Bool)])
    func resumesWaitingReaderAfterShortReadOrEnoughBytes(sizes: [Int], expected: Int, isTold: Bool) async {
        var wakes = 0
        switch await told(after: sizes, wakes: &wakes) {
        case .ready: #expect(isTold)
        case .end: #expect(!isTold)
        default: Issue.record("neither told nor woken")
        }
        #expect(wakes == expected)
    }

    @Test func alternatingChunkSizesKeepTheirBytes() {
        for count in [300_000, 3, 9, 300_000, 1, 16_384, 40_000] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
            keeper.give(Array(bytes[..<(count / 2)]))
            keeper.give(Array(bytes[(count / 2)...]))
            let taken = keeper.takeAll()
            #expect(taken.bytes == bytes)
        }
    }
}

extension StreamState {
    /// A state whose head has arrived.
    fileprivate static func reading() -> StreamState {
        var state = StreamState()
        let opener = state.receive(HTTPResponse(status: 200, url: "http://h/"))
        #expect(opener == nil)
        return state
    }

    /// Adds a piece; nil if there is no room.
    fileprivate mutating func give(_ bytes: [UInt8]) -> Step? {
        guard !bytes.isEmpty, let space = beginPiece(bytes.count) else { return nil }
        bytes.withUnsafeBytes { space.copy($0) }
        return endPiece(space)
    }
}
