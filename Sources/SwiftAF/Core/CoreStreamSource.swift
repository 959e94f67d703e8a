internal import CAFCore
import FoundationEssentials

/// A ``BodyStream``: a Swift task runs the user's sequence and fills a small ring, the core empties it. An empty
/// ring pauses the transfer, a full one makes the sequence wait.
final class CoreStreamSource: CoreBodySource, @unchecked Sendable {
    private let stream: BodyStream
    private let ring: Locked<BodyRing>
    /// Tells the reader that there is something again. The reader's thread only; nil once the core is done with the
    /// body.
    private var wake: Wake?
    private var producer: Task<Void, Never>?

    typealias Wake = @Sendable () -> Void

    init(_ stream: BodyStream, wake: @escaping Wake) {
        self.stream = stream
        self.wake = wake
        ring = Locked(BodyRing(length: stream.length))
    }

    /// The source of a request's body, or of a part of it.
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
        case .end: AF_READ_END
        case .notYet: AF_READ_AGAIN
        case .failed: AF_READ_FAILED
        }
    }

    override func rewind() -> Bool {
        stopProducer()
        return true
    }

    override func close() {
        stopProducer()
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

    private func stopProducer() {
        producer?.cancel()
        producer = nil
        ring.withLock { $0.restart() }?.resume(returning: false)
    }

    /// Adds a chunk and returns when there is room for the next; false if nobody wants more.
    private func offer(_ chunk: Data, _ run: Int, _ wake: Wake?) async -> Bool {
        let offered = ring.withLock { $0.append(chunk, run: run) }
        if offered.wakesReader { wake?() }
        guard offered.isWanted else { return false }
        return await withCheckedContinuation { continuation in
            let answer = ring.withLock { $0.wait(continuation, run: run) }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    private func finish(_ run: Int, _ error: (any Error)?, _ wake: Wake?) {
        if ring.withLock({ $0.finish(error, run: run) }) { wake?() }
    }
}

/// Chunks between a producer and a reader. A value without effects; whoever holds its lock does what it says.
struct BodyRing {
    enum Reading: Equatable {
        case bytes(Int)
        case end
        case notYet
        case failed
    }

    typealias Waiter = CheckedContinuation<Bool, Never>

    /// The producer waits from here on. One chunk more than either can be inside.
    static let mostChunks = 4
    static let mostBytes = 256 * 1024

    private let length: Int64?
    private var chunks: [Data] = []
    /// The last chunk of an announced length, held back until the producer has ended: only then it is known that
    /// it gave no byte too many.
    private var last: Data?
    private var buffered = 0
    private var appended: Int64 = 0
    private var isFinished = false
    private var isReaderWaiting = false
    private var waiter: Waiter?

    /// Changes when the body starts again, so that a producer of before is told from the present one.
    private(set) var run = 0
    private(set) var failure: (any Error)?

    init(length: Int64?) {
        self.length = length
    }

    /// - Returns: Whether more is wanted, and whether the reader must be woken.
    mutating func append(_ chunk: Data, run: Int) -> (isWanted: Bool, wakesReader: Bool) {
        guard run == self.run, !isFinished else { return (false, false) }
        guard !chunk.isEmpty else { return (true, false) }
        appended += Int64(chunk.count)
        if let length, appended > length {
            failure = CoreBodyError(message: "the request body became longer than its \(length) bytes")
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

    /// Ends the body; true if the reader must be woken.
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

    /// Parks the producer, or says at once whether it may go on.
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

    /// Empties the ring for another run, or for none; the producer that waited must be told that it is not wanted.
    /// A failure stays: it is the reason of what follows.
    mutating func restart() -> Waiter? {
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

    private var isFull: Bool { chunks.count >= Self.mostChunks || buffered >= Self.mostBytes }

    private mutating func push(_ chunk: Data) {
        chunks.append(chunk)
        buffered += chunk.count
    }

    private mutating func takeReader() -> Bool {
        defer { isReaderWaiting = false }
        return isReaderWaiting
    }
}
