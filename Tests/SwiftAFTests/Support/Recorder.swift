import AFTestServer
import Testing

@testable import SwiftAF

/// Values that closures on other threads leave behind, and a way to wait for a number of them.
final class Recorder<Value: Sendable>: Sendable {
    private struct Waiter {
        let identifier: Int
        let count: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var values: [Value] = []
        var waiters: [Waiter] = []
        var waits = 0
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
        for continuation in ready { continuation.resume(returning: true) }
    }

    /// The values, once there are as many. If they don't come within a long limit, it records an issue and returns
    /// those that came.
    @discardableResult
    func wait(
        for count: Int = 1, within limit: Duration = TestServer.patience,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async -> [Value] {
        let identifier = state.withLock { state in
            state.waits += 1
            return state.waits
        }
        let end = Task {
            await limit.pause()
            if !Task.isCancelled { giveUp(identifier) }
        }
        let isReached = await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                guard state.values.count < count else { return true }
                state.waiters.append(Waiter(identifier: identifier, count: count, continuation: continuation))
                return false
            }
            if isReady { continuation.resume(returning: true) }
        }
        end.cancel()
        let values = values
        if !isReached {
            Issue.record("\(values.count) of \(count) values within \(limit)", sourceLocation: sourceLocation)
        }
        return values
    }

    /// One of the values, once it is there.
    func value(at index: Int = 0, sourceLocation: SourceLocation = #_sourceLocation) async throws -> Value {
        let values = await wait(for: index + 1, sourceLocation: sourceLocation)
        return try #require(values.dropFirst(index).first, sourceLocation: sourceLocation)
    }

    private func giveUp(_ identifier: Int) {
        let late = state.withLock { state in
            let late = state.waiters.filter { $0.identifier == identifier }
            state.waiters.removeAll { $0.identifier == identifier }
            return late.map(\.continuation)
        }
        for continuation in late { continuation.resume(returning: false) }
    }
}
