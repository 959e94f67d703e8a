import Synchronization

/// Counts what is under way in a session, so that a shutdown can wait for its end.
final class SessionActivity: Sendable {
    private let count = Atomic(0)
    private let waiting = Locked<[UnsafeContinuation<Void, Never>]>([])

    /// How much is under way.
    var current: Int { count.load(ordering: .relaxed) }

    /// Each call is followed by one of ``end()``.
    func begin() {
        count.add(1, ordering: .relaxed)
    }

    func end() {
        guard count.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 else { return }
        for waiter in waiting.exchange([]) { waiter.resume() }
    }

    /// Waits until nothing is under way.
    func waitUntilIdle() async {
        await withUnsafeContinuation { waiter in
            // Under the lock: an end that isn't seen here comes to the list later.
            let isIdle = waiting.withLock { waiting in
                guard count.load(ordering: .sequentiallyConsistent) > 0 else { return true }
                waiting.append(waiter)
                return false
            }
            if isIdle { waiter.resume() }
        }
        waiting.synchronizeContinuation()
    }
}
