@testable import SwiftAF

/// Values that closures on other threads leave behind, and a way to wait for a number of them.
final class Recorder<Value: Sendable>: Sendable {
    private struct State {
        var values: [Value] = []
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Locked(State())

    var values: [Value] { state.withLock { $0.values } }

    func record(_ value: Value) {
        let ready = state.withLock { state in
            state.values.append(value)
            let ready = state.waiters.filter { $0.count <= state.values.count }
            state.waiters.removeAll { $0.count <= state.values.count }
            return ready.map(\.continuation)
        }
        for continuation in ready { continuation.resume() }
    }

    /// The values, once there are as many.
    @discardableResult
    func wait(for count: Int = 1) async -> [Value] {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                guard state.values.count < count else { return true }
                state.waiters.append((count, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
        return values
    }
}
