import Dispatch

/// The executor and group of completions.
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

    /// Progress is reported by the loop thread and passed on here.
    func reporting(to handler: HTTPSessionManager.ProgressHandler?) -> HTTPSessionManager.ProgressHandler? {
        guard let handler else { return nil }
        return { [executor] progress in executor.post { handler(progress) } }
    }

    func run(_ completion: @escaping @Sendable () -> Void) {
        executor.post {
            completion()
            leave()
        }
    }
}
