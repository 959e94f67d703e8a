import Foundation
import Glibc
import SwiftAF

/// Runs calls that may block for ever, on separate threads. On the threads of Dispatch or of Swift's tasks, a few
/// hundred of them would stop the whole program.
///
/// At most `maximumCount` calls run at the same time; others wait. A call that blocks can't be interrupted: if its
/// Swift task is cancelled, the caller gets the error at once, and the thread is occupied until the call returns. While
/// all threads are occupied by such calls, other calls fail, because they might wait for ever.
final class BlockingCalls<Value: Sendable>: Sendable {
    typealias Call = @Sendable () throws -> Value

    private struct State {
        /// The calls that wait.
        var line = WaitingLine<Call>()
        /// The callers of calls that wait or run, without those that were cancelled.
        var callers: [UInt64: CheckedContinuation<Value, any Error>] = [:]
        var threadCount = 0
        /// The number of calls that run although their callers were cancelled.
        var abandonedCount = 0
        var lastID: UInt64 = 0
    }

    private enum Step {
        case cancelled, fails, waits, needsThread
    }

    private let maximumCount: Int
    private let threadName: String
    private let state = Locked(State())

    /// - Parameter threadName: The name of the threads, at most 15 bytes (pthread_setname_np(3)).
    init(maximumCount: Int, threadName: String) {
        self.maximumCount = maximumCount
        self.threadName = threadName
    }

    /// Makes a call on one of the threads, and returns its result.
    ///
    /// - Throws: The error of the call; `CancellationError` as soon as the Swift task is cancelled, after which a call
    ///   that waited isn't made; ``BlockingThreadsExhausted``; `POSIXError` if the system has no more threads.
    func run(_ call: @escaping Call) async throws -> Value {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        defer { state.synchronizeContinuation() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { begin(id, call, $0) }
        } onCancel: {
            cancel(id)
        }
    }

    private func begin(_ id: UInt64, _ call: @escaping Call, _ caller: CheckedContinuation<Value, any Error>) {
        let step = state.withLock { state -> Step in
            // If the task is cancelled later, the handler below finds the caller.
            guard !Task.isCancelled else { return .cancelled }
            guard state.abandonedCount < maximumCount else { return .fails }
            state.callers[id] = caller
            state.line.wait(id, call)
            guard state.threadCount < maximumCount else { return .waits }
            state.threadCount += 1
            return .needsThread
        }
        switch step {
        case .cancelled: caller.resume(throwing: CancellationError())
        case .fails: caller.resume(throwing: BlockingThreadsExhausted(count: maximumCount))
        case .waits: break
        case .needsThread:
            guard let error = startThread() else { return }
            state.withLock { $0.threadCount -= 1 }
            leave(id)?.resume(throwing: error)
        }
    }

    private func cancel(_ id: UInt64) {
        if let caller = leave(id) { return caller.resume(throwing: CancellationError()) }
        let caller = state.withLock { state in
            let caller = state.callers.removeValue(forKey: id)
            if caller != nil { state.abandonedCount += 1 }
            return caller
        }
        caller?.resume(throwing: CancellationError())
        while let waiting = state.withLock({ $0.abandonedCount == maximumCount ? $0.line.firstID : nil }) {
            leave(waiting)?.resume(throwing: BlockingThreadsExhausted(count: maximumCount))
        }
    }

    /// Removes a waiting call from the line. Returns its caller; nil if the call doesn't wait.
    private func leave(_ id: UInt64) -> CheckedContinuation<Value, any Error>? {
        let (call, caller) = state.withLock { state -> (Call?, CheckedContinuation<Value, any Error>?) in
            guard let call = state.line.takeWaiter(of: id) else { return (nil, nil) }
            state.line.leave(id)
            return (call, state.callers.removeValue(forKey: id))
        }
        // The call is released without the lock, because it may have the last references to objects of the program.
        return withExtendedLifetime(call) { caller }
    }

    // MARK: Threads

    /// Starts a thread. Returns the error if there is none; nil on success.
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

    /// Makes calls until none waits. The body of a thread.
    private func work() {
        while let (id, call) = next() {
            let result = Result { try call() }
            let caller = state.withLock { state in
                let caller = state.callers.removeValue(forKey: id)
                if caller == nil { state.abandonedCount -= 1 }
                return caller
            }
            caller?.resume(with: result)
        }
    }

    /// Takes the next call; nil ends the thread.
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

/// The error if all threads are occupied by calls that were cancelled and haven't returned.
struct BlockingThreadsExhausted: Error, CustomStringConvertible {
    let count: Int

    var description: String { "\(count) reads of cancelled requests still block, which is the maximum" }
}

/// The closure that a new thread runs. Not generic, because a C function can't be.
private final class ThreadStart: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }
}
