import Foundation
import Glibc
import SwiftAF

/// Runs calls that may block for ever, each on a thread of its own. On the threads of Dispatch or of Swift's tasks, some
/// hundred of them would stop the whole program.
///
/// So many run at once; the others wait for their turn. Nothing can interrupt a call that blocks: its caller is told at
/// once when its Swift task is cancelled, and the thread stays until the call returns.
final class BlockingCalls<Value: Sendable>: Sendable {
    typealias Call = @Sendable () throws -> Value

    private struct State {
        /// The calls that wait.
        var line = WaitingLine<Call>()
        /// Those who wait for the result of a call, also of one that runs. None if that was cancelled.
        var callers: [UInt64: CheckedContinuation<Value, any Error>] = [:]
        var threadCount = 0
        var lastID: UInt64 = 0
    }

    private enum Step {
        case cancelled, waits, needsThread
    }

    private let maximumCount: Int
    private let threadName: String
    private let state = Locked(State())

    /// - Parameter threadName: At most 15 bytes.
    init(maximumCount: Int, threadName: String) {
        self.maximumCount = maximumCount
        self.threadName = threadName
    }

    /// Returns what the call returns.
    ///
    /// - Throws: The error of the call; `CancellationError` as soon as the Swift task is cancelled, after which a call that
    ///   waited isn't made; `POSIXError` if the system has no more threads.
    func run(_ call: @escaping Call) async throws -> Value {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        defer { state.synchronizeContinuation() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { begin(id, call, $0) }
        } onCancel: {
            end(id, .failure(CancellationError()))
        }
    }

    private func begin(_ id: UInt64, _ call: @escaping Call, _ caller: CheckedContinuation<Value, any Error>) {
        let step = state.withLock { state -> Step in
            // If the task is cancelled later, the handler finds the caller.
            guard !Task.isCancelled else { return .cancelled }
            state.callers[id] = caller
            state.line.wait(id, call)
            guard state.threadCount < maximumCount else { return .waits }
            state.threadCount += 1
            return .needsThread
        }
        switch step {
        case .cancelled: caller.resume(throwing: CancellationError())
        case .waits: break
        case .needsThread:
            guard let error = startThread() else { return }
            state.withLock { $0.threadCount -= 1 }
            end(id, .failure(error))
        }
    }

    /// Tells the caller of a call, unless it was told before. If the call waits, it isn't made.
    private func end(_ id: UInt64, _ result: Result<Value, any Error>) {
        let (caller, call) = state.withLock { state in
            let call = state.line.takeWaiter(of: id)
            state.line.leave(id)
            return (state.callers.removeValue(forKey: id), call)
        }
        // Released without the lock, with what it holds.
        withExtendedLifetime(call) { caller?.resume(with: result) }
    }

    // MARK: Threads

    /// Returns why there is no thread; nil if there is one.
    private func startThread() -> (any Error)? {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let start = Unmanaged.passRetained(
            ThreadStart { [self] in
                Thread.current.name = threadName
                work()
            })
        var thread = pthread_t()
        let error = pthread_create(
            &thread, &attributes,
            { start in
                if let start { Unmanaged<ThreadStart>.fromOpaque(start).takeRetainedValue().body() }
                return nil
            }, start.toOpaque())
        guard error != 0 else { return nil }
        start.release()
        return POSIXError(POSIXErrorCode(rawValue: error) ?? .EAGAIN)
    }

    /// Makes calls until none waits.
    private func work() {
        while let (id, call) = next() { end(id, Result { try call() }) }
    }

    /// The next call; nil ends the thread.
    private func next() -> (UInt64, Call)? {
        state.withLock { state in
            guard let id = state.line.firstID, let call = state.line.takeFirstWaiter() else {
                state.threadCount -= 1
                return nil
            }
            state.line.leave(id)
            return (id, call)
        }
    }
}

/// What a thread does first. A function of C can't be generic.
private final class ThreadStart: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }
}
