public import Dispatch

/// Reports when to show an indicator of network activity, such as a spinner or a line of text.
///
/// ```swift
/// NetworkActivityIndicatorManager.shared.visibilityHandler = onMainActor { isVisible in
///     spinner.isHidden = !isVisible
/// }
/// NetworkActivityIndicatorManager.shared.isEnabled = true
/// ```
///
/// Counts the running tasks of all session managers, awaited calls, streams that are being read, and activities that
/// the program adds with ``incrementActivityCount()``. Requests that started before this manager was made aren't
/// counted. Thread-safe.
public final class NetworkActivityIndicatorManager: Sendable {
    /// The shared manager. Made on first use, so it counts requests from then on.
    public static let shared = NetworkActivityIndicatorManager()

    private let storage: ActivityStorage
    private let observation: UInt64

    /// Creates a manager that counts requests from now on.
    ///
    /// - Parameter isCounted: Returns whether to count a request. Called once for each, with the request before
    ///   redirects, on the thread that starts it. Return false for background requests, such as an event stream.
    public init(counting isCounted: @escaping @Sendable (HTTPRequest) -> Bool = { _ in true }) {
        storage = ActivityStorage(isCounted)
        observation = ProcessEvents.add { [storage] in storage.count($0) }
    }

    deinit {
        ProcessEvents.remove(observation)
    }

    /// Whether the indicator may be shown. Default: false. Activity is counted in any case.
    public var isEnabled: Bool {
        get { storage.read { $0.isEnabled } }
        set { storage.change { $0.setEnabled(newValue) } }
    }

    /// How long activity must last before the indicator is shown. Default: 1 s.
    public var activationDelay: Duration {
        get { storage.read { $0.activationDelay } }
        set {
            storage.change { state in
                state.activationDelay = newValue
                return []
            }
        }
    }

    /// How long there must be no activity before the indicator is hidden. Default: 0.17 s.
    public var completionDelay: Duration {
        get { storage.read { $0.completionDelay } }
        set {
            storage.change { state in
                state.completionDelay = newValue
                return []
            }
        }
    }

    /// Whether the indicator should be visible now.
    public var isNetworkActivityIndicatorVisible: Bool { storage.read { $0.isVisible } }

    /// The number of current activities.
    public var activityCount: Int { storage.read { $0.count } }

    /// Counts an activity unknown to the session managers, until ``decrementActivityCount()``.
    public func incrementActivityCount() {
        storage.change { $0.add(1) }
    }

    /// Reverts one ``incrementActivityCount()``; does nothing at 0.
    public func decrementActivityCount() {
        storage.change { $0.add(-1) }
    }

    /// Shows or hides the indicator. Called on ``callbackQueue``, only when the visibility changes.
    public var visibilityHandler: (@Sendable (Bool) -> Void)? {
        get { storage.handler }
        set { storage.handler = newValue }
    }

    /// The queue of the handler, which should be serial; nil for the main queue.
    public var callbackQueue: DispatchQueue? {
        get { storage.queue }
        set { storage.queue = newValue }
    }
}

/// The locked state of a manager, with its timers and queue.
private final class ActivityStorage: Sendable {
    typealias Handler = @Sendable (Bool) -> Void

    private struct Content {
        var activity = NetworkActivityState()
        var handler: Handler?
        var queue: DispatchQueue?
    }

    private let isCounted: @Sendable (HTTPRequest) -> Bool
    private let content = Locked(Content())

    init(_ isCounted: @escaping @Sendable (HTTPRequest) -> Bool) {
        self.isCounted = isCounted
    }

    var handler: Handler? {
        get { content.withLock { $0.handler } }
        // The former handler is released without the lock, because the release may run code that calls this object.
        set { content.exchange(\.handler, newValue) }
    }

    var queue: DispatchQueue? {
        get { content.withLock { $0.queue } }
        set { content.withLock { $0.queue = newValue } }
    }

    func read<Value: Sendable>(_ get: (NetworkActivityState) -> Value) -> Value {
        content.withLock { get($0.activity) }
    }

    func change(_ body: (inout NetworkActivityState) -> [NetworkActivityState.Action]) {
        // Called with the lock held, so that notifications are in the order of the state changes.
        content.withLock { content in
            for action in body(&content.activity) {
                switch action {
                case .show: notify(true, content)
                case .hide: notify(false, content)
                case .wake(let alarm, let delay): wake(alarm, after: delay)
                }
            }
        }
    }

    private func notify(_ isVisible: Bool, _ content: Content) {
        guard let handler = content.handler else { return }
        (content.queue ?? .main).async { handler(isVisible) }
    }

    private func wake(_ alarm: Int, after delay: Duration) {
        Task { [weak self] in
            await delay.pause()
            self?.change { $0.wake(alarm) }
        }
    }

    func count(_ event: ProcessEvent) {
        switch event {
        // Reports of several threads may arrive in any order, so the task's current state is used.
        case .taskResumed(let task):
            let isCounted = read { $0.isCounted(task.id) } ?? isCounted(task.originalRequest)
            change { $0.update(task.id, to: task.state, isCounted: isCounted) }
        case .taskSuspended(let task), .taskCompleted(let task, _):
            change { $0.update(task.id, to: task.state) }
        case .transferBegan(let id, let request):
            if isCounted(request) { change { $0.set(.other(id), isRunning: true) } }
        case .transferEnded(let id):
            change { $0.set(.other(id), isRunning: false) }
        case .managerInvalidated, .downloadMoved, .downloadNotMoved, .reachabilityChanged:
            break
        }
    }
}
