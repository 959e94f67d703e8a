import FoundationEssentials

/// A transfer whose body is read piece by piece.
final class StreamTransfer: CoreTask, @unchecked Sendable {
    /// Of the hop under way. Loop thread only, once begun.
    private var url: String
    private let observers: TransferObservers
    private let state = Guarded(StreamState())

    private init(_ url: String, _ observers: TransferObservers) {
        self.url = url
        self.observers = observers
    }

    /// Begins a transfer and returns when the head has come. Cancelling the Swift task meanwhile cancels it.
    static func open(
        _ order: CoreOrder, _ observers: TransferObservers
    ) async throws(SessionError) -> StreamedResponse {
        let url = order.request.url
        guard !Task.isCancelled else { throw SessionError(.cancelled, url: url) }
        let stream = StreamTransfer(url, observers)
        let owner = StreamOwner(stream)
        if let error = stream.begin(order) { throw error }
        switch await stream.wait({ $0.waitForHead($1) }) {
        case .head(let response): return StreamedResponse(response: response, bytes: .init(owner: owner))
        case .failed(let error): throw error
        case .chunk, .end: throw SessionError(.unknown, message: "the transfer ended without a response", url: url)
        }
    }

    /// The next chunk, nil at the end.
    func next() async throws(SessionError) -> Data? {
        switch await wait({ $0.waitForChunk($1) }) {
        case .chunk(let chunk, let mustWake):
            if mustWake { wake() }
            return chunk
        case .failed(let error): throw error
        case .head, .end: return nil
        }
    }

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

    override func didReceiveHead(_ response: HTTPResponse) -> Bool {
        var response = response
        response.url = URLText(url).address
        state.withLock { [response] in $0.take(response) }?.resume(returning: .head(response))
        return true
    }

    override func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> Intake {
        guard state.withLock({ $0.hasRoom() }) else { return .later }
        let chunk = Data(bytes)
        state.withLock { $0.take(chunk) }?.resume(returning: .chunk(chunk, mustWake: false))
        return .taken
    }

    override func didFinish(_ result: CoreResult) {
        let failure = take(result, for: url).failure
        guard let waiter = state.withLock({ $0.finish(failure) }) else { return }
        waiter.resume(returning: failure.map { .failed($0) } ?? .end)
    }

    override func didProgress(_ progress: TransferProgress) {
        observers.progress?(progress)
    }

    override func willRedirect(_ proposal: RedirectProposal) -> RedirectDecision {
        let decision = observers.decide(proposal)
        switch decision {
        case .follow: url = proposal.request.url
        case .replace(let request): url = request.url
        case .stop, .fail: break
        }
        return decision
    }
}

/// What came and who waits for it. A value without effects.
struct StreamState {
    enum Answer: Sendable {
        case head(HTTPResponse)
        /// The transfer must be woken if it was put off for want of room that there is now.
        case chunk(Data, mustWake: Bool)
        case end
        case failed(SessionError)
    }

    typealias Waiter = UnsafeContinuation<Answer, Never>

    /// No more is taken once this much is inside. One chunk more than this can be.
    static let capacity = 64 * 1024

    private var head: HTTPResponse?
    private var chunks: [Data] = []
    private var firstChunk = 0
    private(set) var buffered = 0
    private var isPutOff = false
    private var waiter: Waiter?
    private var isFinished = false
    private var failure: SessionError?

    mutating func waitForHead(_ waiter: Waiter) -> Answer? {
        if let head { return .head(head) }
        if isFinished { return failure.map { .failed($0) } ?? .end }
        self.waiter = waiter
        return nil
    }

    mutating func waitForChunk(_ waiter: Waiter) -> Answer? {
        if let chunk = popChunk() {
            let mustWake = isPutOff && buffered <= Self.capacity / 2
            if mustWake { isPutOff = false }
            return .chunk(chunk, mustWake: mustWake)
        }
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

    /// Whether another chunk may come; if not, the reader is told to wake the transfer.
    mutating func hasRoom() -> Bool {
        isPutOff = buffered >= Self.capacity
        return !isPutOff
    }

    /// - Returns: Who gets the chunk at once; nil if it was kept.
    mutating func take(_ chunk: Data) -> Waiter? {
        if let waiter = takeWaiter() { return waiter }
        chunks.append(chunk)
        buffered += chunk.count
        return nil
    }

    /// - Returns: Who must hear of it now; nil if it is kept until somebody asks.
    mutating func finish(_ failure: SessionError?) -> Waiter? {
        isFinished = true
        guard let waiter = takeWaiter() else {
            self.failure = failure
            return nil
        }
        return waiter
    }

    private mutating func takeWaiter() -> Waiter? {
        defer { waiter = nil }
        return waiter
    }

    private mutating func popChunk() -> Data? {
        guard firstChunk < chunks.count else { return nil }
        let chunk = chunks[firstChunk]
        buffered -= chunk.count
        firstChunk += 1
        if firstChunk == chunks.count {
            chunks.removeAll(keepingCapacity: true)
            firstChunk = 0
        }
        return chunk
    }
}
