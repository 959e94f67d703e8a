import Synchronization

/// Counts the activities under way in a session (transfers, and work between them), so that a shutdown can wait for
/// their end. Thread-safe.
///
/// One atomic is both the count and the mark of a closed session: it is negative once closed. So nothing can begin
/// between the end of the last activity and the return of ``close()``.
final class SessionActivity: Sendable {
    /// The value of the count once the session is closed; so low that ``begin()`` calls at the same time leave it
    /// negative.
    private static let closed = Int.min / 2

    private let count = Atomic(0)
    private let waiting = Locked<[UnsafeContinuation<Void, Never>]>([])

    /// The number of activities under way.
    var current: Int { max(0, count.load(ordering: .relaxed)) }

    /// Counts an activity. If it returns true, ``end()`` must be called once.
    ///
    /// - Returns: False if the session is closed. It isn't closed before all counted activities have ended, so within
    ///   one of them this is always true.
    func begin() -> Bool {
        guard count.add(1, ordering: .relaxed).newValue < 0 else { return true }
        count.subtract(1, ordering: .relaxed)
        return false
    }

    func end() {
        guard count.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 else { return }
        let waiters = waiting.withLock { waiting in
            // If another activity has begun meanwhile, its end resumes the waiters.
            guard !waiting.isEmpty, closeIfIdle() else { return [UnsafeContinuation<Void, Never>]() }
            defer { waiting = [] }
            return waiting
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until nothing is under way, and closes the session: nothing can begin after this function has returned.
    func close() async {
        await withUnsafeContinuation { waiter in
            // The waiter is added under the same lock as the count is checked: an `end()` that this check doesn't see
            // yet finds the waiter in the list afterwards.
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
