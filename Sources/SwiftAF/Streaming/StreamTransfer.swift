import FoundationEssentials

/// A transfer whose body is read in chunks.
final class StreamTransfer: CoreTask, @unchecked Sendable {
    /// Set before the head is reported.
    private var filePath: String?
    private let state = Locked(StreamState())
    private let endReport = EndReport()

    /// Starts a transfer and returns when the final head has arrived. Cancelling the Swift task until then cancels the
    /// transfer.
    static func open(_ request: CoreRequest) async throws(SessionError) -> StreamedResponse {
        guard let events = RequestEvents.begun(request.http, request.handlers.monitors) else {
            // Without the loop of attempts, whose memory is large.
            if request.handlers.interceptors.isEmpty { return try await send(request) }
            return try await attempt(request)
        }
        do throws(SessionError) {
            let response = try await attempt(request.with(events: events))
            response.bytes.owner.stream.endReport.report(to: events)
            return response
        } catch {
            events.finish(CoreOutcome(failure: error), hasBody: false)
            throw error
        }
    }

    /// Sends the request, with retries.
    private static func attempt(_ request: CoreRequest) async throws(SessionError) -> StreamedResponse {
        let last = Box()
        let outcome = await request.retrying { request in
            // Releasing the previous response cancels its transfer.
            last.set(nil)
            do throws(SessionError) {
                let response = try await send(request)
                last.set(response)
                return CoreOutcome(response: response.head)
            } catch {
                return CoreOutcome(failure: error)
            }
        }
        if let failure = outcome.failure { throw failure }
        guard let opened = last.response, let head = outcome.response else { throw noResponse(to: request) }
        return StreamedResponse(
            head: head, filePath: opened.filePath, sharedTrust: opened.sharedTrust, bytes: opened.bytes)
    }

    /// The response of the last attempt.
    private final class Box: Sendable {
        private let content = Locked<StreamedResponse?>(nil)

        var response: StreamedResponse? { content.withLock { $0 } }

        func set(_ response: StreamedResponse?) {
            content.exchange(response)
        }
    }

    private static func noResponse(to request: CoreRequest) -> SessionError {
        SessionError(.unknown, message: "the transfer ended without a response", url: request.http.url)
    }

    /// Sends the request once.
    private static func send(_ request: CoreRequest) async throws(SessionError) -> StreamedResponse {
        guard !Task.isCancelled else { throw SessionError(.cancelled, url: request.http.url) }
        let stream = StreamTransfer(request)
        let owner = StreamOwner(stream)
        if let error = stream.begin() { throw error }
        switch await stream.wait({ $0.waitForHead($1) }) {
        case .head(let response):
            return StreamedResponse(
                head: response, filePath: stream.filePath, sharedTrust: stream.headTrust,
                bytes: .init(owner: owner))
        case .failed(let error): throw error
        case .chunk, .ready, .end: throw noResponse(to: request)
        }
    }

    /// Returns all bytes that are buffered, or waits for the next ones; nil at the end. Throws in a cancelled task, also
    /// if bytes are buffered.
    func next() async throws(SessionError) -> Data? {
        if Task.isCancelled {
            cancel()
            throw SessionError(.cancelled, url: request.http.url)
        }
        if let (chunk, mustWake) = state.withLock({ $0.takeChunk() }) {
            if mustWake { wake() }
            return chunk
        }
        while true {
            switch await wait({ $0.waitForChunk($1) }) {
            case .chunk(let chunk, let mustWake):
                if mustWake { wake() }
                return chunk
            case .ready: continue
            case .failed(let error): throw error
            case .head, .end: return nil
            }
        }
    }

    /// Whether no more data arrives unless the reader consumes some, because the transfer is paused or has ended.
    var isAtRest: Bool { state.withLock { $0.isPaused || $0.isFinished } }

    private func wait(_ ask: @Sendable (inout StreamState, StreamState.Waiter) -> StreamState.Event?) async
        -> StreamState.Event
    {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { waiter in
                if let event = state.withLock({ ask(&$0, waiter) }) { waiter.resume(returning: event) }
            }
        } onCancel: {
            cancel()
        }
    }

    override func didReceiveHead(_ response: HTTPResponse) -> ResponseDecision {
        let disposition = super.didReceiveHead(response)
        switch disposition {
        case .allow, .write: break
        case .cancel, .fail: return disposition
        case .download(let path, _): filePath = path
        }
        state.withLock { $0.take(response) }?.resume(returning: .head(response))
        return disposition
    }

    override func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !bytes.isEmpty else { return true }
        guard let space = state.withLock({ $0.beginPiece(bytes.count) }) else { return false }
        // Without the lock, which the reader would wait for.
        space.copy(bytes)
        let step = state.withLock { $0.endPiece(space) }
        step.waiter?.resume(returning: .ready)
        if step.mustWake { wake() }
        return true
    }

    override func didWake() {
        state.withLock { $0.wakeReader() }?.resume(returning: .ready)
    }

    override func didFinish(_ result: CoreResult) {
        let outcome = take(result)
        RequestEvents.reportFile(of: outcome)
        if request.handlers.events != nil { endReport.end(with: outcome) }
        guard let (waiter, event) = state.withLock({ $0.finish(outcome.failure) }) else { return }
        waiter.resume(returning: event)
    }
}

