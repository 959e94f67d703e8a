internal import CAFCore
import FoundationEssentials

/// Owns a task of the core and receives its events.
///
/// The core retains this object from a successful ``begin()`` until after the last event. This object holds a reference
/// to the core's task until it is freed. The end of the task breaks this cycle, whatever other references exist.
///
/// Events arrive on the session's loop thread, one at a time. Handlers and subclasses must not block it.
class CoreTask: CoreTransfer, @unchecked Sendable {
    private enum State {
        /// Not begun, or its start has failed. `isSuspended` is how the transfer will begin.
        case new(isSuspended: Bool)
        /// Begun: commands are passed to this task of the core.
        case begun(OpaquePointer)
        /// Cancelled before it began. It can't begin any more.
        case cancelledBeforeStart

        /// Nil until the core has created the task.
        var raw: OpaquePointer? { if case .begun(let raw) = self { raw } else { nil } }
    }

    private let state = Locked(State.new(isSuspended: false))
    /// The source of a request body that the core reads through callbacks. Set before the core's task is created, so it
    /// needs no lock.
    private var body: CoreBodySource?
    /// The certificates of the server that sent the head, if the request reports them. Set on the loop thread before
    /// the head is reported.
    private(set) final var headTrust: SharedTrustReport?

    /// The continuation that waits for the result. Set before the task begins.
    // Unsafe, because a checked continuation allocates for each request.
    private var continuation: UnsafeContinuation<Result<CoreResult, SessionError>, Never>?
    /// The task of the public API that is given the progress, and the result if there is no continuation. Set before
    /// the task begins.
    final var handle: SessionTask?

    /// Tells ThreadSanitizer that what the loop thread did happens before the result is taken on another thread.
    private let handover = ThreadSanitizerFence()

    deinit {
        state.withLock { state in
            if let raw = state.raw { afc_task_release(raw) }
        }
    }

    // MARK: Commands, from any thread
    //
    // The core is called with the lock held, so that it gets commands in the order in which they were decided. It only
    // queues them and never calls back synchronously. Events that need the lock wait until the core's task is known.

    /// Creates the core's task and starts it. Call once.
    ///
    /// - Returns: Nil if the task was started; ``didFinish(_:)`` is then called exactly once. Otherwise the error, and
    ///   ``didFinish(_:)`` is never called. A task that is already cancelled isn't started.
    final func begin() -> SessionError? {
        do throws(SessionError) {
            body = try request.makeBodySource(for: self)
        } catch var error {
            error.url = request.http.url
            if case .cancelledBeforeStart = state.withLock({ $0 }) { return cancelled }
            return error
        }
        // The source may have the last reference to the program's sequence, whose `deinit` mustn't run under the lock.
        return withExtendedLifetime(body) { start() }
    }

    private func start() -> SessionError? {
        state.withLock { state in
            guard case .new(let isSuspended) = state else { return cancelled }
            guard request.session.activity.begin() else { return request.closed }
            var events = events()
            var failure = afc_failure()
            var raw: OpaquePointer?
            let status = request.withRequest(body: body) { core in
                events.context = Unmanaged.passRetained(self).toOpaque()
                return afc_task_begin(&raw, request.session.raw, core, &events, &failure)
            }
            guard status == .AFC_OK, let raw else { return SessionError(failure, url: request.http.url) }
            state = .begun(raw)
            if isSuspended { afc_task_suspend(raw) }
            if request.session.cancelsStarted { afc_task_cancel(raw) }
            return nil
        }
    }

    private var cancelled: SessionError {
        SessionError(.cancelled, url: request.http.url, resumeToken: request.resumeToken)
    }

    /// Cancels the task; its end is still reported. A task that hasn't begun can't begin afterwards.
    override final func cancel() {
        state.withLock { state in
            switch state {
            case .new: state = .cancelledBeforeStart
            case .begun(let raw): afc_task_cancel(raw)
            case .cancelledBeforeStart: break
            }
        }
    }

    /// Makes the core read the request body again after `AFC_READ_AGAIN`, or deliver the piece of the response body
    /// again that ``didReceiveBody(_:)`` has refused.
    final func wake() {
        state.withLock { state in
            if let raw = state.raw { afc_task_wake(raw) }
        }
    }

