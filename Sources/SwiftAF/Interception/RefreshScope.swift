import Synchronization

/// The refreshes of bearer tokens that a Swift task runs for. These refreshes wait for the task, so its requests must
/// not wait for them.
struct RefreshScope: Sendable {
    /// A refresh. Swift tasks that it has created may outlive it, so it is marked when it has ended.
    final class Run: Sendable {
        private let authenticator: ObjectIdentifier
        private let hasEnded = Atomic(false)

        init(of authenticator: BearerAuthenticator) {
            self.authenticator = ObjectIdentifier(authenticator)
        }

        func end() {
            hasEnded.store(true, ordering: .relaxed)
        }

        fileprivate var isUnderWay: Bool { !hasEnded.load(ordering: .relaxed) }

        fileprivate func isUnderWay(of authenticator: BearerAuthenticator) -> Bool {
            self.authenticator == ObjectIdentifier(authenticator) && isUnderWay
        }
    }

    /// The scope of the current Swift task; tasks created in it inherit it.
    @TaskLocal static var current = RefreshScope()

    private var runs: [Run] = []

    /// Returns the scope of a refresh that is begun in this scope.
    func adding(_ run: Run) -> RefreshScope {
        // Refreshes that have ended are dropped: otherwise the list would grow without limit if each refresh creates a
        // task that begins the next one.
        var scope = self
        scope.runs.removeAll { !$0.isUnderWay }
        scope.runs.append(run)
        return scope
    }

    /// Whether a refresh of the authenticator waits for this task.
    func isPart(of authenticator: BearerAuthenticator) -> Bool {
        runs.contains { $0.isUnderWay(of: authenticator) }
    }
}
