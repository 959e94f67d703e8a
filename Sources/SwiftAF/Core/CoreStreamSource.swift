internal import CAFCore
import FoundationEssentials

/// The source of a ``BodyStream``: a Swift task iterates over the user's sequence and fills a small ring buffer; the
/// core reads from it. An empty ring pauses the transfer, a full one suspends the sequence (back-pressure).
final class CoreStreamSource: CoreBodySource, @unchecked Sendable {
    private let stream: BodyStream
    private let ring: Locked<BodyRing>
    /// Notifies the reader of new data. Used on the reader's thread only; nil once the core no longer needs the body.
    private var wake: Wake?
    private var producer: Task<Void, Never>?

    typealias Wake = @Sendable () -> Void

    init(_ stream: BodyStream, wake: @escaping Wake) {
        self.stream = stream
        self.wake = wake
        ring = Locked(BodyRing(length: stream.length))
    }

    /// Makes the source of a request body, or of a form part.
    convenience init(_ stream: BodyStream, for task: CoreTask) {
        self.init(stream, wake: { task.wake() })
    }

    override var length: Int64? { stream.length }
    override var isReplayable: Bool { stream.isReplayable }
    override var failure: (any Error)? { ring.withLock { $0.failure } }

    override func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        if producer == nil { startProducer() }
        let (result, waiter) = ring.withLock { ring in
            (ring.read(into: buffer), ring.takeWaiterIfThereIsRoom())
        }
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
        wake = nil
    }

    private func startProducer() {
        let run = ring.withLock { $0.run }
        producer = Task { [self, wake] in
            do {
                try await stream.produce { [self] chunk in await offer(chunk, run, wake) }
                finish(run, nil, wake)
            } catch {
                finish(run, error, wake)
            }
        }
    }

    /// The ring is changed first: the error of a cancelled producer isn't one of the next run.
    private func stopProducer(_ change: (inout BodyRing) -> BodyRing.Waiter?) {
        let waiter = ring.withLock { change(&$0) }
        producer?.cancel()
        producer = nil
        waiter?.resume(returning: false)
    }

    /// Appends a chunk and returns when there is space for the next one; false if no more data is needed.
    private func offer(_ chunk: Data, _ run: Int, _ wake: Wake?) async -> Bool {
        let offered = ring.withLock { $0.append(chunk, run: run) }
        if offered.wakesReader { wake?() }
        guard offered.isWanted else { return false }
        return await withCheckedContinuation { continuation in
            let isWanted = ring.withLock { $0.wait(continuation, run: run) }
            if let isWanted { continuation.resume(returning: isWanted) }
        }
    }

    private func finish(_ run: Int, _ error: (any Error)?, _ wake: Wake?) {
        if ring.withLock({ $0.finish(error, run: run) }) { wake?() }
    }
}

/// A bounded buffer between a producer and a reader. A value without side effects; its owner resumes the waiting side.
struct BodyRing {
    enum Reading: Equatable {
        case bytes(Int)
        case end
        case notYet
        case failed
    }

    typealias Waiter = CheckedContinuation<Bool, Never>

    /// The limits at which the producer is suspended. The buffer can exceed either by one chunk.
    static let maximumChunks = 4
    static let mostBytes = 256 * 1024

    private let length: Int64?
    private var chunks: [Data] = []
    /// The last chunk of a body with a known length. Held back until the producer has ended, because only then it is
    /// certain that the producer didn't supply too many bytes.
    private var last: Data?
    private var buffered = 0
    private var appended: Int64 = 0
    private var isFinished = false
    private var isReaderWaiting = false
    private var waiter: Waiter?

    /// Incremented when the body restarts, to distinguish an earlier producer from the current one.
    private(set) var run = 0
    private(set) var failure: (any Error)?

    init(length: Int64?) {
        self.length = length
    }

    /// - Returns: Whether more data is needed, and whether the reader must be resumed.
    mutating func append(_ chunk: Data, run: Int) -> (isWanted: Bool, wakesReader: Bool) {
        guard run == self.run, !isFinished else { return (false, false) }
        guard !chunk.isEmpty else { return (true, false) }
        appended += Int64(chunk.count)
        if let length, appended > length {
            failure = CoreBodyError(message: "the request body is longer than its \(length) bytes")
            isFinished = true
            return (false, takeReader())
        }
        if appended == length {
            last = chunk
            return (true, false)
        }
        push(chunk)
        return (true, takeReader())
    }

    /// Ends the body. Returns true if the reader must be resumed.
    mutating func finish(_ error: (any Error)?, run: Int) -> Bool {
        guard run == self.run, !isFinished else { return false }
        isFinished = true
        failure = error
        if let last, error == nil { push(last) }
        last = nil
        return takeReader()
    }

    mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Reading {
        guard failure == nil else { return .failed }
        guard let first = chunks.first else {
            isReaderWaiting = !isFinished
            return isFinished ? .end : .notYet
        }
        let count = first.copyBytes(to: buffer)
        buffered -= count
        if count == first.count { chunks.removeFirst() } else { chunks[0] = first.dropFirst(count) }
        return .bytes(count)
    }

    /// Suspends the producer; or returns immediately whether it may continue.
    mutating func wait(_ waiter: Waiter, run: Int) -> Bool? {
        guard run == self.run, !isFinished else { return false }
        guard isFull else { return true }
        self.waiter = waiter
        return nil
    }

    mutating func takeWaiterIfThereIsRoom() -> Waiter? {
        guard !isFull else { return nil }
        defer { waiter = nil }
        return waiter
    }

    /// Clears the buffer for another run. The returned producer must be resumed with false.
    mutating func restart() -> Waiter? {
        failure = nil
        return close()
    }

    /// Clears the buffer for good. The returned producer must be resumed with false. An error is kept, because it is
    /// the cause of the request's failure.
    mutating func close() -> Waiter? {
        defer { waiter = nil }
        run += 1
        chunks = []
        last = nil
        buffered = 0
        appended = 0
        isFinished = false
        isReaderWaiting = false
        return waiter
    }

    private var isFull: Bool { chunks.count >= Self.maximumChunks || buffered >= Self.mostBytes }

    private mutating func push(_ chunk: Data) {
        chunks.append(chunk)
        buffered += chunk.count
    }

    private mutating func takeReader() -> Bool {
        defer { isReaderWaiting = false }
        return isReaderWaiting
    }
}
