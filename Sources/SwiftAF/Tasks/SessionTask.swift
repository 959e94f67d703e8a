import Dispatch
import FoundationEssentials
import Synchronization

/// A task that sends and receives data in memory.
public typealias DataTask = SessionTask
/// A task that sends a file or a stream.
public typealias UploadTask = SessionTask
/// A task that writes what it receives into a file.
public typealias DownloadTask = SessionTask

/// A handle of one request that was made with closures. Any thread may use it.
///
/// A task that was started completes exactly once, also if nobody holds the handle. One that was not started and
/// that nobody holds disappears.
public final class SessionTask: Sendable {
    /// What a task does with bodies.
    public enum Kind: Hashable, Sendable {
        case data, upload, download
    }

    public enum State: Hashable, Sendable {
        /// Not started yet, or stopped by ``SessionTask/suspend()``.
        case suspended
        case running
        /// Cancelled, the completion is on its way.
        case cancelling
        /// Finished in whatever way. The completion handler is called after this.
        case completed
    }

    /// Unique among all tasks of the process.
    public let id: UInt64
    /// The request as the serializer made it, before redirects.
    public let originalRequest: HTTPRequest

    private let storage: Guarded<Storage>
    private let callbackQueue: DispatchQueue
    private let events: RequestEvents?

    private typealias TokenReceiver = @Sendable (ResumeToken?) -> Void

    private struct Storage {
        var kind: Kind
        var machine = SessionTaskState()
        /// What happens when the task starts; nil once it has.
        var plan: TaskPlan?
        var transfer: CoreTask?
        /// Of a task that may take several attempts.
        var loop: AttemptLoop?
        /// An attempt that waits until the task runs again.
        var turn: UnsafeContinuation<Void, Never>?
        var progress = TransferProgress()
        var watchers: [ProgressWatcher] = []
        var priority: Float?
        var response: HTTPResponse?
        var error: SessionError?
        var trust: SharedTrustReport?
        var filePath: String?
        var resumeToken: ResumeToken?
        /// Called with it when the task is over.
        var tokenReceivers: [TokenReceiver] = []
        var taskDescription: String?
    }

    private static let lastID = Atomic<UInt64>(0)

    /// Of a task, or of a request that has none.
    static func nextID() -> UInt64 {
        lastID.add(1, ordering: .relaxed).newValue
    }

    init(_ request: HTTPRequest, id: UInt64, kind: Kind, plan: TaskPlan) {
        self.id = id
        originalRequest = request
        events = plan.observers.events
        callbackQueue = plan.callbackQueue
        storage = Guarded(Storage(kind: kind, plan: plan, priority: request.priority))
    }

    deinit {
        // Started tasks have given their plan away.
        storage.withLock { $0.plan }?.abandon()
    }

    // MARK: Commands

    /// Starts the task, or goes on with it after ``suspend()``.
    public func resume() {
        perform { $0.resume() }
    }

    /// Stops moving bytes. The connection stays open, and the total time limit runs on. Does not add up.
    public func suspend() {
        perform { $0.suspend() }
    }

    /// Ends the task with ``SessionError/Code/cancelled`` unless it has finished already.
    public func cancel() {
        perform { $0.cancel() }
    }

    /// Ends a download so that it can go on later, if it keeps its partial file
    /// (``DownloadOptions/keepsPartialFile``).
    ///
    /// - Parameter receiver: Called once, on the completion queue and before the completion: with nil if the download
    ///   has succeeded or nothing was kept.
    public func cancel(producingResumeToken receiver: @escaping @Sendable (ResumeToken?) -> Void) {
        cancel(telling: { [callbackQueue] token in callbackQueue.async { receiver(token) } })
    }

    /// Ends a download so that it can go on later, if it keeps its partial file
    /// (``DownloadOptions/keepsPartialFile``), and waits until it has ended.
    ///
    /// - Returns: Nil if the download has succeeded or nothing was kept.
    public func cancelProducingResumeToken() async -> ResumeToken? {
        await withUnsafeContinuation { continuation in
            cancel(telling: { continuation.resume(returning: $0) })
        }
    }

    private func cancel(telling receiver: @escaping TokenReceiver) {
        let token = storage.withLock { storage -> ResumeToken?? in
            if storage.machine.state == .completed { return .some(storage.resumeToken) }
            storage.tokenReceivers.append(receiver)
            return nil
        }
        guard let token else { return cancel() }
        receiver(token)
    }

    // MARK: What is known

    /// A task whose response becomes a download is one from then on.
    public var kind: Kind { storage.withLock { $0.kind } }

    public var state: State { storage.withLock { $0.machine.state } }

