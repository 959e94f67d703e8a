/// The progress and the result of a call, as a sequence.
///
/// ```swift
/// let updates = TransferUpdates { progress in
///     try await manager.download(HTTPRequest("film"), to: "/tmp/film", progress: progress)
/// }
/// for try await update in updates {
///     switch update {
///     case .progress(let progress): print(progress.downloadFraction ?? 0)
///     case .completed(let response): print(response.filePath)
///     }
/// }
/// ```
///
/// The call begins when an iterator is made; each iterator makes its own call. A slow reader gets the latest progress
/// only. The sequence ends with ``TransferUpdate/completed(_:)``, or throws the error of the call. Releasing the
/// iterator before that cancels the call. So does cancelling the iterating task, which throws
/// ``SessionError/Code/cancelled``. Neither waits for the end of the call. Until then the partial file of a download is
/// in use: a download that resumes it fails with ``SessionError/Code/file``. To restart a download at once, use its
/// task, and `cancelProducingResumeToken()`.
public struct TransferUpdates<Value: Sendable>: AsyncSequence, Sendable {
    public typealias Element = TransferUpdate<Value>
    public typealias Failure = any Error

    /// Reports the progress of the call. May be called on any thread.
    public typealias Report = @Sendable (TransferProgress) -> Void

    private let call: @Sendable (@escaping Report) async throws -> Value

    /// Creates a sequence of the progress and the result of a call.
    ///
    /// - Parameter call: Makes the call with the given closure for its progress.
    public init(_ call: @escaping @Sendable (@escaping Report) async throws -> Value) {
        self.call = call
    }

    public func makeAsyncIterator() -> Iterator {
        let pending = PendingUpdates<Value>()
        let (changes, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let task = Task { [call] in
            let result: Result<Value, any Error>
            do {
                result = .success(
                    try await call { progress in
                        pending.report(progress)
                        continuation.yield()
                    })
            } catch {
                result = .failure(error)
            }
            pending.complete(with: result)
            continuation.finish()
        }
        continuation.onTermination = { _ in
            pending.abandon()
            task.cancel()
        }
        return Iterator(pending: pending, changes: changes.makeAsyncIterator())
    }

    /// Iterates over the updates.
    public struct Iterator: AsyncIteratorProtocol {
        private let pending: PendingUpdates<Value>
        /// Yields an element after one or more changes of `pending`.
        private var changes: AsyncStream<Void>.Iterator
        /// Whether the call's result or its error was returned.
        private var hasEnded = false

        fileprivate init(pending: PendingUpdates<Value>, changes: AsyncStream<Void>.Iterator) {
            self.pending = pending
            self.changes = changes
        }

        /// Returns the next update; nil after ``TransferUpdate/completed(_:)``.
        public mutating func next() async throws -> Element? {
            try await next(isolation: nil)
        }

        /// Returns the next update; nil after ``TransferUpdate/completed(_:)``.
        public mutating func next(isolation: isolated (any Actor)?) async throws -> Element? {
            guard !hasEnded else { return nil }
            var mayChange = true
            while true {
                switch pending.take() {
                case .progress(let progress)?: return .progress(progress)
                case .result(let result)?:
                    hasEnded = true
                    return .completed(try result.get())
                case nil: break
                }
                guard mayChange else { break }
                mayChange = await changes.next(isolation: isolation) != nil
            }
            // The stream ends without a result if the iterating task was cancelled.
            hasEnded = true
            throw SessionError(.cancelled)
        }
    }
}

/// The updates that the reader hasn't taken: the latest progress, and then the result.
private final class PendingUpdates<Value: Sendable>: Sendable {
    enum Update: Sendable {
        case progress(TransferProgress)
        case result(Result<Value, any Error>)
    }

    private enum Call {
        case running
        case returned(Result<Value, any Error>)
        /// The iteration has ended before the call.
        case abandoned
    }

    private struct State {
        var call = Call.running
        /// The latest progress that wasn't taken.
        var progress: TransferProgress?
    }

    private let state = Locked(State())

    /// Notes the latest progress, instead of earlier progress that wasn't taken.
    func report(_ progress: TransferProgress) {
        state.withLock { if case .running = $0.call { $0.progress = progress } }
    }

    func complete(with result: Result<Value, any Error>) {
        state.withLock { if case .running = $0.call { $0.call = .returned(result) } }
    }

    /// Makes later reports have no effect.
    func abandon() {
        state.withLock { if case .running = $0.call { $0.call = .abandoned } }
    }

    /// Takes the next update for the reader; nil if there is none yet.
    func take() -> Update? {
        state.withLock { state in
            if let progress = state.progress {
                state.progress = nil
                return .progress(progress)
            }
            guard case .returned(let result) = state.call else { return nil }
            return .result(result)
        }
    }
}

/// An element of ``TransferUpdates``.
public enum TransferUpdate<Value: Sendable>: Sendable {
    /// More bytes were sent or received.
    case progress(TransferProgress)
    /// The call returned. The last update.
    case completed(Value)
}

extension SessionTask {
    /// The task's ``progress`` as it changes, up to its completion, or to the release of a task that wasn't started. A
    /// slow reader gets the latest one. Ending the iteration doesn't cancel the task.
    public var progressUpdates: AsyncStream<TransferProgress> {
        let (stream, continuation) = AsyncStream<TransferProgress>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let updates = ProgressUpdates(continuation)
        let observation = watchProgress { updates.report($0) }
        continuation.onTermination = { _ in observation.cancel() }
        return stream
    }
}

/// The producer of a progress stream, which the task's observer retains.
private final class ProgressUpdates: Sendable {
    private let continuation: AsyncStream<TransferProgress>.Continuation
    private let reporter = SerialReporter()

    init(_ continuation: AsyncStream<TransferProgress>.Continuation) {
        self.continuation = continuation
    }

    deinit {
        // The task was released. The stream doesn't end by itself when its continuation is released.
        continuation.finish()
    }

    /// Passes the progress on.
    func report(_ task: SessionTask) {
        reporter.report {
            continuation.yield(task.progress)
            if task.state == .completed { continuation.finish() }
        }
    }
}
