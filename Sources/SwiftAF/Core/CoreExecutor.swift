internal import CAFCore

/// Runs Swift tasks on the loop thread of a session.
///
/// Holds a reference to the session, whose loop therefore runs until no task uses the executor any more.
final class CoreExecutor: TaskExecutor, Sendable {
    /// The jobs that wait for the loop. The core's session retains this object until it has closed, because it may call
    /// `on_wake` until then.
    final class Jobs: Sendable {
        private let due = Locked<[UnownedJob]>([])
        /// The jobs that ``run()`` is running. Used on the loop thread only. A property, so that the array's memory is
        /// reused.
        nonisolated(unsafe) private var running: [UnownedJob] = []
        /// The executor that the jobs run on. Set before the first job. Unowned: the task of each job, or the caller of
        /// ``CoreExecutor/enqueue(_:)``, retains it.
        nonisolated(unsafe) fileprivate var executor: UnownedTaskExecutor?
        /// Objects that the session needs until it has closed.
        private let kept: (any AnyObject & Sendable)?

        init(keeping kept: (any AnyObject & Sendable)?) {
            self.kept = kept
        }

        /// - Returns: Whether the caller must wake the loop. False if an earlier job that still waits has done so.
        fileprivate func add(_ job: UnownedJob) -> Bool {
            due.withLock { due in
                due.append(job)
                return due.count == 1
            }
        }

        /// Runs the jobs that have been added so far, on the loop thread. Jobs that are added meanwhile run at the next
        /// call, so that the loop handles its sockets in between.
        fileprivate func run() {
            due.withLock { swap(&$0, &running) }
            guard let executor else { return }
            for job in running { job.runSynchronously(on: executor) }
            running.removeAll(keepingCapacity: running.count <= 1024)
        }
    }

    /// The core's functions for sessions are thread-safe.
    nonisolated(unsafe) private let session: OpaquePointer
    private let jobs: Jobs

    /// Creates the executor of a session whose options were changed by ``prepare(_:keeping:)``.
    init(_ session: OpaquePointer, _ jobs: Jobs) {
        self.session = afc_session_retain(session)
        self.jobs = jobs
        jobs.executor = asUnownedTaskExecutor()
    }

    deinit {
        afc_session_release(session)
    }

    /// Sets the callbacks of a session's options so that its loop runs jobs.
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
        // Once added, the job may run on the loop thread and release the last reference to this executor, and with it
        // to the session. The session retains `jobs`.
        let session = afc_session_retain(self.session)
        if jobs.add(UnownedJob(job)) { afc_session_wake(session) }
        afc_session_release(session)
    }
}
