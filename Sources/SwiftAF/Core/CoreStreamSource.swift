internal import CAFCore
import FoundationEssentials

/// The source of a ``BodyStream``. A Swift task (the producer) iterates over the user's sequence and fills a bounded
/// buffer; the core (the reader) reads from the buffer. An empty buffer pauses the transfer, a full one suspends the
/// sequence (back-pressure).
///
/// A sequence that ignores cancellation keeps this object alive for as long as it runs, but doesn't keep the transfer.
///
/// Sendable, because everything that is neither locked nor constant is used on the reader's thread only: the loop
/// thread, for a request body.
final class CoreStreamSource: CoreBodySource, @unchecked Sendable {
    /// An event that the owner of the reader is notified of, on any thread.
    enum Notice: Sendable {
        /// The reader has waited for bytes or the end, and can read again.
        case canRead
        /// The sequence has failed, but the reader has already read all bytes of the declared length. It won't read
        /// again, so it can't be given the error.
        case failedLate
        /// The sequence has ended without an error, and the reader has already read all bytes of the declared length.
        case ended
    }

    typealias Notify = @Sendable (Notice) -> Void

    private let stream: BodyStream
    private let ring: Locked<BodyRing>
    private let notify: Notify
    /// The priority of the task that makes the request, which the reader's thread doesn't have.
    private let priority = Task.currentPriority
    /// Iterates over the sequence; nil before the first read, and after ``rewind()`` and ``close()``. Used on the
    /// reader's thread only.
    private var producer: Task<Void, Never>?

    /// - Parameter notify: Retained by the producer, which may never end, so it should refer to the transfer weakly.
    init(_ stream: BodyStream, notify: @escaping Notify) {
        self.stream = stream
        self.notify = notify
        ring = Locked(BodyRing(length: stream.length))
    }

    /// Makes the source of a request body, or of a form part.
    convenience init(_ stream: BodyStream, for task: CoreTask) {
        self.init(stream) { [weak task] notice in
            switch notice {
            case .canRead: task?.wake()
            case .failedLate: task?.bodyFailed()
            case .ended: break
            }
        }
    }

    override var length: Int64? { stream.length }
    override var isReplayable: Bool { stream.isReplayable }
    override var failure: (any Error)? { ring.withLock { $0.failure } }
    override var lateFailure: (any Error)? { ring.withLock { $0.lateFailure } }

    /// Whether the sequence has ended, or isn't running. Call on the reader's thread.
    var hasEnded: Bool { producer == nil || ring.withLock { $0.isOver } }

    override func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        if producer == nil { startProducer() }
        let (result, waiter) = ring.withLock { $0.read(into: buffer) }
        waiter?.resume(returning: true)
        return switch result {
        case .bytes(let count): count
        case .end: AFC_READ_END
        case .notYet: AFC_READ_AGAIN
        case .failed: AFC_READ_FAILED
        }
    }

    override func rewind() -> Bool {
        stopProducer { $0.restart() }
        return true
    }

    override func close() {
        stopProducer { $0.close() }
    }

    private func startProducer() {
        let run = ring.withLock { $0.run }
        do throws(SessionError) {
            try stream.begin()
        } catch {
            // Not thrown: the reader is given the error by the read that has called this function.
            return finish(run, error)
        }
        producer = Task(priority: priority) { [self] in
            do {
                try await stream.produce { [self] chunk in await offer(chunk, run) }
                finish(run, nil)
            } catch {
                finish(run, error)
            }
        }
    }

    /// Cancels the producer. The ring is changed first, so that it ignores the error of the cancelled producer, which
    /// has an earlier run number.
    private func stopProducer(_ change: (inout BodyRing) -> BodyRing.Waiter?) {
        let waiter = ring.withLock { change(&$0) }
        producer?.cancel()
        producer = nil
        waiter?.resume(returning: false)
    }

    /// Appends a chunk and returns when there is space for the next one. Returns false if no more data is needed.
    private func offer(_ chunk: Data, _ run: Int) async -> Bool {
        let (next, notice) = ring.withLock { $0.append(chunk, run: run) }
        if let notice { notify(notice) }
        switch next {
        case .produce: return true
        case .stop: return false
        case .wait:
            return await withCheckedContinuation { continuation in
                let isWanted = ring.withLock { $0.wait(continuation, run: run) }
                if let isWanted { continuation.resume(returning: isWanted) }
            }
        }
    }

    /// Reports the end of the producer's sequence to the ring.
    private func finish(_ run: Int, _ error: (any Error)?) {
        let notice = ring.withLock { $0.finish(error, run: run) }
        if let notice { notify(notice) }
    }
}

/// A bounded buffer between a producer and a reader. Its functions have no side effects outside the value: they return
/// the producer to resume and the notice to pass on, and the owner does both after it has released its lock.
struct BodyRing {
    enum Reading: Equatable {
        case bytes(Int)
        case end
        case notYet
        case failed
    }

    /// What the producer must do next: continue, call ``wait(_:run:)``, or end.
    enum Production {
        case produce
        case wait
        case stop
    }

    typealias Waiter = CheckedContinuation<Bool, Never>

    private enum Phase {
        /// The sequence continues, and neither side waits.
        case flowing
        /// The buffer is empty, and the reader waits for a notice.
        case readerWaits
        /// The buffer is full, and the producer waits for space.
        case producerWaits(Waiter)
        /// The sequence has ended. The bytes in the buffer can still be read.
        case ended
        /// The sequence threw an error, or had the wrong length. The next read fails.
        case failed(any Error)
        /// The same, after the reader had read all bytes of the declared length, so that no other read is expected.
        case failedLate(any Error)
        /// The reader has closed the body.
        case closed
    }

