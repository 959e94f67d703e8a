import FoundationEssentials

/// A transfer whose body is read in chunks.
final class StreamTransfer: CoreTask, @unchecked Sendable {
    /// Set before the head is reported.
    private var filePath: String?
    private let state = Locked(StreamState())
    /// The outcome of the stream and the events that report it. Either may be set first.
    private let ending = Locked<(outcome: CoreOutcome?, events: RequestEvents?)>((nil, nil))

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
            response.bytes.owner.stream.reportEnd(to: events)
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
            let former = content.withLock { content in
                defer { content = response }
                return content
            }
            // Released outside of the lock.
            _ = former
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

    /// Reports the end of the body once it is reached.
    private func reportEnd(to events: RequestEvents) {
        let outcome = ending.withLock { ending in
            ending.events = events
            return ending.outcome
        }
        if let outcome { events.finish(outcome, hasBody: false) }
    }

    /// Returns all bytes that are buffered, or waits for the next ones; nil at the end.
    func next() async throws(SessionError) -> Data? {
        if Task.isCancelled { cancel() }
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
    var isAtRest: Bool { state.withLock { $0.isPutOff || $0.isFinished } }

    private func wait(_ ask: @Sendable (inout StreamState, StreamState.Waiter) -> StreamState.Answer?) async
        -> StreamState.Answer
    {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { waiter in
                if let answer = state.withLock({ ask(&$0, waiter) }) { waiter.resume(returning: answer) }
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
        let step = state.withLock { $0.take(bytes) }
        step.waiter?.resume(returning: .ready)
        if step.mustWake { wake() }
        return step.isTaken
    }

    override func didWake() {
        state.withLock { $0.wakeReader() }?.resume(returning: .ready)
    }

    override func didFinish(_ result: CoreResult) {
        let outcome = take(result)
        outcome.reportFile(of: nil)
        if request.handlers.events != nil {
            let events = ending.withLock { ending in
                ending.outcome = outcome
                return ending.events
            }
            events?.finish(outcome, hasBody: false)
        }
        guard let (waiter, answer) = state.withLock({ $0.finish(outcome.failure) }) else { return }
        waiter.resume(returning: answer)
    }
}

/// The buffered data and the waiting reader. Changes nothing else; copies share the buffer.
///
/// Pieces are merged: a slow reader gets all buffered data at once. A fast reader is resumed when much data is buffered
/// or when there is nothing more to read for now, rather than for each piece.
struct StreamState {
    enum Answer: Sendable {
        case head(HTTPResponse)
        /// The bytes. If `mustWake`, the transfer was paused because the buffer was full, and must be resumed.
        case chunk(Data, mustWake: Bool)
        /// Data has arrived; call again. More may be buffered by then.
        case ready
        case end
        case failed(SessionError)
    }

    // Unsafe, because a checked continuation allocates for each chunk.
    typealias Waiter = UnsafeContinuation<Answer, Never>

    /// The buffer size above which the transfer is paused; one more piece may exceed it. A pause is expensive, because
    /// libcurl copies the rest of its read: with a third of this size, a reader whose thread is a little late doubles
    /// the processor time (the row `events` of Benchmarks/run).
    static let capacity = 1536 * 1024

    /// The buffered size at which a waiting reader is resumed immediately. Each resumption wakes a thread.
    private static let enough = 256 * 1024
    /// libcurl's CURL_MAX_WRITE_SIZE.
    private static let pieceSize = 16 * 1024

    private var head: HTTPResponse?
    private let pending = ChunkBuffer()
    private(set) var isPutOff = false
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

    mutating func waitForHead(_ waiter: Waiter) -> Answer? {
        if let head { return .head(head) }
        if isFinished { return failure.map { .failed($0) } ?? .end }
        self.waiter = waiter
        return nil
    }

    mutating func waitForChunk(_ waiter: Waiter) -> Answer? {
        if let (chunk, mustWake) = takeChunk() { return .chunk(chunk, mustWake: mustWake) }
        if isFinished {
            defer { failure = nil }
            return failure.map { .failed($0) } ?? .end
        }
        guard self.waiter == nil else {
            return .failed(SessionError(.invalidInput, message: "two tasks wait for the same body"))
        }
        self.waiter = waiter
        return nil
    }

    mutating func take(_ head: HTTPResponse) -> Waiter? {
        self.head = head
        return takeWaiter()
    }

    /// The action to take for a piece of the body.
    struct Step {
        /// If false, the transfer is paused, and the reader has to resume it.
        var isTaken = true
        /// The reader to resume now.
        var waiter: Waiter?
        /// Whether the transfer must schedule a call of ``wakeReader()``, after everything that can be read now.
        var mustWake = false
    }

    /// Copies a piece if there is space.
    mutating func take(_ piece: UnsafeRawBufferPointer) -> Step {
        isPutOff = buffered >= Self.capacity
        guard !isPutOff else { return Step(isTaken: false) }
        pending.append(piece)
        guard waiter != nil, buffered > 0 else { return Step() }
        // libcurl splits a read into pieces of equal size, so a piece of another size is the last one of a read.
        let isLast = piece.count != Self.pieceSize
        if isLast || buffered >= Self.enough { return Step(waiter: takeWaiter()) }
        defer { isWakeDue = true }
        return Step(mustWake: !isWakeDue)
    }

    /// - Returns: The reader to resume, if any.
    mutating func wakeReader() -> Waiter? {
        isWakeDue = false
        return buffered > 0 ? takeWaiter() : nil
    }

    /// Returns all buffered data and whether the transfer must be resumed; nil if the buffer is empty.
    mutating func takeChunk() -> (Data, mustWake: Bool)? {
        guard let chunk = pending.take() else { return nil }
        defer { isPutOff = false }
        return (chunk, isPutOff)
    }

    /// - Returns: The reader to resume and its result; nil if no reader waits and the end is kept for the next call.
    mutating func finish(_ failure: SessionError?) -> (Waiter, Answer)? {
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

/// Collects the pieces of a chunk. Protected by the lock of the state that it belongs to.
private final class ChunkBuffer: @unchecked Sendable {
    /// The least room: chunks that need less are copied.
    private static let least = 16 * 1024
    /// The room of a full chunk, with the piece that may exceed the capacity.
    private static let most = StreamState.capacity + 64 * 1024

    private let memory = ReceiveMemory(keeping: ChunkBuffer.least...ChunkBuffer.most)
    private var block: ReceiveMemory.Block?
    /// The number of collected bytes.
    private(set) var count = 0
    /// The size of the last chunk, as an estimate for the next one.
    private var expected = 0

    var room: Int { block?.room ?? 0 }

    deinit {
        if let block { memory.giveBack(block) }
    }

    func append(_ piece: UnsafeRawBufferPointer) {
        guard let source = piece.baseAddress, !piece.isEmpty else { return }
        let block = makeRoom(for: count + piece.count)
        (block.start + count).copyMemory(from: source, byteCount: piece.count)
        count += piece.count
    }

    /// Returns the collected bytes; nil if there are none.
    func take() -> Data? {
        guard let block, count > 0 else { return nil }
        defer {
            expected = count
            count = 0
        }
        // Copied, so that keeping a small chunk doesn't keep the memory of a large one.
        guard count < max(Self.least, block.room / 2) else {
            self.block = nil
            return memory.handOver(block, count: count)
        }
        let chunk = Data(bytes: block.start, count: count)
        // A stream that has become slow doesn't need it: it is freed once a chunk needs less.
        if count < block.room / 8, block.room > Self.least {
            self.block = nil
            memory.giveBack(block)
        }
        return chunk
    }

    private func makeRoom(for size: Int) -> ReceiveMemory.Block {
        if let block, block.room >= size { return block }
        let least = block == nil ? max(size, expected) : size
        // Few sizes, so that the memory of one chunk fits the next.
        var room = Self.least
        while room < least { room *= 2 }
        if room > StreamState.capacity { room = max(size, Self.most) }
        let larger = memory.take(room)
        if let block {
            larger.start.copyMemory(from: block.start, byteCount: count)
            memory.giveBack(block)
        }
        block = larger
        return larger
    }
}