    /// Ends the transfer because its request body has failed after the core had read the last byte.
    final func bodyFailed() {
        state.withLock { state in
            if let raw = state.raw { afc_task_cancel(raw) }
        }
    }

    /// Copies header fields for a decision that the current callback returns. They live until the next decision.
    final func keepUntilNextDecision(_ headers: HTTPHeaders) -> UnsafeBufferPointer<afc_header> {
        newDecisionMemory().copy(headers)
    }

    override final func send(_ reply: ChallengeReply) {
        state.withLock { state in
            guard let raw = state.raw else { return }
            reply.send { afc_task_answer_challenge(raw, $0, $1, $2) }
        }
    }

    /// Pauses the transfer.
    final func suspend() {
        state.withLock { state in
            switch state {
            case .new: state = .new(isSuspended: true)
            case .begun(let raw): afc_task_suspend(raw)
            case .cancelledBeforeStart: break
            }
        }
    }

    /// Resumes the transfer.
    final func resume() {
        state.withLock { state in
            switch state {
            case .new: state = .new(isSuspended: false)
            case .begun(let raw): afc_task_resume(raw)
            case .cancelledBeforeStart: break
            }
        }
    }

    /// Starts the task and waits for its end. Cancelling the calling Swift task cancels this task.
    ///
    /// - Throws: The error that prevented the start.
    // Inlined, because each call of an async function, and each return, may switch executors.
    @inline(__always)
    final func run() async throws(SessionError) -> CoreResult {
        let ending = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                self.continuation = continuation
                // If the start failed, the end isn't reported; otherwise it is reported exactly once.
                if let error = begin() { continuation.resume(returning: .failure(error)) }
            }
        } onCancel: {
            cancel()
        }
        return try ending.get()
    }

    /// Converts the result of ``didFinish(_:)`` to Swift values. Call once, on any thread.
    final func take(_ result: CoreResult) -> CoreOutcome {
        handover.begin()
        var outcome = result.take(
            for: request.http.url, decodes: request.decodesBody, reportsTrust: request.http.reportsTrust,
            bodyFailure: body?.failure)
        if let failure = outcome.failure, failure.code == .cancelled, let cause = body?.lateFailure {
            outcome.failure = failure.causedByBody(cause)
        }
        // Without a response, the token that the request came with remains valid, whether or not the core had already
        // read the partial file.
        if let token = request.resumeToken, outcome.response == nil, outcome.failure?.resumeToken == nil {
            outcome.failure?.resumeToken = token
        }
        if case .file(let file) = request.sink, let digest = file.digest {
            outcome.failure = outcome.failure.map(digest.complete)
        }
        outcome.failure = outcome.failure.map(explain)
        return outcome
    }

    /// Returns the response if the result contains nothing else, which is the common case, and consumes the result. If
    /// it returns nil, call ``take(_:)``. Any thread.
    final func takeResponse(_ result: CoreResult) -> (HTTPResponse, Data)? {
        handover.begin()
        return result.takeResponse(for: request.http.url, decodes: request.decodesBody)
    }

    // MARK: Events, on the loop thread

    /// Called when the task has ended. `result` must be consumed once, with ``take(_:)``, on any thread.
    func didFinish(_ result: CoreResult) {
        if let continuation {
            continuation.resume(returning: .success(result))
        } else if let handle {
            handle.finish(self, with: result)
        } else {
            result.discard()
        }
    }

    /// Called when the head of the final response was received, before its body. Returns what to do with the body.
    func didReceiveHead(_ response: HTTPResponse) -> ResponseDecision {
        request.handlers.decide(response)
    }

    /// Called with each piece of the response body. The bytes are valid only during the call. Return false to get the
    /// same piece again after ``wake()``.
    func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool { true }

    /// Called after ``wake()``, if the request's sink is a callback. If ``wake()`` was called within
    /// ``didReceiveBody(_:)``, it is called after everything that can be read without waiting was delivered.
    func didWake() {}
}

// MARK: - The callbacks

