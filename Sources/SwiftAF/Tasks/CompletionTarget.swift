import Dispatch

/// The executor on which a task's closures are called, and the group that waits for its completion. Each `enter()` is
/// followed by one `run(_:)` or `leave()`.
struct CompletionTarget: Sendable {
    let executor: CompletionExecutor
    let group: DispatchGroup?

    init(_ settings: HTTPSessionManager.Settings) {
        executor = settings.completionExecutor
        group = settings.completionGroup
    }

    func enter() {
        group?.enter()
    }

    func leave() {
        group?.leave()
    }

    /// Returns a handler for the loop thread that calls `handler` on the executor; nil for nil.
    func reporting(to handler: HTTPSessionManager.ProgressHandler?) -> HTTPSessionManager.ProgressHandler? {
        guard let handler else { return nil }
        return { [executor] progress in executor.post { handler(progress) } }
    }

    /// Calls the completion on the executor, and then leaves the group.
    func run(_ completion: @escaping @Sendable () -> Void) {
        executor.post {
            completion()
            leave()
        }
    }
}
