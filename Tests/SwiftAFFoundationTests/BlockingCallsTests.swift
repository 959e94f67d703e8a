import Dispatch
import Foundation
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFFoundation

@Suite(.timeLimit(.minutes(10))) struct BlockingCallsTests {
    @Test func callsBeyondTheMaximumWaitAndCancelledOnesAreNotMade() async throws {
        let calls = BlockingCalls<Int>(maximumCount: 2, threadName: "test")
        let gate = DispatchSemaphore(value: 0)
        let begun = Locked(0)
        let blocking = (0..<2).map { number in
            Task { @Sendable in
                try await calls.run {
                    begun.withLock { $0 += 1 }
                    gate.wait()
                    return number
                }
            }
        }
        while begun.withLock({ $0 }) < 2 { await Task.yield() }

        let unmade = Task {
            try await calls.run {
                Issue.record("a cancelled call is made")
                return 2
            }
        }
        let made = Task { try await calls.run { 3 } }
        unmade.cancel()
        await #expect(throws: CancellationError.self) { try await unmade.value }
        // One that runs isn't waited for.
        blocking[0].cancel()
        await #expect(throws: CancellationError.self) { try await blocking[0].value }
        #expect(begun.withLock { $0 } == 2)

        gate.signal()
        gate.signal()
        #expect(try await made.value == 3)
        #expect(try await blocking[1].value == 1)
    }

    @Test func callsThatWaitFailWhenAllThatRunWereCancelled() async throws {
        let calls = BlockingCalls<Int>(maximumCount: 1, threadName: "test")
        let gate = DispatchSemaphore(value: 0)
        let begun = Locked(false)
        let blocking = Task { @Sendable in
            try await calls.run {
                begun.exchange(true)
                gate.wait()
                return 0
            }
        }
        while !begun.withLock({ $0 }) { await Task.yield() }
        let waiting = Task { try await calls.run { 1 } }
        blocking.cancel()
        await #expect(throws: CancellationError.self) { try await blocking.value }
        await #expect(throws: BlockingThreadsExhausted.self) { try await waiting.value }
        gate.signal()
    }

    @Test func callThatIsCancelledBeforeItBeginsIsNotMade() async {
        let calls = BlockingCalls<Int>(maximumCount: 1, threadName: "test")
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await calls.run { 1 }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        // And it has left no trace.
        await #expect(throws: CocoaError.self) { try await calls.run { throw CocoaError(.fileReadUnknown) } }
    }

    @Test func manyCallsAreMadeOnAFewThreads() async throws {
        let calls = BlockingCalls<Int>(maximumCount: 3, threadName: "test")
        let running = Locked(0)
        let most = Locked(0)
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<1000 {
                group.addTask { @Sendable in
                    try await calls.run {
                        let count = running.withLock { count in
                            count += 1
                            return count
                        }
                        most.withLock { $0 = max($0, count) }
                        running.withLock { $0 -= 1 }
                        return number
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(sum == 499_500 && (1...3).contains(most.withLock { $0 }))
    }

    /// The threads of this process that read streams.
    private static func readerCount() -> Int {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tasks.count { task in
            FileManager.default.contents(atPath: "/proc/self/task/\(task)/comm") == Data("test-pipes\n".utf8)
        }
    }

    @Test func pipesWithoutBytesStopNeitherTheProgramNorTheirCancelledRequests() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try #require(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        // Opening it for reading doesn't wait.
        let writer = open(path, O_RDWR | O_CLOEXEC)
        let reads = BlockingCalls<Data?>(maximumCount: 64, threadName: "test-pipes")
        @Sendable func read(_ stream: InputStream) async throws -> [Data?] {
            var chunks = InputStreamChunks(stream, reads: reads).makeAsyncIterator()
            return [try await chunks.next(), try await chunks.next()]
        }
        let readers = (0..<300).map { _ in
            Task {
                try await read(try #require(InputStream(fileAtPath: path)))
            }
        }
        while Self.readerCount() < 64 { await Task.yield() }
        for reader in readers { reader.cancel() }
        for reader in readers {
            await #expect(throws: (any Error).self) { _ = try await reader.value }
        }
        #expect(Self.readerCount() <= 64)
        await withCheckedContinuation { done in DispatchQueue(label: "probe").async { done.resume() } }

        // It says so while no thread may ever be free, and reads again when one is.
        let error = await #expect(throws: BlockingThreadsExhausted.self) {
            try await read(InputStream(data: Data("x".utf8)))
        }
        #expect(error.map { "\($0)" } == "64 reads of cancelled requests still block, which is the maximum")
        close(writer)
        while Self.readerCount() > 0 { await Task.yield() }
        #expect(try await read(InputStream(data: Data("x".utf8))) == [Data("x".utf8), nil])
    }

    @Test func aStreamIsReadByOneRequestAtATime() async throws {
        let stream = InputStream(data: Data("hello".utf8))
        var (first, second) = (
            InputStreamChunks(stream).makeAsyncIterator(), InputStreamChunks(stream).makeAsyncIterator()
        )
        #expect(try await first.next() == Data("hello".utf8))
        let error = await #expect(throws: SessionError.self) { _ = try await second.next() }
        #expect(error?.code == .bodyNotReplayable)
        #expect(error?.message == "the body's InputStream is read by another request")
        #expect(try await first.next() == nil)
    }
}