/// The buffered data and the waiting reader. Changes nothing else; copies share the buffer.
///
/// Pieces are merged. A waiting reader is resumed when much data is buffered or when there is nothing more to read for
/// now, rather than for each piece.
struct StreamState {
    /// What a waiting reader is resumed with.
    enum Event: Sendable {
        case head(HTTPResponse)
        /// The bytes. If `mustWake`, the transfer was paused because the buffer was full, and must be resumed.
        case chunk(Data, mustWake: Bool)
        /// Data has arrived; call again. More may be buffered by then.
        case ready
        case end
        case failed(SessionError)
    }

    // Unsafe, because a checked continuation allocates for each chunk.
    typealias Waiter = UnsafeContinuation<Event, Never>

    /// The buffer size above which the transfer is paused, until half of it has been read; one more piece may exceed
    /// it. A pause is expensive, because libcurl copies the rest of its read: with a third of this size, a reader whose
    /// thread is a little late doubles the processor time (the row `events` of Benchmarks/run).
    static let capacity = 1536 * 1024

    /// The buffered size at which a waiting reader is resumed immediately. Each resumption wakes a thread.
    private static let enough = 512 * 1024
    /// libcurl's CURL_MAX_WRITE_SIZE.
    private static let pieceSize = 16 * 1024

    private var head: HTTPResponse?
    private let pending = ChunkQueue()
    private(set) var isPaused = false
    private var isWakeDue = false
    private var waiter: Waiter?
    private(set) var isFinished = false
    private var failure: SessionError?

    /// Whether a reader waits.
    var hasReader: Bool { waiter != nil }

    /// The number of buffered bytes.
    var buffered: Int { pending.count }

    /// The number of bytes that there is memory for without allocating more.
    var reserved: Int { pending.room }

    /// The number of blocks of memory that are kept for later pieces.
    var spare: Int { pending.spare }

    mutating func waitForHead(_ waiter: Waiter) -> Event? {
        if let head { return .head(head) }
        if isFinished { return failure.map { .failed($0) } ?? .end }
        self.waiter = waiter
        return nil
    }

    mutating func waitForChunk(_ waiter: Waiter) -> Event? {
        if let (chunk, mustWake) = takeChunk() { return .chunk(chunk, mustWake: mustWake) }
        if isFinished {
            defer { failure = nil }
            return failure.map { .failed($0) } ?? .end
        }
        guard self.waiter == nil else {
            return .failed(SessionError(.invalidInput, message: "the body is already being read by another task"))
        }
        self.waiter = waiter
        return nil
    }

    mutating func take(_ head: HTTPResponse) -> Waiter? {
        self.head = head
        return takeWaiter()
    }

    /// The action to take after a piece of the body.
    struct Step {
        /// The reader to resume now.
        var waiter: Waiter?
        /// Whether the transfer must schedule a call of ``wakeReader()``, after everything that can be read now.
        var mustWake = false
    }

    /// Returns the space for a piece of at least one byte, which must be written before ``endPiece(_:)``; nil if the
    /// buffer is full: the transfer is paused, and the reader has to resume it.
    mutating func beginPiece(_ count: Int) -> ChunkQueue.Space? {
        isPaused = buffered >= Self.capacity
        return isPaused ? nil : pending.beginWriting(count)
    }

    /// Adds the piece that was written.
    mutating func endPiece(_ space: ChunkQueue.Space) -> Step {
        pending.endWriting(space)
        guard waiter != nil else { return Step() }
        // libcurl splits a read into pieces of equal size, so a piece of another size is the last one of a read.
        let isLast = space.count != Self.pieceSize
        if isLast || buffered >= Self.enough { return Step(waiter: takeWaiter()) }
        defer { isWakeDue = true }
        return Step(mustWake: !isWakeDue)
    }

    /// - Returns: The reader to resume, if any.
    mutating func wakeReader() -> Waiter? {
        isWakeDue = false
        return buffered > 0 ? takeWaiter() : nil
    }

    /// Returns the oldest buffered data and whether the transfer must be resumed; nil if the buffer is empty, or if its
    /// only block is being written.
    mutating func takeChunk() -> (Data, mustWake: Bool)? {
        guard let chunk = pending.take() else { return nil }
        let mustWake = isPaused && buffered <= Self.capacity / 2
        if mustWake { isPaused = false }
        return (chunk, mustWake)
    }

