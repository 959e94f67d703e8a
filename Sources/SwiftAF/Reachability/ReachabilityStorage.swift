import Dispatch

/// The state and the listeners of a manager. A separate object, so that the monitor doesn't retain the manager.
final class ReachabilityStorage: Sendable {
    typealias Handler = @Sendable (NetworkReachability) -> Void

    /// The side of a sequence that the storage keeps.
    private final class Listener: Sendable {
        let continuation: AsyncStream<NetworkReachability>.Continuation
        /// The newest state that wasn't passed on.
        private let newest = Locked<NetworkReachability?>(nil)
        private let reporter = SerialReporter()

        init(_ continuation: AsyncStream<NetworkReachability>.Continuation) {
            self.continuation = continuation
        }

        /// Called with the lock of the storage held, so that the states are in order.
        func set(_ reachability: NetworkReachability) {
            newest.exchange(reachability)
        }

        /// Passes on what was set. Called without that lock.
        func report() {
            reporter.report {
                if let reachability = newest.exchange(nil) { continuation.yield(reachability) }
            }
        }
    }

    private struct State {
        var reachability = NetworkReachability()
        /// The number of the start whose handlers are called; nil while stopped.
        var start: Int?
        var starts = 0
        var handler: Handler?
        var queue: DispatchQueue?
        var listeners = Registry<Listener>()
        weak var manager: NetworkReachabilityManager?
    }

    private let state = Locked(State())

    var reachability: NetworkReachability { state.withLock { $0.reachability } }

    var handler: Handler? {
        get { state.withLock { $0.handler } }
        // What the former one captured may call this object.
        set { state.exchange(\.handler, newValue) }
    }

    var queue: DispatchQueue? {
        get { state.withLock { $0.queue } }
        set { state.withLock { $0.queue = newValue } }
    }

    func adopt(_ manager: NetworkReachabilityManager) {
        state.withLock { [weak manager] in $0.manager = manager }
    }

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

    func makeStream() -> AsyncStream<NetworkReachability> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let listener = Listener(continuation)
            let id = state.withLock { state -> Int? in
                guard let id = state.listeners.add(listener) else { return nil }
                if state.reachability.status != .unknown { listener.set(state.reachability) }
                return id
            }
            guard let id else { return continuation.finish() }
            listener.report()
            continuation.onTermination = { [weak self] _ in self?.forget(id) }
        }
    }

    private func forget(_ id: Int) {
        state.withLock { $0.listeners.remove(id) }
    }

    /// Reports a state. Called on the monitor thread.
    func receive(_ reachability: NetworkReachability) {
        let target = state.withLock { state -> (Int, DispatchQueue, [Listener])? in
            guard let start = state.start else { return nil }
            state.reachability = reachability
            let listeners = state.listeners.all
            for listener in listeners { listener.set(reachability) }
            return (start, state.queue ?? .main, listeners)
        }
        guard let (start, queue, listeners) = target else { return }
        for listener in listeners { listener.report() }
        queue.async { self.notify(reachability, start) }
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
