import SwiftAF

/// A line of calls, each of which waits for those before it.
final class CallLine: Sendable {
    private struct Place {
        var id: UInt64
        /// Nil if the call doesn't wait.
        var waiter: CheckedContinuation<Void, Never>?
    }

    private struct State {
        var places: [Place]
        var lastID: UInt64 = 0
    }

    /// The place that is taken when a line is made.
    static let firstID: UInt64 = 0

    private let state = Locked(State(places: [Place(id: firstID)]))

    /// Takes the last place.
    func join() -> UInt64 {
        state.withLock { state in
            state.lastID += 1
            state.places.append(Place(id: state.lastID))
            return state.lastID
        }
    }

    /// Returns when the calls before this one have left, or when the Swift task is cancelled.
    func waitForEarlierCalls(of id: UInt64) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let mayProceed = state.withLock { state in
                    // If the task is cancelled later, the handler below finds the waiter.
                    guard !Task.isCancelled, let index = state.places.firstIndex(where: { $0.id == id }), index > 0
                    else { return true }
                    state.places[index].waiter = waiter
                    return false
                }
                if mayProceed { waiter.resume() }
            }
        } onCancel: {
            state.withLock { Self.takeWaiter(of: id, in: &$0) }?.resume()
        }
    }

    /// Leaves the place.
    func leave(_ id: UInt64) {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.places.removeAll { $0.id == id }
            return state.places.first.flatMap { Self.takeWaiter(of: $0.id, in: &state) }
        }
        next?.resume()
    }

    private static func takeWaiter(of id: UInt64, in state: inout State) -> CheckedContinuation<Void, Never>? {
        guard let index = state.places.firstIndex(where: { $0.id == id }) else { return nil }
        defer { state.places[index].waiter = nil }
        return state.places[index].waiter
    }
}