extension CoreTask {
    private static func from(_ context: UnsafeMutableRawPointer?) -> CoreTask? {
        context.map { Unmanaged<CoreTask>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Returns the core's callbacks. Each event costs a call into Swift, so only those that something uses are set.
    private func events() -> afc_task_events {
        // The handlers are read one by one and not copied as a whole, for the reason given in `hopEvents()`.
        var events = hopEvents()
        events.size = MemoryLayout<afc_task_events>.stride
        events.on_done = { context, result in
            guard let result, let task = CoreTask.from(context) else { return }
            task.stopAnswering()
            task.handover.end()
            task.didFinish(CoreResult(taking: result))
        }
        // Called after the last event, and also if afc_task_begin() fails.
        events.release = { context in
            guard let context else { return }
            let task = Unmanaged<CoreTask>.fromOpaque(context)
            task.takeUnretainedValue().request.session.activity.end()
            task.release()
        }
        if request.handlers.progress != nil || handle != nil {
            events.on_progress = { context, progress in
                guard let progress, let task = CoreTask.from(context) else { return }
                task.report(TransferProgress(progress.pointee))
            }
        }
        if request.handlers.caching != nil {
            events.on_cache = { context, candidate in
                guard let candidate, let task = CoreTask.from(context) else { return false }
                return task.decide(candidate)
            }
        }
        let isCallback = request.sink == .callback
        if request.handlers.response != nil || request.handlers.monitors != nil || isCallback {
            events.on_head = { context, response in
                guard let response, let task = CoreTask.from(context) else { return .AFC_EINTERNAL }
                return task.receiveHead(response)
            }
        }
        if isCallback {
            events.on_body = { context, chunk in
                guard let task = CoreTask.from(context) else { return .AFC_EINTERNAL }
                let bytes = UnsafeRawBufferPointer(start: chunk.bytes, count: chunk.size)
                return task.didReceiveBody(bytes) ? .AFC_OK : .AFC_EAGAIN
            }
            events.on_wake = { CoreTask.from($0)?.didWake() }
        }
        return events
    }

    private func report(_ progress: TransferProgress) {
        if let handle {
            handle.progressed(to: progress, request.handlers.progress)
        } else {
            request.handlers.progress?(progress)
        }
    }

    private func receiveHead(_ response: UnsafeMutablePointer<afc_response>) -> afc_status {
        guard let head = response.pointee.head, let url = response.pointee.url else { return .AFC_EINTERNAL }
        if request.http.reportsTrust {
            headTrust = afc_response_get_trust(response).map { SharedTrustReport(TrustReport($0.pointee)) }
        }
        var received = HTTPResponse(head.pointee, url: String(cString: url), decodes: request.decodesBody)
        // The metrics of the hops are known at the end only. The use of the cache is known now, and callers ask for it
        // before they read the body.
        let cacheStatus = CacheStatus(afc_response_get_cache_use(response))
        if cacheStatus != .server {
            received.metrics.hops = [
                HopMetrics(
                    url: received.url, status: received.status, version: received.version, cacheStatus: cacheStatus)
            ]
        }
        switch didReceiveHead(received) {
        case .allow:
            return .AFC_OK
        case .cancel:
            return .AFC_ECANCELED
        case .write(let descriptor):
            let status = afc_response_set_descriptor(response, descriptor)
            switch status {
            case .AFC_EINVAL:
                decideToFail(
                    SessionError(.invalidInput, message: "descriptor \(descriptor) isn't open for writing"),
                    or: .invalidInput)
            case .AFC_EFILE:
                // The core's dup() of the descriptor failed.
                decideToFail(
                    SessionError(.file, message: "cannot write to descriptor \(descriptor): too many open files"),
                    or: .file)
            default: break
            }
            return status
        case .fail(let error):
            decideToFail(error, or: .interceptor)
            return .AFC_ECANCELED
        case .download(let path, let options):
            let arena = newDecisionMemory()
            // The core rejects an empty path. A path with NUL, which the core would truncate, is passed as an empty
            // one.
            response.pointee.path = (try? arena.copy(path, "")) ?? (try? arena.copy("", ""))
            response.pointee.flags = options.coreFlags
            return .AFC_OK
        }
    }
}

extension TransferProgress {
    fileprivate init(_ progress: afc_progress) {
        self.init(
            sent: progress.sent, sentTotal: progress.sent_total < 0 ? nil : progress.sent_total,
            received: progress.received, receivedTotal: progress.received_total < 0 ? nil : progress.received_total,
            offset: progress.offset)
    }
}
