import Dispatch
import FoundationEssentials
import Synchronization

/// A task that sends and receives data in memory.
public typealias DataTask = SessionTask
/// A task that sends a file or a stream.
public typealias UploadTask = SessionTask
/// A task that writes the response body to a file.
public typealias DownloadTask = SessionTask

/// The handle of a request made with closures. May be used from any thread.
///
/// A started task completes exactly once, also if its handle is released. A task that was never started is discarded
/// when its handle is released.
public final class SessionTask: Sendable {
    /// The kinds of tasks, by the source of the request body and the destination of the response body.
    public enum Kind: Hashable, Sendable {
        /// The body of the response is collected in memory.
        case data
        /// A file or a stream is sent.
        case upload
        /// The body of the response is written to a file.
        case download
    }

    /// The state of a task.
    public enum State: Hashable, Sendable {
        /// Not started, or suspended with ``SessionTask/suspend()``.
        case suspended
        /// Started, and neither suspended, cancelled nor completed.
        case running
        /// Cancelled; the completion hasn't been called yet.
        case cancelling
        /// Completed. The completion handler is called after this.
        case completed
    }

    /// Unique among all tasks of the process.
    public let id: UInt64
    /// The request as it is first sent: after the request serializer, before interceptors and redirects.
    public let originalRequest: HTTPRequest

    private let storage: Locked<Storage>
    private let executor: CompletionExecutor
    private let events: RequestEvents?
    /// Whether the result is converted on the network thread, because that costs less than waking another thread
    /// (measured by the row `closures_64` of Benchmarks/run). False for an executor made from a function, which may
    /// call the program's closures on this thread.
    private let convertsInPlace: Bool

    private typealias TokenReceiver = @Sendable (ResumeToken?) -> Void
    private typealias Phase = SessionTaskPhase<TaskSpec, TaskWork, Ending>

    /// The result that the task has completed with.
    private struct Ending {
        var response: HTTPResponse?
        var error: SessionError?
        var trust: SharedTrustReport?
        var filePath: String?
        var resumeToken: ResumeToken?
    }

    private struct Storage {
        var kind: Kind
        var phase: Phase
        var progress = TransferProgress()
        var watchers: [Watcher] = []
        var lastWatcherID: UInt64 = 0
        var priority: HTTPRequest.Priority?
        /// Called with the token when the task has completed.
        var tokenReceivers: [TokenReceiver] = []
        var taskDescription: String?
    }

    private static let lastID = Atomic<UInt64>(0)
    /// The queue on which results are converted. A constant, because each call of `global()` allocates.
    private static let workers = DispatchQueue.global()

    /// Returns a new number for a task, or for a request without a task.
    static func nextID() -> UInt64 {
        lastID.add(1, ordering: .relaxed).newValue
    }

    init(_ request: HTTPRequest, id: UInt64, kind: Kind, events: RequestEvents?, spec: TaskSpec) {
        self.id = id
        originalRequest = request
        self.events = events
        executor = spec.executor
        convertsInPlace = spec.conversion == .trivial && spec.executor.queue != nil
        storage = Locked(Storage(kind: kind, phase: .created(spec), priority: request.priority))
    }

    deinit {
        // A started task retains itself until it has completed.
        storage.withLock { $0.phase.spec }?.abandon()
    }

    // MARK: Commands

    /// Starts the task, or resumes it after ``suspend()``.
    public func resume() {
        perform { storage in
            let priority = storage.priority
            return storage.phase.resume { start($0, priority: priority) }
        }
    }

    /// Suspends the transfer. The connection stays open, and the total time limit keeps running. Suspends don't nest.
    public func suspend() {
        perform { $0.phase.suspend() }
    }

    /// Cancels the task: it completes with ``SessionError/Code/cancelled``, unless it has already completed.
    public func cancel() {
        perform { $0.phase.cancel() }
    }

    /// Cancels a download and produces a token to resume it later. Requires ``DownloadOptions/keepsPartialFile``.
    ///
    /// - Parameter receiver: Called once on the completion executor, before the completion. Nil if the download has
    ///   succeeded or nothing was kept.
    public func cancel(producingResumeToken receiver: @escaping @Sendable (ResumeToken?) -> Void) {
        cancel(notifying: { [executor] token in executor.post { receiver(token) } })
    }

    /// Cancels a download, waits for its end, and returns a token to resume it later. Requires
    /// ``DownloadOptions/keepsPartialFile``.
    ///
    /// - Returns: The token; nil if the download has succeeded or nothing was kept.
    public func cancelProducingResumeToken() async -> ResumeToken? {
        let token = await withCheckedContinuation { continuation in
            cancel(notifying: { continuation.resume(returning: $0) })
        }
        storage.synchronizeContinuation()
        return token
    }

