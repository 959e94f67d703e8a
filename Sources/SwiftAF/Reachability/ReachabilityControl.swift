/// Runs the monitor of a manager while the program has started it, or while there are sequences of changes.
final class ReachabilityControl: Sendable {
    private let monitor: Result<CoreReachabilityMonitor, SessionError>
    private let storage: ReachabilityStorage
    /// Whether the monitor runs. The lock is held while the monitor is started and stopped, so that the last call
    /// decides.
    private let isRunning = Locked(false)

    init(_ monitor: Result<CoreReachabilityMonitor, SessionError>, _ storage: ReachabilityStorage) {
        self.monitor = monitor
        self.storage = storage
    }

    /// Starts or restarts the monitor for the program.
    func start() throws(SessionError) {
        let monitor = try monitor.get()
        try isRunning.withLock { (isRunning) throws(SessionError) in
            let wasStarted = storage.isStarted
            storage.begin()
            do throws(SessionError) {
                try monitor.start()
            } catch {
                if !wasStarted { storage.end() }
                throw error
            }
            isRunning = true
        }
    }

    /// Starts or stops the monitor, depending on whether the storage needs it.
    ///
    /// - Parameter needsReport: Whether a running monitor must report its state again, for a new sequence: the monitor
    ///   may still run for a sequence that has just ended, and then wouldn't report before the next change.
    func update(needsReport: Bool = false) throws(SessionError) {
        let monitor = try monitor.get()
        try isRunning.withLock { (isRunning) throws(SessionError) in
            let isWatched = storage.isWatched
            guard isWatched != isRunning || isWatched && needsReport else { return }
            if isWatched { try monitor.start() } else { monitor.stop() }
            isRunning = isWatched
        }
    }
}
