/// A change of the connection of a sequence that reconnects: `messages(from:)` and `events(from:)` of
/// ``HTTPSessionManager``.
public enum ConnectionChange: Sendable {
    /// The server accepted the connection, with this head.
    case connected(HTTPResponse)
    /// The connection has ended, or couldn't be made; the next one is made after the delay. The error is nil if the
    /// server ended an event stream regularly.
    case lost(SessionError?, reconnectsAfter: Duration)
}

/// Called with each change. Reading waits until it returns.
typealias ConnectionChangeHandler = @Sendable (ConnectionChange) async -> Void

/// The delays and the random numbers of a sequence that reconnects; tests replace them.
struct ReconnectionPacing: Sendable {
    /// Waits; returns early if its task is cancelled.
    var wait: @Sendable (Duration) async -> Void = { await $0.pause() }
    /// Returns a number that is at least 0 and less than 1.
    var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
}

extension ReconnectionPacing {
    /// Waits before the next connection is made.
    ///
    /// - Throws: ``SessionError/Code/cancelled`` if the task or all requests of the manager are cancelled meanwhile;
    ///   ``SessionError/Code/closed`` if the manager is invalidated before or meanwhile, because the connection would
    ///   be refused.
    func pause(_ delay: Duration, in manager: HTTPSessionManager) async throws(SessionError) {
        let session = try manager.snapshot.session.get()
        guard session.activity.begin() else { throw SessionError(.closed) }
        defer { session.activity.end() }
        // Why the wait was interrupted; nil if it wasn't.
        let end = OneValueChannel<SessionError.Code?>()
        // Registered before the wait begins, so that no cancellation is missed.
        guard let cancellation = session.cancellations.withLock({ $0.add { end.send(.cancelled) } }) else {
            throw SessionError(.closed)
        }
        defer { session.cancellations.withLock { $0.remove(cancellation) } }
        guard let invalidation = session.invalidations.withLock({ $0.add { end.send(.closed) } }) else {
            throw SessionError(.closed)
        }
        defer { session.invalidations.withLock { $0.remove(invalidation) } }
        let pause = Task { [wait] in
            await wait(delay)
            end.send(nil)
        }
        defer { pause.cancel() }
        let interruption = await withTaskCancellationHandler {
            await end.wait()
        } onCancel: {
            end.send(.cancelled)
        }
        if let interruption { throw SessionError(interruption) }
    }
}

/// Computes the delay before a sequence reconnects, between a minimum and a maximum.
struct ReconnectionDelay: Sendable {
    var minimum: Duration
    var maximum: Duration

    /// - Parameters:
    ///   - base: The delay without failures, which is also the upper bound of the random time after the first one.
    ///   - failures: The number of consecutive failures. Each further one doubles that upper bound.
    ///   - random: The fraction of the upper bound to add: at least 0, less than 1.
    func after(_ base: Duration, failures: Int, random: Double) -> Duration {
        let least = max(.zero, minimum)
        let most = max(least, maximum)
        let base = min(most, max(least, base))
        return Backoff(least: base, jitter: base, maximumJitter: most - base).delay(failures: failures, random: random)
    }
}
