/// One task waits for a value, others send one. The first value ends the wait; one that comes before it is kept.
final class Signal<Value: Sendable>: Sendable {
    private enum State {
        case idle
        case waiting(CheckedContinuation<Value, Never>)
        case sent(Value)
    }

    private let state = Locked(State.idle)

    /// Ends the wait. Ignored if a value is there that nobody has waited for yet.
    func send(_ value: Value) {
        let waiting = state.withLock { state -> CheckedContinuation<Value, Never>? in
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

    /// Waits for the next value. One task at a time.
    func wait() async -> Value {
        await withCheckedContinuation { continuation in
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
    }
}

extension Signal where Value == Void {
    func send() {
        send(())
    }
}