    /// How far it is: a snapshot that does not change.
    public var progress: TransferProgress { storage.withLock { $0.progress } }

    /// The response's head, once the task has completed with one.
    public var response: HTTPResponse? { storage.withLock { $0.response } }

    /// Why the task failed, once it has. Errors of the response serializer are only told to the handler.
    public var error: SessionError? { storage.withLock { $0.error } }

    /// The file that the response's body went into, once the task has completed with one.
    public var filePath: String? { storage.withLock { $0.filePath } }

    /// What the server has shown of itself, once the task has completed, if ``HTTPRequest/reportsTrust`` asked for it and
    /// the answer came over TLS.
    public var trust: TrustReport? { storage.withLock { $0.trust }?.report }

    /// From 0 (last) to 1 (first), at first the request's or 0.5. Counts when the task starts.
    public var priority: Float {
        get { storage.withLock { $0.priority } ?? 0.5 }
        set { storage.withLock { $0.priority = min(1, max(0, newValue)) } }
    }

    /// A text for the program's own use.
    public var taskDescription: String? {
        get { storage.withLock { $0.taskDescription } }
        set { storage.withLock { $0.taskDescription = newValue } }
    }

    // MARK: Watching

    /// Hears that ``progress`` may have changed. Called on the network's thread, so it must not block, and once when
    /// the task is over.
    package typealias ProgressWatcher = @Sendable (SessionTask) -> Void

    /// Adds a watcher, which is called at once, and let go when the task is over.
    package func watchProgress(_ watcher: @escaping ProgressWatcher) {
        storage.withLock { storage in
            if storage.machine.state != .completed { storage.watchers.append(watcher) }
        }
        watcher(self)
    }

    // MARK: Working

    private func perform(_ change: (inout SessionTaskState) -> SessionTaskState.Action) {
        // The transfer is told under the lock, so that it hears of changes in the order they were decided.
        let action = storage.withLock { storage in
            let action = change(&storage.machine)
            switch action {
            case .nothing, .completeCancelled: break
            case .begin:
                if let interceptor = storage.plan?.observers.interceptor {
                    storage.loop = AttemptLoop(interceptor, events)
                } else {
                    storage.transfer = TaskTransfer(self)
                }
            case .suspendTransfer: storage.transfer?.suspend()
            case .resumeTransfer: storage.transfer?.resume()
            case .cancelTransfer: storage.transfer?.cancel()
            }
            return action
        }
        if action == .cancelTransfer { storage.withLock { $0.loop }?.interrupt() }
        if action == .cancelTransfer || action == .resumeTransfer { giveTurn() }
        tellObservers(of: action)
        if action == .begin { begin() }
        if action == .completeCancelled { finish(.failed(cancelledBeforeStart)) }
    }

    private var cancelledBeforeStart: SessionError {
        let order = try? storage.withLock { $0.plan }?.order.get()
        return SessionError(.cancelled, url: originalRequest.url, resumeToken: order?.resumeToken)
    }

    private func tellObservers(of action: SessionTaskState.Action) {
        switch action {
        case .begin, .resumeTransfer:
            events?.tell(.resumed)
            TaskObservation.observers.tell { $0.taskDidResume(self) }
        case .suspendTransfer:
            events?.tell(.suspended)
            TaskObservation.observers.tell { $0.taskDidSuspend(self) }
        case .nothing, .completeCancelled, .cancelTransfer: break
        }
    }

    private func begin() {
        let (plan, transfer, loop, priority) = storage.withLock { ($0.plan, $0.transfer, $0.loop, $0.priority) }
        guard let plan else { return }
        do throws(SessionError) {
            let order = try plan.order.get().with(
                priority: priority, interests: plan.observers.interests.union(.progress))
            if let loop {
                Task { self.complete(with: await loop.run(order) { await self.send($0) }) }
                return
            }
            events?.tell(.sent(order.request, attempt: 1))
            if let error = transfer?.begin(order) { throw error }
        } catch {
            finish(.failed(error))
        }
    }

    // MARK: Attempts

    /// Makes one attempt, as soon as the task is not suspended.
    private func send(_ order: CoreOrder) async -> CoreOutcome {
        await waitForTurn()
        let transfer = TaskTransfer(self, url: order.request.url)
        let isCancelled = storage.withLock { storage in
            guard storage.machine.state != .cancelling else { return true }
            if storage.machine.state == .suspended { transfer.suspend() }
            storage.transfer = transfer
            return false
        }
        if isCancelled { return CoreOutcome(failure: SessionError(.cancelled, url: order.request.url)) }
        return await withUnsafeContinuation { continuation in
            transfer.continuation = continuation
            if let error = transfer.begin(order) { continuation.resume(returning: .failed(error)) }
        }.outcome
    }