    private func cancel(notifying receiver: @escaping TokenReceiver) {
        let ending = storage.withLock { storage -> Ending? in
            if storage.phase.ending == nil { storage.tokenReceivers.append(receiver) }
            return storage.phase.ending
        }
        guard let ending else { return cancel() }
        receiver(ending.resumeToken)
    }

    // MARK: State

    /// The kind of the task; becomes ``Kind/download`` if the response is saved to a file.
    public var kind: Kind { storage.withLock { $0.kind } }

    /// A snapshot of the state.
    public var state: State { storage.withLock { $0.phase.state } }

    /// A snapshot of the progress.
    public var progress: TransferProgress { storage.withLock { $0.progress } }

    /// The head of the response, once the task has completed.
    public var response: HTTPResponse? { storage.withLock { $0.phase.ending?.response } }

    /// The error of a task that has completed and failed; that of its response serializer is set before the completion
    /// handler is called.
    public var error: SessionError? { storage.withLock { $0.phase.ending?.error } }

    /// The path of the file that the body was saved to, once the task has completed.
    public var filePath: String? { storage.withLock { $0.phase.ending?.filePath } }

    /// The trust report, once the task has completed, if ``HTTPRequest/reportsTrust`` was set and the response came
    /// over TLS.
    public var trust: TrustReport? { storage.withLock { $0.phase.ending?.trust }?.report }

    /// The priority, from 0 (last) to 1 (first). Default: the request's, or ``HTTPRequest/Priority/normal``. Read when
    /// the task starts.
    public var priority: HTTPRequest.Priority {
        get { storage.withLock { $0.priority } ?? .normal }
        set { storage.withLock { $0.priority = min(1, max(0, newValue)) } }
    }

    /// A description for your own use.
    public var taskDescription: String? {
        get { storage.withLock { $0.taskDescription } }
        set { storage.withLock { $0.taskDescription = newValue } }
    }

    // MARK: Observation

    /// An observer of a task. Must not block.
    package typealias Watching = @Sendable (SessionTask) -> Void

    private struct Watcher {
        enum Aspect {
            case progress, state
        }

        let id: UInt64
        let aspect: Aspect
        let call: Watching
    }

    /// Adds an observer of ``progress``. It is called at once, when the progress may have changed, on the session's
    /// network thread, and once when the task has completed. It is released then, or when the observation is cancelled.
    @discardableResult
    package func watchProgress(_ call: @escaping Watching) -> Observation {
        let observation = watch(.progress, call)
        call(self)
        return observation
    }

    /// Adds an observer of ``state``. It is called after the task was started, resumed or suspended, on the thread that
    /// did so, and once when it has completed. It is released then, or when the observation is cancelled. Earlier
    /// changes aren't reported, so read the state after adding the observer.
    package func watchState(_ call: @escaping Watching) -> Observation {
        watch(.state, call)
    }

    private func watch(_ aspect: Watcher.Aspect, _ call: @escaping Watching) -> Observation {
        let id = storage.withLock { storage in
            storage.lastWatcherID += 1
            if storage.phase.state != .completed {
                storage.watchers.append(Watcher(id: storage.lastWatcherID, aspect: aspect, call: call))
            }
            return storage.lastWatcherID
        }
        return Observation(task: self, id: id)
    }

    private func notify(_ watchers: [Watcher], of aspect: Watcher.Aspect) {
        for watcher in watchers where watcher.aspect == aspect { watcher.call(self) }
    }

    /// The number of observers of the progress.
    package var progressWatcherCount: Int { storage.withLock { $0.watchers.count { $0.aspect == .progress } } }

    /// The number of observers of the state.
    package var stateWatcherCount: Int { storage.withLock { $0.watchers.count { $0.aspect == .state } } }

    /// Identifies an observer. Doesn't retain the task.
    package struct Observation: Sendable {
        fileprivate weak var task: SessionTask?
        fileprivate let id: UInt64

        /// Removes the observer. A call of the observer that has begun on another thread may still be running.
        package func cancel() {
            guard let task else { return }
            let removed = task.storage.withLock { storage in
                storage.watchers.firstIndex { $0.id == id }.map { storage.watchers.remove(at: $0) }
            }
            // The observer is released here, without the lock, because it may have the last references to objects of
            // the program.
            _ = removed
        }
    }

    // MARK: Implementation

