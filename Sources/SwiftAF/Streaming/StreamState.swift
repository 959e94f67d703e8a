import FoundationEssentials

/// The state of a stream: its phase, the buffered data, and the call that waits. Its functions return the call to
/// resume, which the owner does without the lock. Copies share the buffer.
///
/// A waiting reader isn't resumed for each piece of the body. It is resumed when ``enough`` bytes are buffered, when a
/// piece is the last one of libcurl's read, or by ``wakeReader()``, once there is nothing more to read for now. The
/// core delays ``CoreTask/didWake()`` so that this happens at most once a millisecond.
struct StreamState {
    /// The phases follow in this order. The transfer may be paused and resumed several times, and may finish in any
    /// phase.
    private enum Phase {
        /// The final head hasn't arrived. The opener, if not nil, waits for it.
        case opening(Opener?)
        /// Pieces of the body are buffered.
        case reading(Reading)
        /// The buffer is full and the transfer is paused. No reader waits; the one that empties half of the buffer
        /// resumes the transfer.
        case paused
        /// The transfer has ended. Every reader gets the failure, if there is one, because what it has read isn't the
        /// whole body.
        case finished(SessionError?)
    }

    private struct Reading {
        /// The call that waits, if there is one.
        var reader: Reader?
        /// Whether a call of ``wakeReader()`` is scheduled.
        var isWakeDue = false
    }

    /// How a stream begins.
    enum Opening: Sendable {
        case head(HTTPResponse)
        /// The transfer ended without a head. Always with an error, in practice.
        case failed(SessionError?)
    }

    /// The result of a read.
    enum Next: Sendable {
        /// The oldest buffered bytes. If `mustWake`, the transfer was paused because the buffer was full, and the
        /// reader must resume it.
        case chunk(Data, mustWake: Bool)
        /// Data has arrived: call again to take it.
        case ready
        case end
        case failed(SessionError)
    }

    // Unsafe, because a checked continuation allocates for each chunk.
    typealias Opener = UnsafeContinuation<Opening, Never>
    typealias Reader = UnsafeContinuation<Next, Never>

    /// The call that the end of the transfer resumes, and its result.
    enum Resumption: Sendable {
        /// No call waits; the end is kept for the next one.
        case nothing
        case opener(Opener, Opening)
        case reader(Reader, Next)

        func resume() {
            switch self {
            case .nothing: break
            case .opener(let opener, let opening): opener.resume(returning: opening)
            case .reader(let reader, let next): reader.resume(returning: next)
            }
        }
    }

    /// The number of buffered bytes from which the transfer is paused, until half of them have been read; one more
    /// piece may exceed it. A pause is expensive, because libcurl copies the rest of its read: with a third of this
    /// size, a reader that is a little late doubles the processor time (measured by the row `events` of
    /// Benchmarks/run).
    static let capacity = 1536 * 1024

    /// The number of buffered bytes at which a waiting reader is resumed at once. Not fewer, because each resumption
    /// wakes a thread.
    private static let enough = 512 * 1024
    /// The largest piece that libcurl passes to a write callback (CURL_MAX_WRITE_SIZE).
    private static let pieceSize = 16 * 1024

    private var phase = Phase.opening(nil)
    /// The head, if it arrived before a call waited for it. Kept in all later phases, because the transfer may have
    /// finished when the call comes.
    private var earlyHead: HTTPResponse?
    /// The head with trailers and metrics, once the transfer has succeeded.
    private(set) var completedHead: HTTPResponse?
    private let pending = ChunkQueue()

    /// Whether no more data arrives unless the reader consumes some.
    var isAtRest: Bool {
        switch phase {
        case .opening, .reading: false
        case .paused, .finished: true
        }
    }

    /// The number of buffered bytes.
    var buffered: Int { pending.count }

    // MARK: Opening

    /// Returns how the stream has begun. If that isn't known yet, keeps the opener and returns nil.
    mutating func waitForHead(_ opener: Opener) -> Opening? {
        if let head = earlyHead {
            earlyHead = nil
            return .head(head)
        }
        if case .finished(let failure) = phase { return .failed(failure) }
        phase = .opening(opener)
        return nil
    }

    /// - Returns: The opener to resume with the head, if it waits already.
    mutating func receive(_ head: HTTPResponse) -> Opener? {
        guard case .opening(let opener) = phase else { return nil }
        phase = .reading(Reading())
        if opener == nil { earlyHead = head }
        return opener
    }

    // MARK: Writing