    /// - Returns: The reader to resume and its result; nil if no reader waits and the end is kept for the next call.
    mutating func finish(_ failure: SessionError?) -> (Waiter, Event)? {
        isFinished = true
        guard let waiter = takeWaiter() else {
            self.failure = failure
            return nil
        }
        guard buffered == 0 else {
            self.failure = failure
            return (waiter, .ready)
        }
        return (waiter, failure.map { .failed($0) } ?? .end)
    }

    private mutating func takeWaiter() -> Waiter? {
        defer { waiter = nil }
        return waiter
    }
}

/// The received bytes that wait for the reader. Protected by the lock of the state that it belongs to, except for the
/// space that is being written.
///
/// The blocks are few and small enough to stay in the processor's cache between the two threads: with one block for all
/// bytes, the row `events` of Benchmarks/run takes twice as much processor time.
final class ChunkQueue: @unchecked Sendable {
    /// Where the next bytes belong: the end of one block, and the start of the next if it is too short.
    struct Space {
        let first: UnsafeMutableRawBufferPointer
        let second: UnsafeMutableRawBufferPointer?

        var count: Int { first.count + (second?.count ?? 0) }

        func copy(_ piece: UnsafeRawBufferPointer) {
            first.copyMemory(from: UnsafeRawBufferPointer(rebasing: piece.prefix(first.count)))
            second?.copyMemory(from: UnsafeRawBufferPointer(rebasing: piece.dropFirst(first.count)))
        }
    }

    private struct Chunk {
        let block: ReceiveMemory.Block
        var count = 0

        var room: Int { block.room - count }
    }

    /// The room of a block, until one is filled; chunks that need less are copied.
    private static let least = 16 * 1024
    /// The room of a block of a fast stream.
    private static let most = 128 * 1024

    private let memory = ReceiveMemory(
        keeping: ChunkQueue.least...ChunkQueue.most, blocks: StreamState.capacity / ChunkQueue.most)
    /// Full blocks, the oldest first.
    private var full: [Chunk] = []
    /// The block that is being filled.
    private var last: Chunk?
    /// The block after it, while a piece is written that needs both.
    private var next: Chunk?
    private var isWriting = false
    /// The number of bytes that can be taken.
    private(set) var count = 0
    /// The room of the next block.
    private var size = ChunkQueue.least

    /// The number of blocks that are kept for later pieces.
    var spare: Int { memory.count }

    /// The number of bytes that there is memory for.
    var room: Int { full.reduce(last?.block.room ?? 0) { $0 + $1.block.room } }

    deinit {
        for chunk in full { memory.giveBack(chunk.block) }
        if let last { memory.giveBack(last.block) }
        if let next { memory.giveBack(next.block) }
    }

    /// Returns the space for the next bytes, at least one. Until ``endWriting(_:)`` it belongs to the writer alone.
    func beginWriting(_ count: Int) -> Space {
        isWriting = true
        let chunk = last ?? makeChunk(for: count)
        last = chunk
        let first = min(count, chunk.room)
        let start = UnsafeMutableRawBufferPointer(start: chunk.block.start + chunk.count, count: first)
        guard first < count else { return Space(first: start, second: nil) }
        let rest = count - first
        let following = makeChunk(for: rest)
        next = following
        return Space(first: start, second: UnsafeMutableRawBufferPointer(start: following.block.start, count: rest))
    }

    /// Adds the bytes that were written.
    func endWriting(_ space: Space) {
        isWriting = false
        count += space.first.count
        last?.count += space.first.count
        if let second = space.second {
            count += second.count
            next?.count = second.count
        }
        guard let filled = last, filled.room == 0 else { return }
        full.append(filled)
        last = next
        next = nil
        // A stream that fills a block before it is read is a fast one.
        size = Self.most
    }

    private func makeChunk(for count: Int) -> Chunk {
        Chunk(block: memory.take(max(count, size)))
    }

    /// Returns the oldest bytes; nil if there are none, or if the only block is being written.
    func take() -> Data? {
        if !full.isEmpty { return handOver(full.removeFirst()) }
        guard !isWriting, let chunk = last, chunk.count > 0 else { return nil }
        // Copied, so that keeping a small chunk doesn't keep the memory of a large one.
        guard chunk.count < max(Self.least, chunk.block.room / 2) else {
            last = nil
            return handOver(chunk)
        }
        count -= chunk.count
        last?.count = 0
        let bytes = Data(bytes: chunk.block.start, count: chunk.count)
        // A stream that has become slow doesn't need the memory.
        if chunk.count < chunk.block.room / 8, chunk.block.room > Self.least {
            last = nil
            size = Self.least
            memory.giveBack(chunk.block)
            memory.release()
        }
        return bytes
    }

    private func handOver(_ chunk: Chunk) -> Data {
        count -= chunk.count
        return memory.handOver(chunk.block, count: chunk.count)
    }
}
