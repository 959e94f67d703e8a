/// Passes a value to one waiting task. A value that is sent before the wait is kept for it.
final class OneValueChannel<Value: Sendable>: Sendable {
    private enum State {
        case idle
        // Unsafe, because a checked continuation allocates, for each request with interceptors
        // (`RequestAllocationTests`).
        case waiting(UnsafeContinuation<Value, Never>)
        case sent(Value)
    }

    private let state = Locked(State.idle)

    /// Sends a value and ends the wait. Has no effect if an earlier value hasn't been received yet.
    func send(_ value: Value) {
        let waiting = state.withLock { state -> UnsafeContinuation<Value, Never>? in
            switch state {
            case .idle:
                state = .sent(value)
            case .waiting(let continuation):
                state = .idle
                return continuation
            case .sent:
                break
            }
            return nil
        }
        waiting?.resume(returning: value)
    }

    /// Waits for the next value. Only one task may wait at a time.
    func wait() async -> Value {
        let value = await withUnsafeContinuation { continuation in
            let value = state.withLock { state -> Value? in
                if case .sent(let value) = state {
                    state = .idle
                    return value
                }
                state = .waiting(continuation)
                return nil
            }
            if let value { continuation.resume(returning: value) }
        }
        state.synchronizeContinuation()
        return value
    }
}

extension OneValueChannel where Value == Void {
    func send() {
        send(())
    }
}
