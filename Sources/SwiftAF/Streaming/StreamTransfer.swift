import FoundationEssentials

/// A transfer whose body is read in chunks.
final class StreamTransfer: CoreTask, @unchecked Sendable {
    /// The path of the file, if the response became a download. Set before the head is reported.
    private var filePath: String?
    private let state = Locked(StreamState())
    fileprivate let endReport = EndReport()

    /// Starts a transfer and returns when the final head has arrived. Cancelling the Swift task until then cancels the
    /// transfer.
    static func open(_ request: CoreRequest) async throws(SessionError) -> StreamedResponse {
        try await request.open(send)
    }

    /// Sends the request once.
    private static func send(
        _ request: CoreRequest, in loop: RetryLoop?
    ) async throws(SessionError) -> StreamedResponse {
        guard !Task.isCancelled else { throw SessionError(.cancelled, url: request.http.url) }
        let stream = StreamTransfer(request)
        let owner = StreamOwner(stream)
        loop?.sends(stream)
        if let error = stream.begin() { throw error }
        switch await stream.waitForHead() {
        case .head(let response):
            return StreamedResponse(
                head: response, filePath: stream.filePath, sharedTrust: stream.headTrust,
                bytes: .init(owner: owner))
        case .failed(let error): throw error ?? .noResponse(to: request)
        }
    }

    /// Returns the oldest buffered bytes without leaving the caller's actor; waits if there are none. Returns nil at
    /// the end of the body. Throws in a cancelled task, even if bytes are buffered.
    func next(isolation: isolated (any Actor)?) async throws(SessionError) -> Data? {
        if Task.isCancelled {
            cancel()
            throw SessionError(.cancelled, url: request.http.url)
        }
        if let (chunk, mustWake) = state.withLock({ $0.takeChunk() }) {
            if mustWake { wake() }
            return chunk
        }
        while true {
            switch await waitForChunk() {
            case .chunk(let chunk, let mustWake):
                if mustWake { wake() }
                return chunk
            case .ready: continue
            case .end: return nil
            case .failed(let error): throw error
            }
        }
    }

    /// Whether no more data arrives unless the reader consumes some, because the transfer is paused or has ended.
    var isAtRest: Bool { state.withLock { $0.isAtRest } }

    /// The head with trailers and metrics; nil until the transfer has succeeded.
    var completedHead: HTTPResponse? { state.withLock { $0.completedHead } }

    private func waitForHead() async -> StreamState.Opening {
        let opening = await withTaskCancellationHandler {
            await withUnsafeContinuation { opener in
                if let opening = state.withLock({ $0.waitForHead(opener) }) { opener.resume(returning: opening) }
            }
        } onCancel: {
            cancel()
        }
        state.synchronizeContinuation()
        return opening
    }

    private func waitForChunk() async -> StreamState.Next {
        let next = await withTaskCancellationHandler {
            await withUnsafeContinuation { reader in
                if let next = state.withLock({ $0.waitForChunk(reader) }) { reader.resume(returning: next) }
            }
        } onCancel: {
            cancel()
        }
        state.synchronizeContinuation()
        return next
    }

    override func didReceiveHead(_ response: HTTPResponse) -> ResponseDecision {
        let decision = super.didReceiveHead(response)
        switch decision {
        case .allow, .write: break
        case .cancel, .fail: return decision
        case .download(let path, _): filePath = path
        }
        state.withLock { $0.receive(response) }?.resume(returning: .head(response))
        return decision
    }

    override func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !bytes.isEmpty else { return true }
        guard let space = state.withLock({ $0.beginPiece(bytes.count) }) else { return false }
        // Copied without the lock, so that a reader doesn't wait for it meanwhile.
        space.copy(bytes)
        let step = state.withLock { $0.endPiece(space) }
        step.reader?.resume(returning: .ready)
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
        state.withLock { $0.finish(outcome.failure, outcome.response) }.resume()
    }
}

extension StreamedResponse: OpenedTransfer {
    func reportEnd(to events: RequestEvents) {
        bytes.owner.stream.endReport.report(to: events)
    }

    func replacing(head: HTTPResponse) -> StreamedResponse {
        StreamedResponse(head: head, filePath: filePath, sharedTrust: sharedTrust, bytes: bytes)
    }

    static func outcome(of attempt: Result<StreamedResponse, SessionError>) -> CoreOutcome {
        switch attempt {
        case .success(let response): CoreOutcome(response: response.head)
        case .failure(let error): CoreOutcome(failure: error)
        }
    }
}
