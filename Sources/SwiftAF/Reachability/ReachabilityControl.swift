/// Runs the monitor of a manager while the program wants it or there are sequences of changes.
final class ReachabilityControl: Sendable {
    private let monitor: Result<CoreReachabilityMonitor, SessionError>
    private let storage: ReachabilityStorage
    /// Whether the monitor runs. Held while it is started and stopped, so that the last command is the one that is
    /// wanted.
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

    /// Starts or stops the monitor, as the storage says.
    ///
    /// - Parameter needsReport: Whether a running monitor has to report its state again. It may run for a sequence that
    ///   has just ended, and then has nothing to report to the next one.
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
