import Dispatch
import SwiftAF

/// Runs Swift tasks on the main thread, one job at a time.
///
/// The global executor starts three threads for its first job, and hands it over to one of them: 0.4 ms of the time to
/// the first byte (Benchmarks/first-byte). Tasks that inherit no executor, such as those of `Task.init`, still run
/// there.
final class MainThreadExecutor: TaskExecutor {
    private let due = Locked<[UnownedJob]>([])
    /// Signalled when `due` is no longer empty.
    private let arrival = DispatchSemaphore(value: 0)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isFirst = due.withLock { due in
            due.append(job)
            return due.count == 1
        }
        if isFirst { arrival.signal() }
    }

    /// Runs jobs until the process exits. Call it on the main thread.
    func run() -> Never {
        let executor = asUnownedTaskExecutor()
        while true {
            arrival.wait()
            let jobs = due.withLock { due in
                defer { due = [] }
                return due
            }
            for job in jobs { job.runSynchronously(on: executor) }
        }
    }
}