    /// The size at which the producer is suspended. The buffer can exceed it by one chunk.
    static let maximumBytes = 256 * 1024
    /// The size up to which small chunks are merged.
    private static let mergedSize = 16 * 1024

    private let length: Int64?
    private var phase = Phase.flowing
    private var chunks: [Data] = []
    /// The number of bytes of the first chunk that have been read.
    private var offset = 0
    private var buffered = 0
    /// The number of bytes that the producer has appended in this run.
    private var appended: Int64 = 0
    /// Incremented when the body restarts, to distinguish an earlier producer from the current one.
    private(set) var run = 0

    init(length: Int64?) {
        self.length = length
    }

    /// The error of the sequence. Kept when the ring is closed, because it is the cause of the request's failure.
    var failure: (any Error)? {
        switch phase {
        case .failed(let error), .failedLate(let error): error
        case .flowing, .readerWaits, .producerWaits, .ended, .closed: nil
        }
    }

    /// The error, if it came after the last read; see ``CoreStreamSource/Notice/failedLate``.
    var lateFailure: (any Error)? { if case .failedLate(let error) = phase { error } else { nil } }

    /// Whether the sequence has ended, or no more of its bytes are needed.
    var isOver: Bool {
        switch phase {
        case .ended, .failed, .failedLate, .closed: true
        case .flowing, .readerWaits, .producerWaits: false
        }
    }

    // MARK: The producer

    /// Appends a chunk, unless it is of an earlier run or exceeds the declared length. Returns what the producer must
    /// do next, and the notice to pass on.
    mutating func append(_ chunk: Data, run: Int) -> (Production, CoreStreamSource.Notice?) {
        guard run == self.run, !isOver else { return (.stop, nil) }
        guard !chunk.isEmpty else { return (.produce, nil) }
        if let length, Int64(chunk.count) > length - appended {
            return (.stop, fail(CoreBodyError(message: "the request body is longer than its \(length) bytes")))
        }
        appended += Int64(chunk.count)
        push(chunk)
        return (isFull ? .wait : .produce, takeReader())
    }

    /// Suspends the producer and returns nil. If it needn't wait, returns at once whether it may continue.
    mutating func wait(_ waiter: Waiter, run: Int) -> Bool? {
        guard run == self.run, !isOver else { return false }
        guard isFull else { return true }
        phase = .producerWaits(waiter)
        return nil
    }

    /// Ends the body, with an error or without one. Returns the notice to pass on.
    mutating func finish(_ error: (any Error)?, run: Int) -> CoreStreamSource.Notice? {
        guard run == self.run, !isOver else { return nil }
        if let error { return fail(error) }
        let notice = isComplete ? .ended : takeReader()
        phase = .ended
        return notice
    }

    private mutating func fail(_ error: any Error) -> CoreStreamSource.Notice? {
        if isComplete {
            phase = .failedLate(error)
            return .failedLate
        }
        let notice = takeReader()
        phase = .failed(error)
        dropBytes()
        return notice
    }

    /// Ends the wait of the reader, if it waits. Returns the notice to pass on.
    private mutating func takeReader() -> CoreStreamSource.Notice? {
        guard case .readerWaits = phase else { return nil }
        phase = .flowing
        return .canRead
    }

    private mutating func push(_ chunk: Data) {
        buffered += chunk.count
        if let last = chunks.indices.last, chunks[last].count + chunk.count <= Self.mergedSize {
            chunks[last].append(chunk)
        } else {
            chunks.append(chunk)
        }
    }

    // MARK: The reader

    /// Moves bytes into the reader's buffer, as many as there are and fit.
    ///
    /// - Returns: What was read, and the waiting producer, if there is space for it again: the caller must resume it
    ///   with true.
    mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> (Reading, Waiter?) {
        switch phase {
        case .failed, .failedLate, .closed:
            return (.failed, nil)
        case .flowing, .readerWaits, .producerWaits, .ended:
            break
        }
        let count = takeBytes(buffer)
        if count > 0 { return (.bytes(count), takeProducer()) }
        // The sequence needn't have ended: it may wait for the response before it returns. Its end is reported by a
        // notice.
        if isComplete { return (.end, nil) }
        if case .ended = phase { return (.end, nil) }
        phase = .readerWaits
        return (.notYet, nil)
    }

    private mutating func takeBytes(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        var count = 0
        while count < buffer.count, let first = chunks.first {
            let rest = first.dropFirst(offset)
            let copied = rest.copyBytes(to: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]))
            count += copied
            if copied == rest.count {
                chunks.removeFirst()
                offset = 0
            } else {
                offset += copied
            }
        }
        buffered -= count
        return count
    }

    /// Ends the wait of the producer, if it waits and there is space. The caller must resume it.
    private mutating func takeProducer() -> Waiter? {
        guard case .producerWaits(let waiter) = phase, !isFull else { return nil }
        phase = .flowing
        return waiter
    }

    /// Clears the buffer for another run. The caller must resume the returned producer with false.
    mutating func restart() -> Waiter? {
        let waiter = reset()
        phase = .flowing
        return waiter
    }

    /// Clears the buffer for good. The caller must resume the returned producer with false.
    mutating func close() -> Waiter? {
        let waiter = reset()
        if failure == nil { phase = .closed }
        return waiter
    }

    private mutating func reset() -> Waiter? {
        run += 1
        appended = 0
        dropBytes()
        if case .producerWaits(let waiter) = phase { return waiter }
        return nil
    }

    private mutating func dropBytes() {
        chunks = []
        offset = 0
        buffered = 0
    }

    /// Whether the reader has read all bytes of a body of known length.
    private var isComplete: Bool { appended == length && buffered == 0 }

    private var isFull: Bool { buffered >= Self.maximumBytes }
}
