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
    /// What the connection's thread has to do.
    private enum Work {
        case job(UnownedJob)
        case call(UnsafeMutablePointer<Call>)
    }

    /// A call of the connection by another thread, which keeps it until it is done.
    private struct Call {
        let body: () -> Void
        var isDone = false
    }

    private let thread = pthread_self()
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    // Guarded by the lock.
    private var work: [Work] = []
    private var hasEnded = false
    private var isStopping = false

    /// Creates the executor of the calling thread, which is that of a connection.
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
        // Otherwise a task has outlived the handler, and its thread.
        if !append(.job(job)) {
            DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    /// Calls a function on the connection's thread, and blocks the calling thread until it has returned.
    ///
    /// The members of a connection, and its TLS, belong to that thread, which is watching for a close by the client
    /// while a handler runs elsewhere. After the handler has ended, the function isn't called.
    func onThread(_ body: () -> Void) {
        if pthread_equal(thread, pthread_self()) != 0 { return body() }
        withoutActuallyEscaping(body) { body in
            var call = Call(body: body)
            withUnsafeMutablePointer(to: &call) { call in
                guard append(.call(call)) else { return }
                pthread_mutex_lock(lock)
                while !call.pointee.isDone { pthread_cond_wait(changed, lock) }
                pthread_mutex_unlock(lock)
            }
        }
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
        // All the time, not only while this thread waits: a stop must not be missed between a wait and a job, nor if
        // there is always a job.
        afts_conn_on_stop(
            pointer,
            { context in
                guard let context else { return }
                let executor = Unmanaged<ConnectionExecutor>.fromOpaque(context).takeUnretainedValue()
                executor.withLock { executor.isStopping = true }
            }, Unmanaged.passUnretained(self).toOpaque())
        defer { afts_conn_on_stop(pointer, nil, nil) }
        var hasCancelled = false
        while true {
            let (next, isOver, isCancelled) = withLock {
                (work.isEmpty ? nil : work.removeFirst(), hasEnded, isStopping)
            }
            // Not in the callback: what a cancellation calls may call the server.
            if isCancelled, !hasCancelled {
                hasCancelled = true
                task.cancel()
            }
            switch next {
            case .job(let job): job.runSynchronously(on: asUnownedTaskExecutor())
            case .call(let call): perform(call)
            case nil where isOver: return
            case nil: wait(pointer, forStop: !hasCancelled)
            }
        }
    }

    /// Waits for something to do, for the end of the task and, if `forStop`, for the stop of the server.
    private func wait(_ pointer: OpaquePointer, forStop: Bool) {
        afts_conn_begin_wait(pointer)
        pthread_mutex_lock(lock)
        while work.isEmpty, !hasEnded, !(forStop && isStopping) {
            pthread_cond_wait(changed, lock)
        }
        pthread_mutex_unlock(lock)
        afts_conn_end_wait(pointer)
    }

    private func perform(_ call: UnsafeMutablePointer<Call>) {
        Self.callBody(of: call)
        withLock { call.pointee.isDone = true }
    }

    /// Not inlined, so that the body, which must not escape, is released before the call is done.
    @inline(never)
    private static func callBody(of call: UnsafeMutablePointer<Call>) {
        call.pointee.body()
    }

    /// Returns false after the end of the task.
    private func append(_ next: Work) -> Bool {
        withLock {
            if !hasEnded { work.append(next) }
            return !hasEnded
        }
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

/// Whether the current task is that of an async handler, or has been created by one, on whatever thread it runs.
enum HandlerTask {
    @TaskLocal static var isCurrent = false
}
