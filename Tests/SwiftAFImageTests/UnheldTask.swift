import AFTestServer
import Dispatch
import Glibc
import SwiftAF
import Testing

/// A task that nothing but its own transfer holds, and that ends while the main actor is busy.
@MainActor
enum UnheldTask {
    /// Blocks the main actor from the start of the task to its end, and until the task can have been released.
    ///
    /// - Parameters:
    ///   - manager: Its completion queue is replaced.
    ///   - server: Has a route that responds once the gate "answer" is open.
    ///   - start: Starts the task and binds it to what displays it. Must not keep it.
    ///   - drop: Called before the task ends.
    static func complete(
        with manager: HTTPSessionManager, on server: TestServer, _ start: () -> SessionTask?, drop: () -> Void = {}
    ) {
        let queue = DispatchQueue(label: "completions")
        manager.completionQueue = queue
        let (completed, observation, task) = begin(start)
        drop()
        server.open("answer")
        #expect(completed.wait(timeout: .now() + .seconds(300)) == .success)
        ProcessEvents.remove(observation)
        // The block that ran the completion has been freed, with the references that it had.
        queue.sync {}
        // So has what completed the task on another thread, if it gets its turn. Few: on a busy machine each takes
        // long.
        for _ in 0..<100 where task.value != nil { sched_yield() }
    }

    /// Returns when everything has run that waited for the main actor.
    static func afterHops() async {
        for _ in 0..<10 { await Task { @MainActor in }.value }
    }

    private struct WeakTask {
        weak var value: SessionTask?
    }

    private static func begin(_ start: () -> SessionTask?) -> (DispatchSemaphore, UInt64, WeakTask) {
        let task = start()
        let completed = DispatchSemaphore(value: 0)
        let observation = ProcessEvents.add { [id = task?.id] event in
            if case .taskCompleted(let task, _) = event, task.id == id { completed.signal() }
        }
        return (completed, observation, WeakTask(value: task))
    }
}