    // Changes the phase, and performs the action that results. The function is short, because the compiler specialises
    // it for each closure.
    private func perform(_ change: (inout Storage) -> Phase.Action) {
        // Forwarded under the lock, so that the transfer and the monitors receive changes in order. Reporting an event
        // only adds it to a queue, so no code of the program runs under the lock.
        let (action, watchers) = storage.withLock { storage -> (Phase.Action, [Watcher]) in
            let action = change(&storage)
            forward(action)
            return (action, storage.watchers)
        }
        carryOut(action, watchers)
    }

    /// Passes an action to the transfer and to the monitors. Called with the lock held.
    private func forward(_ action: Phase.Action) {
        switch action {
        case .nothing, .completeCancelled: break
        case .begin: events?.report(.resumed)
        case .suspend(let work):
            work.transfer?.suspend()
            events?.report(.suspended)
        case .resume(let work):
            work.transfer?.resume()
            events?.report(.resumed)
        case .cancel(let work): work.transfer?.cancel()
        }
    }

    /// Performs the parts of an action that may run code of the program. Called without the lock.
    private func carryOut(_ action: Phase.Action, _ watchers: [Watcher]) {
        switch action {
        case .nothing: break
        case .begin(let work):
            ProcessEvents.report(.taskResumed(self))
            notify(watchers, of: .state)
            begin(work)
        case .suspend:
            ProcessEvents.report(.taskSuspended(self))
            notify(watchers, of: .state)
        case .resume(let work):
            work.resumeAttempt()
            ProcessEvents.report(.taskResumed(self))
            notify(watchers, of: .state)
        case .cancel(let work):
            if case .attempts(let loop, _, _) = work { loop.interrupt() }
            work.resumeAttempt()
        case .completeCancelled(let spec):
            let token = (try? spec.request.get())?.resumeToken
            complete(failing: SessionError(.cancelled, url: originalRequest.url, resumeToken: token))
        }
    }

    /// Makes the work of the task when it is started. Called with the lock held.
    private func start(_ spec: TaskSpec, priority: HTTPRequest.Priority?) -> TaskWork {
        do throws(SessionError) {
            let request = reporting(try spec.request.get(), priority: priority)
            // Ended by `complete(with:)`, after the closures have been passed to the executor.
            guard request.session.activity.begin() else { throw request.closed }
            guard !request.handlers.interceptors.isEmpty else { return .transfer(CoreTask(request)) }
            let loop = RetryLoop(
                request.handlers.interceptors, events,
                waitForTask: { [weak self] in await self?.waitUntilResumed() })
            return .attempts(loop, request, .none)
        } catch {
            return .failure(error)
        }
    }

    /// Begins the work of a task that was started. Called without the lock.
    private func begin(_ work: TaskWork) {
        switch work {
        case .failure(let error):
            complete(failing: error)
        case .transfer(let transfer):
            events?.report(.sent(transfer.request.http, attempt: 1))
            transfer.handle = self
            if let error = transfer.begin() { complete(failing: error) }
        case .attempts(let loop, let request, _):
            Task { self.complete(with: await loop.run(request) { await self.send($0, in: $1) }) }
        }
    }

    /// Returns the request with the task's priority, and with handlers that report to this task and its monitors.
    /// Returns the request itself if nothing differs, because copying a request is expensive.
    private func reporting(_ request: CoreRequest, priority: HTTPRequest.Priority?) -> CoreRequest {
        guard events != nil || request.handlers.response != nil || request.http.priority != priority else {
            return request
        }
        var (http, handlers) = (request.http, request.handlers)
        if http.priority != priority { http.priority = priority }
        handlers.events = events
        if let response = handlers.response {
            handlers.response = { head in
                let decision = response(head)
                if case .download = decision, head.isSuccessful { self.storage.withLock { $0.kind = .download } }
                return decision
            }
        }
        return request.with(http: http, handlers: handlers)
    }

    /// Records the progress of a transfer, and reports it to its handler and to observers. Called on the loop thread.
    func progressed(to now: TransferProgress, _ handler: (@Sendable (TransferProgress) -> Void)?) {
        let watchers = storage.withLock { storage in
            storage.progress = now
            return storage.watchers
        }
        handler?(now)
        notify(watchers, of: .progress)
    }

    /// Completes the task with its transfer's result. Called on the loop thread.
    func finish(_ transfer: CoreTask, with result: CoreResult) {
        // Observers of the process are called during the conversion, and may block; then it isn't done on the loop
        // thread.
        if convertsInPlace, !ProcessEvents.isObserved { return complete(with: transfer.take(result)) }
        Self.workers.async { self.complete(with: transfer.take(result)) }
    }

