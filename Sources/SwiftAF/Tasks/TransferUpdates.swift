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
/// The call begins with the iteration; each iterator makes its own call. A slow reader gets the latest progress. The
/// sequence ends with ``TransferUpdate/completed(_:)``, or throws the error of the call. Releasing the iterator before
/// that cancels the call. So does cancelling the iterating task, which throws ``SessionError/Code/cancelled``.
public struct TransferUpdates<Value: Sendable>: AsyncSequence, Sendable {
    public typealias Element = TransferUpdate<Value>
    public typealias Failure = any Error

    /// Reports progress.
    public typealias Report = @Sendable (TransferProgress) -> Void

    private let call: @Sendable (@escaping Report) async throws -> Value

    /// Makes a sequence of the progress and the result of a call.
    ///
    /// - Parameter call: Makes the call with the given closure for its progress.
    public init(_ call: @escaping @Sendable (@escaping Report) async throws -> Value) {
        self.call = call
    }

    public func makeAsyncIterator() -> Iterator {
        // Room for the last progress and the result, so that neither replaces the other.
        let (stream, continuation) = AsyncThrowingStream<Element, any Error>.makeStream(
            bufferingPolicy: .bufferingNewest(2))
        let task = Task { [call] in
            do {
                let value = try await call { continuation.yield(.progress($0)) }
                continuation.yield(.completed(value))
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return Iterator(stream: stream.makeAsyncIterator())
    }

    /// Iterates over the updates.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var stream: AsyncThrowingStream<Element, any Error>.Iterator
        /// Whether the call's result or its error was returned.
        private var hasEnded = false

        fileprivate init(stream: AsyncThrowingStream<Element, any Error>.Iterator) {
            self.stream = stream
        }

        /// Returns the next update; nil after ``TransferUpdate/completed(_:)``.
        public mutating func next() async throws -> Element? {
            try await next(isolation: nil)
        }

        /// Returns the next update; nil after ``TransferUpdate/completed(_:)``.
        public mutating func next(isolation: isolated (any Actor)?) async throws -> Element? {
            guard !hasEnded else { return nil }
            let update: Element?
            do {
                update = try await stream.next(isolation: isolation)
            } catch {
                hasEnded = true
                throw error
            }
            if case .progress? = update { return update }
            hasEnded = true
            // The stream of a cancelled task ends without an error, as if the call had returned.
            guard let update else { throw SessionError(.cancelled) }
            return update
        }
    }
}

/// What a call with progress reports.
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

/// The side of a progress stream that the task keeps.
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
