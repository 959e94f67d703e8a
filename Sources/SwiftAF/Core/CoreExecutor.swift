internal import CAFCore

/// Runs Swift tasks on the loop thread of a session.
///
/// Holds a reference to the session, whose loop therefore runs until no task uses the executor any more.
final class CoreExecutor: TaskExecutor, Sendable {
    /// Jobs that wait for the loop. The session holds it until it has closed, as the loop may be woken until then.
    final class Jobs: Sendable {
        private let due = Locked<[UnownedJob]>([])
        /// The jobs of the current call. Loop thread only; kept between calls, so that its memory is used again.
        nonisolated(unsafe) private var running: [UnownedJob] = []
        /// Set before the first job; a job's task or its caller holds the executor.
        nonisolated(unsafe) fileprivate var executor: UnownedTaskExecutor?
        /// Objects that the session needs until it has closed.
        private let kept: (any AnyObject & Sendable)?

        init(keeping kept: (any AnyObject & Sendable)?) {
            self.kept = kept
        }

        /// - Returns: Whether the loop must be woken: no earlier job has done so.
        fileprivate func add(_ job: UnownedJob) -> Bool {
            due.withLock { due in
                due.append(job)
                return due.count == 1
            }
        }

        /// Runs the jobs that are due. Those that they add wait, so that the loop can look at its sockets in between.
        fileprivate func run() {
            due.withLock { swap(&$0, &running) }
            guard let executor else { return }
            for job in running { job.runSynchronously(on: executor) }
            running.removeAll(keepingCapacity: running.count <= 1024)
        }
    }

    /// Thread-safe in the core.
    nonisolated(unsafe) private let session: OpaquePointer
    private let jobs: Jobs

    /// Makes the executor of a session that was made with ``prepare(_:keeping:)``.
    init(_ session: OpaquePointer, _ jobs: Jobs) {
        self.session = afc_session_retain(session)
        self.jobs = jobs
        jobs.executor = asUnownedTaskExecutor()
    }

    deinit {
        afc_session_release(session)
    }

    /// Lets the loop of a session run jobs.
    ///
    /// - Parameter kept: An object that the session needs until it has closed.
    static func prepare(_ options: inout afc_session_options, keeping kept: (any AnyObject & Sendable)?) -> Jobs {
        let jobs = Jobs(keeping: kept)
        options.context = Unmanaged.passRetained(jobs).toOpaque()
        options.on_wake = { context in
            if let context { Unmanaged<Jobs>.fromOpaque(context).takeUnretainedValue().run() }
        }
        options.on_closed = { context in
            if let context { Unmanaged<Jobs>.fromOpaque(context).release() }
        }
        return jobs
    }

    func enqueue(_ job: consuming ExecutorJob) {
        // As soon as it is added, the job may run and release the last reference to this executor. The session keeps
        // `jobs`.
        let session = afc_session_retain(self.session)
        if jobs.add(UnownedJob(job)) { afc_session_wake(session) }
        afc_session_release(session)
    }
}