    // MARK: Attempts

    private func send(_ request: CoreRequest, in loop: RetryLoop?) async -> CoreOutcome {
        guard let transfer = newTransfer(request) else {
            return CoreOutcome(failure: SessionError(.cancelled, url: request.http.url))
        }
        return await transfer.outcome(in: loop)
    }

    /// Creates the transfer of an attempt, suspended if the task is. Returns nil if the task was cancelled.
    private func newTransfer(_ request: CoreRequest) -> CoreTask? {
        let transfer = CoreTask(request)
        transfer.handle = self
        // The former attempt is released without the lock: its request may have the last reference to an object of the
        // program, whose `deinit` may read the state of this task.
        let (isWanted, former) = storage.withLock { storage -> (Bool, TaskAttempt?) in
            let former = storage.phase.update { $0.exchange(.sent(transfer)) }
            switch storage.phase.state {
            case .cancelling, .completed: return (false, nil)
            case .suspended: transfer.suspend()
            case .running: break
            }
            return (true, former ?? nil)
        }
        // An interceptor may have returned while its call of `next` was waiting.
        former?.resume()
        return isWanted ? transfer : nil
    }

    /// Waits until the task isn't suspended.
    private func waitUntilResumed() async {
        await newResumption()?.wait()
    }

    /// Creates the channel by which a waiting attempt is resumed. Returns nil if the task isn't suspended.
    private func newResumption() -> OneValueChannel<Void>? {
        // The former attempt is released without the lock, as in `newTransfer`.
        let (resumption, former) = storage.withLock { storage -> (OneValueChannel<Void>?, TaskAttempt?) in
            guard storage.phase.state == .suspended else { return (nil, nil) }
            let resumption = OneValueChannel<Void>()
            guard let former = storage.phase.update({ $0.exchange(.waiting(resumption)) }) else { return (nil, nil) }
            return (resumption, former)
        }
        former?.resume()
        return resumption
    }

    /// Sets ``error`` if the response of a successful transfer was refused or can't be decoded.
    func refuseResponse(with error: SessionError) {
        storage.withLock { storage in
            storage.phase.updateEnding { if $0.error == nil { $0.error = error } }
        }
    }

    private func complete(failing error: SessionError) {
        Self.workers.async { self.complete(with: CoreOutcome(failure: error)) }
    }

    private func complete(with outcome: CoreOutcome) {
        let token = outcome.download?.token ?? outcome.failure?.resumeToken
        let ending = Ending(
            response: outcome.response, error: outcome.failure, trust: outcome.trust, filePath: outcome.filePath,
            resumeToken: token)
        typealias Completion = (
            former: (spec: TaskSpec, work: TaskWork?)?, [Watcher], [TokenReceiver]
        )
        let (former, watchers, receivers) = storage.withLock { storage -> Completion in
            guard let former = storage.phase.complete(with: ending) else { return (nil, [], []) }
            defer {
                storage.watchers = []
                storage.tokenReceivers = []
            }
            return (former, storage.watchers, storage.tokenReceivers)
        }
        guard let former else { return }
        former.work?.resumeAttempt()
        for watcher in watchers { watcher.call(self) }
        for receiver in receivers { receiver(token) }
        events?.finish(outcome)
        former.spec.complete(self, outcome)
        former.work?.session?.activity.end()
    }
}

extension SessionTask: Identifiable {}

extension SessionTask: Hashable {
    public static func == (left: SessionTask, right: SessionTask) -> Bool {
        left === right
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
    }
}

extension SessionTask: CustomStringConvertible {
    /// Number, state, method and URL without user information and query.
    public var description: String {
        "task \(id) (\(state)): \(originalRequest)"
    }
}

/// The request of a task, and the closures of its completion.
struct TaskSpec: Sendable {
    /// How much work it is to turn a body into a value.
    enum Conversion {
        /// Code of the caller runs, or the work grows with the size of the body.
        case work
        /// The body is the value, and no code of the caller runs.
        case trivial
    }

    /// The request; the error with which the task completes if it is invalid.
    let request: Result<CoreRequest, SessionError>
    /// Where the caller's closures are called.
    let executor: CompletionExecutor
    /// The work that ``complete`` does.
    let conversion: Conversion
    /// Called once when the task has ended, on a thread where that much work may be done.
    let complete: @Sendable (SessionTask, CoreOutcome) -> Void
    /// Called instead if the task is released without having been started.
    let abandon: @Sendable () -> Void
}