    private func waitForTurn() async {
        await withUnsafeContinuation { continuation in
            let mustWait = storage.withLock { storage in
                guard storage.machine.state == .suspended else { return false }
                storage.turn = continuation
                return true
            }
            if !mustWait { continuation.resume() }
        }
    }

    private func giveTurn() {
        let turn = storage.withLock { storage in
            defer { storage.turn = nil }
            return storage.turn
        }
        turn?.resume()
    }

    /// Completes the task on a thread where work may be done.
    fileprivate func finish(_ ending: TaskEnding) {
        DispatchQueue.global().async { self.complete(with: ending.outcome) }
    }

    private func complete(with outcome: CoreOutcome) {
        let token = outcome.download?.token ?? outcome.failure?.resumeToken
        typealias Told = (TaskPlan?, [ProgressWatcher], [TokenReceiver])
        let (plan, watchers, receivers) = storage.withLock { storage -> Told in
            guard storage.machine.complete() else { return (nil, [], []) }
            storage.resumeToken = token
            storage.filePath = outcome.filePath
            storage.response = outcome.response
            storage.trust = outcome.trust
            storage.error = outcome.failure
            storage.transfer = nil
            storage.loop = nil
            defer {
                storage.plan = nil
                storage.watchers = []
                storage.tokenReceivers = []
            }
            return (storage.plan, storage.watchers, storage.tokenReceivers)
        }
        for watcher in watchers { watcher(self) }
        for receiver in receivers { receiver(token) }
        guard let plan else { return }
        events?.finish(outcome)
        plan.complete(self, outcome)
    }

    fileprivate func advance(_ progress: TransferProgress) {
        let (plan, watchers) = storage.withLock { storage in
            storage.progress = progress
            return (storage.plan, storage.watchers)
        }
        plan?.observers.progress?(progress)
        for watcher in watchers { watcher(self) }
    }

    fileprivate func decide(_ proposal: RedirectProposal) -> RedirectDecision {
        storage.withLock { $0.plan }?.observers.decide(proposal) ?? .follow
    }

    fileprivate func hear(of challenge: AuthenticationChallenge) {
        events?.tell(.challenged(challenge))
    }

    fileprivate func report(_ trace: WireTrace) {
        events?.tell(.traced(trace))
    }

    fileprivate func judge(_ response: HTTPResponse) -> ResponseDisposition {
        let disposition = storage.withLock { $0.plan }?.observers.judge(response) ?? .allow
        if case .download = disposition { storage.withLock { $0.kind = .download } }
        return disposition
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

/// What a task does when it starts and when it ends.
struct TaskPlan: Sendable {
    /// An error if the request can't be sent.
    let order: Result<CoreOrder, SessionError>
    let observers: TransferObservers
    /// Where the caller's closures are called.
    let callbackQueue: DispatchQueue
    /// Called once, where work may be done.
    let complete: @Sendable (SessionTask, CoreOutcome) -> Void
    /// Called instead if the task goes without having been started.
    let abandon: @Sendable () -> Void
}

/// How a transfer ended; taken apart away from the loop thread.
private enum TaskEnding: Sendable {
    case finished(CoreResult, TaskTransfer)
    case failed(SessionError)

    var outcome: CoreOutcome {
        switch self {
        case .finished(let result, let transfer):
            transfer.take(result, for: transfer.url)
        case .failed(let error):
            CoreOutcome(body: Data(), failure: error)
        }
    }
}

/// The transfer of a task. Holds the task, so that it lives until it has completed.
private final class TaskTransfer: CoreTask, @unchecked Sendable {
    private let task: SessionTask
    let url: String
    /// Waits for the end if this is one of several attempts. Set before the transfer begins.
    var continuation: UnsafeContinuation<TaskEnding, Never>?

    init(_ task: SessionTask, url: String? = nil) {
        self.task = task
        self.url = url ?? task.originalRequest.url
    }

    override func didFinish(_ result: CoreResult) {
        let ending = TaskEnding.finished(result, self)
        if let continuation { continuation.resume(returning: ending) } else { task.finish(ending) }
    }

    override func didProgress(_ progress: TransferProgress) {
        task.advance(progress)
    }

    override func willRedirect(_ proposal: RedirectProposal) -> RedirectDecision {
        task.decide(proposal)
    }

    override func didAnswer(_ challenge: AuthenticationChallenge) {
        task.hear(of: challenge)
    }

    override func didTrace(_ trace: WireTrace) {
        task.report(trace)
    }

    override func didReceiveHead(_ response: HTTPResponse) -> ResponseDisposition {
        task.judge(response)
    }
}
