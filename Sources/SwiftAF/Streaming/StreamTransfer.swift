import FoundationEssentials

/// A transfer whose body is read piece by piece.
final class StreamTransfer: CoreTask, @unchecked Sendable {
    /// Set before the head is reported.
    private var filePath: String?
    private let state = Locked(StreamState())
    /// How the stream ended, and the events that report it, in either order.
    private let ending = Locked<(outcome: CoreOutcome?, events: RequestEvents?)>((nil, nil))

    /// Begins a transfer and returns when the head has come that counts. Cancelling the Swift task meanwhile cancels
    /// it.
    static func open(_ request: CoreRequest) async throws(SessionError) -> StreamedResponse {
        guard let events = RequestEvents.begun(request.http, request.handlers.monitors) else {
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

    /// In as many attempts as it takes.
    private static func attempt(_ request: CoreRequest) async throws(SessionError) -> StreamedResponse {
        var opened: StreamedResponse?
        let outcome = await request.retrying { request in
            // The response of the attempt before is given up.
            opened = nil
            do throws(SessionError) {
                let response = try await send(request)
                opened = response
                return CoreOutcome(response: response.response)
            } catch {
                return CoreOutcome(failure: error)
            }
        }
        if let failure = outcome.failure { throw failure }
        guard let opened else { throw noResponse(to: request) }
        return opened
    }

    private static func noResponse(to request: CoreRequest) -> SessionError {
        SessionError(.unknown, message: "the transfer ended without a response", url: request.http.url)
    }

    /// Makes one attempt.
    private static func send(_ request: CoreRequest) async throws(SessionError) -> StreamedResponse {
        guard !Task.isCancelled else { throw SessionError(.cancelled, url: request.http.url) }
        let stream = StreamTransfer(request)
        let owner = StreamOwner(stream)
        if let error = stream.begin() { throw error }
        switch await stream.wait({ $0.waitForHead($1) }) {
        case .head(let response):
            return StreamedResponse(
                response: response, filePath: stream.filePath, sharedTrust: stream.headTrust,
                bytes: .init(owner: owner))
        case .failed(let error): throw error
        case .chunk, .ready, .end: throw noResponse(to: request)
        }
    }

    /// Reports the end of the body when it has come.
    private func reportEnd(to events: RequestEvents) {
        let outcome = ending.withLock { ending in
            ending.events = events
            return ending.outcome
        }
        if let outcome { events.finish(outcome, hasBody: false) }
    }

    /// Everything that has come, or the first of what will come; nil at the end.
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

    /// Whether nothing more comes until something is taken, or ever.
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

    override func didReceiveHead(_ response: HTTPResponse) -> ResponseDisposition {
        let disposition = super.didReceiveHead(response)
        switch disposition {
        case .allow: break
        case .cancel: return disposition
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

/// What came and who waits for it. A value without effects.
///
/// Pieces are put together: a reader that is behind gets all that is there at once. One that is not is woken when much
/// has come, or when there is nothing more to be read now, and not for each piece.
struct StreamState {
    enum Answer: Sendable {
        case head(HTTPResponse)
        /// The transfer must be woken if it was put off for want of room that there is now.
        case chunk(Data, mustWake: Bool)
        /// Something has come; ask again. Until then more may come.
        case ready
        case end
        case failed(SessionError)
    }

    // Unsafe: a checked one costs an allocation for each chunk.
    typealias Waiter = UnsafeContinuation<Answer, Never>

    /// No more is taken once this much is inside. One piece more than this can be. Twice as much as libcurl reads at
    /// once: what is put off in the middle of that it copies aside.
    static let capacity = 512 * 1024

    /// A reader that waits is not left waiting for more than this.
    private static let enough = 256 * 1024
    /// CURL_MAX_WRITE_SIZE.
    private static let pieceSize = 16 * 1024

    private var head: HTTPResponse?
    private var pending = Data()
    private var reserved = 0
    /// How much was taken at once the last time: the best guess for the next.
    private var expected = 0
    private(set) var isPutOff = false
    private var isWakeDue = false
    private var waiter: Waiter?
    private(set) var isFinished = false
    private var failure: SessionError?

    /// Whether somebody waits.
    var hasReader: Bool { waiter != nil }

    /// Bytes that came and were not taken.
    var buffered: Int { pending.count }

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

    /// What to do about a piece of the body.
    struct Step {
        /// If not, the reader is told to wake the transfer.
        var isTaken = true
        /// Who must hear of it now.
        var waiter: Waiter?
        /// The transfer must wake itself, to call ``wakeReader()`` behind all that is there to be read.
        var mustWake = false
    }

    /// Copies a piece if there is room.
    mutating func take(_ piece: UnsafeRawBufferPointer) -> Step {
        isPutOff = buffered >= Self.capacity
        guard !isPutOff else { return Step(isTaken: false) }
        if pending.isEmpty {
            reserved = max(piece.count, expected)
            pending = Data(capacity: reserved)
        }
        pending.append(contentsOf: piece)
        guard waiter != nil, buffered > 0 else { return Step() }
        // A piece of another size than libcurl cuts what it has read into is the last of that.
        let isLast = piece.count != Self.pieceSize
        if isLast || buffered >= Self.enough { return Step(waiter: takeWaiter()) }
        defer { isWakeDue = true }
        return Step(mustWake: !isWakeDue)
    }

    /// - Returns: Who must hear of what is there.
    mutating func wakeReader() -> Waiter? {
        isWakeDue = false
        return buffered > 0 ? takeWaiter() : nil
    }

    /// All that is there, and whether the transfer must be woken; nil if there is nothing.
    mutating func takeChunk() -> (Data, mustWake: Bool)? {
        guard !pending.isEmpty else { return nil }
        defer {
            expected = pending.count
            pending = Data()
            isPutOff = false
        }
        // Whoever keeps a small chunk shall not keep the memory of a large one.
        let chunk = reserved / 2 > pending.count ? pending.withUnsafeBytes { Data($0) } : pending
        return (chunk, isPutOff)
    }

    /// - Returns: Who must hear of it now, and what; nil if it is kept until somebody asks.
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
