import Synchronization

/// The refreshes of bearer tokens that a Swift task belongs to: those that wait for it, so that its requests must not
/// wait for them.
struct RefreshScope: Sendable {
    /// A refresh under way. Tasks that it has created may outlive it.
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

    /// The scope of a refresh that is begun in this one.
    func adding(_ run: Run) -> RefreshScope {
        // Without the former ones: a task that is made in each refresh may begin the next one.
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
