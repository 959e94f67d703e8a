import Dispatch

/// The state and the listeners of a manager. A separate object, so that the monitor doesn't retain the manager.
final class ReachabilityStorage: Sendable {
    typealias Handler = @Sendable (NetworkReachability) -> Void

    /// The producer of a sequence of changes.
    private final class Listener: Sendable {
        let continuation: AsyncStream<NetworkReachability>.Continuation
        private struct State {
            var last: NetworkReachability?
            var isPassedOn = true
        }

        private let state = Locked(State())
        private let reporter = SerialReporter()

        init(_ continuation: AsyncStream<NetworkReachability>.Continuation) {
            self.continuation = continuation
        }

        /// Notes a state. Called with the lock of the storage held, so that the states are in order.
        ///
        /// A state that equals the last one, as after a restart, isn't passed on again.
        func set(_ reachability: NetworkReachability) {
            state.withLock { state in
                guard state.last != reachability else { return }
                state = State(last: reachability, isPassedOn: false)
            }
        }

        /// Passes on the state that was noted. Called without the lock.
        func report() {
            reporter.report {
                let reachability = state.withLock { state in
                    defer { state.isPassedOn = true }
                    return state.isPassedOn ? nil : state.last
                }
                if let reachability { continuation.yield(reachability) }
            }
        }
    }

    private struct State {
        var reachability = NetworkReachability()
        /// The number of the start that the handler is called for; nil while stopped.
        var start: Int?
        var starts = 0
        var handler: Handler?
        var queue: DispatchQueue?
        var listeners = Registry<Listener>()
        weak var manager: NetworkReachabilityManager?

        /// Whether the monitor must run.
        var isWatched: Bool { start != nil || !listeners.isEmpty }
    }

    private let state = Locked(State())

    var reachability: NetworkReachability { state.withLock { $0.reachability } }

    var handler: Handler? {
        get { state.withLock { $0.handler } }
        // The former handler is released without the lock, because the release may run code that calls this object.
        set { state.exchange(\.handler, newValue) }
    }

    var queue: DispatchQueue? {
        get { state.withLock { $0.queue } }
        set { state.withLock { $0.queue = newValue } }
    }

    func adopt(_ manager: NetworkReachabilityManager) {
        state.withLock { [weak manager] in $0.manager = manager }
    }

    /// Whether the monitor must run: for the program, or for sequences.
    var isWatched: Bool { state.withLock { $0.isWatched } }
    var isStarted: Bool { state.withLock { $0.start != nil } }

    func begin() {
        state.withLock { state in
            state.starts += 1
            state.start = state.starts
        }
    }

    func end() {
        state.withLock { $0.start = nil }
    }

    /// Ends the sequences when the manager is released.
    func finish() {
        let listeners = state.withLock { state in
            state.start = nil
            return state.listeners.close()
        }
        for listener in listeners { listener.continuation.finish() }
    }

    /// Creates a sequence.
    ///
    /// - Parameter control: Runs the monitor while there are sequences. The sequence ends at once if it can't.
    func makeStream(_ control: ReachabilityControl? = nil) -> AsyncStream<NetworkReachability> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let listener = Listener(continuation)
            let added = state.withLock { state -> (id: UInt64, isKnown: Bool)? in
                // Only the state of a running monitor is current.
                let isKnown = state.isWatched && state.reachability.status != .unknown
                guard let id = state.listeners.add(listener) else { return nil }
                if isKnown { listener.set(state.reachability) }
                return (id, isKnown)
            }
            guard let (id, isKnown) = added else { return continuation.finish() }
            listener.report()
            continuation.onTermination = { [weak self, weak control] _ in
                self?.forget(id)
                // Stopping doesn't fail.
                try? control?.update()
            }
            do throws(SessionError) {
                try control?.update(needsReport: !isKnown)
            } catch {
                continuation.finish()
            }
        }
    }

    private func forget(_ id: UInt64) {
        state.withLock { $0.listeners.remove(id) }
    }

    /// Reports a state. Called on the monitor thread.
    func receive(_ reachability: NetworkReachability) {
        let target = state.withLock { state -> (Int?, DispatchQueue, [Listener])? in
            guard state.isWatched else { return nil }
            state.reachability = reachability
            let listeners = state.listeners.all
            for listener in listeners { listener.set(reachability) }
            return (state.start, state.queue ?? .main, listeners)
        }
        guard let (start, queue, listeners) = target else { return }
        for listener in listeners { listener.report() }
        if let start { queue.async { self.notify(reachability, start) } }
    }

    private func notify(_ reachability: NetworkReachability, _ start: Int) {
        let (manager, handler) = state.withLock { state in
            state.start == start ? (state.manager, state.handler) : (nil, nil)
        }
        guard let manager else { return }
        handler?(reachability)
        ProcessEvents.report(.reachabilityChanged(manager, reachability))
    }
}
