import SwiftAF

/// A line of calls, each of which waits for those before it.
final class CallLine: Sendable {
    private struct State {
        var line = WaitingLine<CheckedContinuation<Void, Never>>()
        var lastID = firstID

        init() {
            line.join(lastID)
        }
    }

    /// The place that is already taken when a line is created.
    static let firstID: UInt64 = 0

    private let state = Locked(State())

    /// Takes a place at the end of the line, and returns its number.
    func join() -> UInt64 {
        state.withLock { state in
            state.lastID += 1
            state.line.join(state.lastID)
            return state.lastID
        }
    }

    /// Returns when the calls before this one have left, or when the Swift task is cancelled.
    func waitForEarlierCalls(of id: UInt64) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let mayProceed = state.withLock { state in
                    // If the task is cancelled later, the handler below finds the waiter.
                    guard !Task.isCancelled, state.line.contains(id), state.line.firstID != id else { return true }
                    state.line.wait(id, waiter)
                    return false
                }
                if mayProceed { waiter.resume() }
            }
        } onCancel: {
            state.withLock { $0.line.takeWaiter(of: id) }?.resume()
        }
    }

    /// Leaves a place.
    func leave(_ id: UInt64) {
        let next = state.withLock { state in
            state.line.leave(id) ? state.line.takeFirstWaiter() : nil
        }
        next?.resume()
    }
}
