public import Dispatch

/// Says when a program should show that it uses the network: a spinner, a light, a line of text.
///
/// ```swift
/// NetworkActivityIndicatorManager.shared.visibilityHandler = { isVisible in spinner.isHidden = !isVisible }
/// NetworkActivityIndicatorManager.shared.isEnabled = true
/// ```
///
/// It counts the tasks of all session managers that run, the calls that are awaited and the streams that are read, and
/// what the program adds by itself. Those that began before the manager was made are not counted. Any thread may use
/// it.
public final class NetworkActivityIndicatorManager: Sendable {
    /// Made, and so counting, from its first use on.
    public static let shared = NetworkActivityIndicatorManager()

    private let storage: ActivityStorage
    private let observation: Int

    /// Makes a manager that counts from now on.
    ///
    /// - Parameter isCounted: Asked about each request as it was before redirects, on the thread that starts it; false
    ///   for what should go on unseen, such as a stream of events.
    public init(counting isCounted: @escaping @Sendable (HTTPRequest) -> Bool = { _ in true }) {
        storage = ActivityStorage(isCounted)
        observation = ProcessEvents.add { [storage] in storage.count($0) }
    }

    deinit {
        ProcessEvents.remove(observation)
    }

    /// Whether the indicator is ever shown. At first not. What is under way is counted in any case.
    public var isEnabled: Bool {
        get { storage.read { $0.isEnabled } }
        set { storage.change { $0.setEnabled(newValue) } }
    }

    /// How long something must be under way before the indicator is shown. At first 1 s.
    public var activationDelay: Duration {
        get { storage.read { $0.activationDelay } }
        set {
            storage.change { state in
                state.activationDelay = newValue
                return []
            }
        }
    }

    /// How long nothing must be under way before the indicator is hidden. At first 0.17 s.
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

    /// What is under way.
    public var activityCount: Int { storage.read { $0.count } }

    /// Counts something that the session managers don't know of, until ``decrementActivityCount()``.
    public func incrementActivityCount() {
        storage.change { $0.add(1) }
    }

    /// Takes back one ``incrementActivityCount()``; does nothing when there is none.
    public func decrementActivityCount() {
        storage.change { $0.add(-1) }
    }

    /// Shows and hides the indicator. Called on ``callbackQueue``, only when something really changes.
    public var visibilityHandler: (@Sendable (Bool) -> Void)? {
        get { storage.handler }
        set { storage.handler = newValue }
    }

    /// Where the handler is called; nil for the main queue. It should be a serial one.
    public var callbackQueue: DispatchQueue? {
        get { storage.queue }
        set { storage.queue = newValue }
    }
}

/// The state behind its lock, with timers and a queue.
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
        set { content.withLock { $0.handler = newValue } }
    }

    var queue: DispatchQueue? {
        get { content.withLock { $0.queue } }
        set { content.withLock { $0.queue = newValue } }
    }

    func read<Value: Sendable>(_ get: (NetworkActivityState) -> Value) -> Value {
        content.withLock { get($0.activity) }
    }

    func change(_ body: (inout NetworkActivityState) -> [NetworkActivityState.Action]) {
        // Under the lock, so that what is told comes in the order in which it was decided.
        content.withLock { content in
            for action in body(&content.activity) {
                switch action {
                case .show: tell(true, content)
                case .hide: tell(false, content)
                case .wake(let alarm, let delay): wake(alarm, after: delay)
                }
            }
        }
    }

    private func tell(_ isVisible: Bool, _ content: Content) {
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
        case .taskResumed(let task):
            guard isCounted(task.originalRequest) else { return }
            change { $0.set(.task(task.id), isRunning: true) }
            // The end of a task that has ended meanwhile was reported before its start.
            if task.state == .completed { change { $0.set(.task(task.id), isRunning: false) } }
        case .taskSuspended(let task), .taskCompleted(let task, _):
            change { $0.set(.task(task.id), isRunning: false) }
        case .transferBegan(let id, let request):
            if isCounted(request) { change { $0.set(.other(id), isRunning: true) } }
        case .transferEnded(let id):
            change { $0.set(.other(id), isRunning: false) }
        case .managerInvalidated, .downloadMoved, .downloadNotMoved, .reachabilityChanged:
            break
        }
    }
}
