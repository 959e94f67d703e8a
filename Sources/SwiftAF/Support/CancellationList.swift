/// Who must hear that everything in a session is cancelled, beside the transfers that the core knows.
final class CancellationList: Sendable {
    private struct State {
        var handlers: [UInt64: @Sendable () -> Void] = [:]
        var lastID: UInt64 = 0
        var isCancelled = false
    }

    private let state = Guarded(State())

    /// - Parameter handler: Called at most once; at once if all was cancelled before.
    /// - Returns: What ``remove(_:)`` takes.
    func add(_ handler: @escaping @Sendable () -> Void) -> UInt64 {
        let (id, isCancelled) = state.withLock { state in
            state.lastID += 1
            if !state.isCancelled { state.handlers[state.lastID] = handler }
            return (state.lastID, state.isCancelled)
        }
        if isCancelled { handler() }
        return id
    }

    func remove(_ id: UInt64) {
        state.withLock { $0.handlers[id] = nil }
    }

    func cancelAll() {
        let handlers = state.withLock { state in
            state.isCancelled = true
            defer { state.handlers = [:] }
            return Array(state.handlers.values)
        }
        for handler in handlers { handler() }
    }
}
