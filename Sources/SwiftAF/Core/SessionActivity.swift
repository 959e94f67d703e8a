import Synchronization

/// Counts what is under way in a session, so that a shutdown can wait for its end.
///
/// The count and the mark that says that the session is closed are one atomic, so that nothing can begin between the
/// end of the last activity and the return of ``close()``.
final class SessionActivity: Sendable {
    /// What the count starts from once the session is closed.
    private static let closed = Int.min / 2

    private let count = Atomic(0)
    private let waiting = Locked<[UnsafeContinuation<Void, Never>]>([])

    /// How much is under way.
    var current: Int { max(0, count.load(ordering: .relaxed)) }

    /// Counts something. If it returns true, ``end()`` must follow once.
    ///
    /// - Returns: False if the session is closed. What begins within something that is counted is never refused.
    func begin() -> Bool {
        guard count.add(1, ordering: .relaxed).newValue < 0 else { return true }
        count.subtract(1, ordering: .relaxed)
        return false
    }

    func end() {
        guard count.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 else { return }
        let waiters = waiting.withLock { waiting in
            // If something has begun meanwhile, its end comes here.
            guard !waiting.isEmpty, closeIfIdle() else { return [UnsafeContinuation<Void, Never>]() }
            defer { waiting = [] }
            return waiting
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until nothing is under way. Nothing can begin any more when it returns.
    func close() async {
        await withUnsafeContinuation { waiter in
            // Under the lock: an end that isn't seen here comes to the list later.
            let isClosed = waiting.withLock { waiting in
                if closeIfIdle() { return true }
                waiting.append(waiter)
                return false
            }
            if isClosed { waiter.resume() }
        }
        waiting.synchronizeContinuation()
    }

    private func closeIfIdle() -> Bool {
        let (isClosed, former) = count.compareExchange(
            expected: 0, desired: Self.closed, ordering: .sequentiallyConsistent)
        return isClosed || former < 0
    }
}