    /// What the transfer must do after a piece of the body was added.
    struct Step {
        /// The reader to resume now.
        var reader: Reader?
        /// Whether the transfer must schedule a call of ``wakeReader()``, to be made after everything that can be read
        /// now.
        var mustWake = false
    }

    /// Returns the space for a piece of at least one byte, which must be written before ``endPiece(_:)``; nil if the
    /// buffer is full: the transfer is then paused until the reader resumes it.
    mutating func beginPiece(_ count: Int) -> ChunkQueue.Space? {
        let isFull = buffered >= Self.capacity
        switch phase {
        case .reading where isFull: phase = .paused
        // The core may deliver the piece again before the reader has taken half of the buffer.
        case .paused where !isFull: phase = .reading(Reading())
        case .opening, .reading, .paused, .finished: break
        }
        return isFull ? nil : pending.beginWriting(count)
    }

    /// Adds the piece that was written to the space of ``beginPiece(_:)``.
    mutating func endPiece(_ space: ChunkQueue.Space) -> Step {
        pending.endWriting(space)
        guard case .reading(var reading) = phase, let reader = reading.reader else { return Step() }
        // libcurl splits a read into pieces of CURL_MAX_WRITE_SIZE, so a piece of another size is the last one of a
        // read.
        let isShortRead = space.count != Self.pieceSize && buffered < Self.pieceSize
        if isShortRead || buffered >= Self.enough {
            reading.reader = nil
            phase = .reading(reading)
            return Step(reader: reader)
        }
        guard !reading.isWakeDue else { return Step() }
        reading.isWakeDue = true
        phase = .reading(reading)
        return Step(mustWake: true)
    }

    /// - Returns: The reader to resume, if any.
    mutating func wakeReader() -> Reader? {
        guard case .reading(let reading) = phase else { return nil }
        guard buffered > 0 else {
            phase = .reading(Reading(reader: reading.reader))
            return nil
        }
        phase = .reading(Reading())
        return reading.reader
    }

    /// - Parameter head: The head with trailers and metrics.
    /// - Returns: The call to resume, and its result. A reader first takes the buffered bytes, and then gets the
    ///   failure.
    mutating func finish(_ failure: SessionError?, _ head: HTTPResponse? = nil) -> Resumption {
        let former = phase
        if failure == nil { completedHead = head }
        phase = .finished(failure)
        switch former {
        case .opening(let opener?):
            return .opener(opener, .failed(failure))
        case .reading(let reading):
            guard let reader = reading.reader else { return .nothing }
            return .reader(reader, buffered > 0 ? .ready : Self.end(failure))
        case .opening(nil), .paused, .finished:
            return .nothing
        }
    }

    // MARK: Reading

    /// Returns the result of a read. If there is none yet, keeps the reader and returns nil.
    mutating func waitForChunk(_ reader: Reader) -> Next? {
        if let (chunk, mustWake) = takeChunk() { return .chunk(chunk, mustWake: mustWake) }
        switch phase {
        case .reading(var reading):
            guard reading.reader == nil else {
                return .failed(SessionError(.invalidInput, message: "the body is already being read by another task"))
            }
            reading.reader = reader
            phase = .reading(reading)
            return nil
        case .finished(let failure):
            return Self.end(failure)
        case .opening, .paused:
            // Unreachable: a body is read after its head only, and while the transfer is paused, there are bytes to
            // take.
            return .failed(SessionError(.unknown, message: "the body can't be read yet"))
        }
    }

    /// Returns the oldest buffered data and whether the transfer must be resumed; nil if the buffer is empty, or if its
    /// only block is being written.
    mutating func takeChunk() -> (Data, mustWake: Bool)? {
        guard let chunk = pending.take() else { return nil }
        guard case .paused = phase, buffered <= Self.capacity / 2 else { return (chunk, false) }
        phase = .reading(Reading())
        return (chunk, true)
    }

    private static func end(_ failure: SessionError?) -> Next {
        failure.map { .failed($0) } ?? .end
    }
}

// For tests.
extension StreamState {
    /// Whether a call waits for the head.
    var hasOpener: Bool { if case .opening(let opener) = phase { opener != nil } else { false } }

    /// Whether a reader waits.
    var hasReader: Bool { if case .reading(let reading) = phase { reading.reader != nil } else { false } }

    /// The capacity of the blocks in use, in bytes.
    var reserved: Int { pending.capacity }

    /// The number of blocks of memory that are kept for later pieces.
    var spare: Int { pending.spare }
}
