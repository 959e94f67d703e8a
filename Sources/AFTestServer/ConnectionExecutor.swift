import CAFTestServer
import Dispatch
import Glibc

/// Runs the task of an async handler on the thread of its connection.
///
/// The handler's calls of the connection block. On a thread of the pool, which has one for each processor, a few of
/// them would stop all tasks, also the one that is to open a gate.
///
/// POSIX locks, because ThreadSanitizer knows them.
final class ConnectionExecutor: TaskExecutor, @unchecked Sendable {
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    // Guarded by the lock.
    private var jobs: [UnownedJob] = []
    private var hasEnded = false
    private var isInterrupted = false

    init() {
        pthread_mutex_init(lock, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(lock)
        changed.deallocate()
        lock.deallocate()
    }

    /// May be called with the server's lock held: a wait for the server that a handler awaits is resumed there. So the
    /// server must not be called with the lock of this executor held.
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isRunning = withLock {
            if !hasEnded { jobs.append(job) }
            return !hasEnded
        }
        // Otherwise a task has outlived the handler, and its thread.
        if !isRunning { DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) } }
    }

    /// Runs an operation as a task, and blocks the calling thread until it has ended.
    ///
    /// - Parameters:
    ///   - pointer: The connection. While the task waits, a close by the client is noticed; if the server is stopped,
    ///     the task is cancelled.
    ///   - operation: The handler.
    func run(_ pointer: OpaquePointer, _ operation: @escaping @Sendable () async -> Void) {
        let task = Task(executorPreference: self) {
            await operation()
            self.withLock { self.hasEnded = true }
        }
        while true {
            let (job, isOver) = withLock { (jobs.isEmpty ? nil : jobs.removeFirst(), hasEnded) }
            if let job {
                job.runSynchronously(on: asUnownedTaskExecutor())
            } else if isOver {
                return
            } else {
                wait(pointer, cancelling: task)
            }
        }
    }

    /// Waits for a job, the end of the task, or the stop of the server, which is reported once.
    private func wait(_ pointer: OpaquePointer, cancelling task: Task<Void, Never>) {
        let isCancelled = withLock { isInterrupted }
        let interrupt: @convention(c) (UnsafeMutableRawPointer?) -> Void = { context in
            guard let context else { return }
            let executor = Unmanaged<ConnectionExecutor>.fromOpaque(context).takeUnretainedValue()
            executor.withLock { executor.isInterrupted = true }
        }
        afts_conn_begin_wait(pointer, isCancelled ? nil : interrupt, Unmanaged.passUnretained(self).toOpaque())
        pthread_mutex_lock(lock)
        while jobs.isEmpty, !hasEnded, isInterrupted == isCancelled {
            pthread_cond_wait(changed, lock)
        }
        let isStopping = isInterrupted
        pthread_mutex_unlock(lock)
        afts_conn_end_wait(pointer)
        // Not in the callback: what a cancellation calls may call the server.
        if isStopping, !isCancelled { task.cancel() }
    }

    private func withLock<Value>(_ change: () -> Value) -> Value {
        pthread_mutex_lock(lock)
        defer {
            pthread_cond_broadcast(changed)
            pthread_mutex_unlock(lock)
        }
        return change()
    }
}
