public import Dispatch
public import Foundation
public import SwiftAF

extension SessionTask {
    /// Returns a `Progress` for the bytes of the response body. It can also cancel, pause and resume the task.
    ///
    /// In a resumed download, the bytes already in the file are included. While the total is unknown, it is -1 and the
    /// progress is indeterminate; received bytes are counted nevertheless. Completion doesn't set the progress to 1.
    /// The progress and the task don't keep each other alive. Cancelling the task doesn't mark the progress as
    /// cancelled.
    ///
    /// - Parameter queue: The serial queue on which the progress is updated. Read it there, too: on Linux, `Progress`
    ///   isn't synchronized.
    /// - Returns: A new progress without a parent.
    public func downloadProgress(on queue: DispatchQueue = .main) -> Progress {
        makeProgress(on: queue) { ($0.downloaded, $0.downloadTotal) }
    }

    /// Returns a `Progress` for the bytes of the request body, like ``downloadProgress(on:)`` for the response body.
    public func uploadProgress(on queue: DispatchQueue = .main) -> Progress {
        makeProgress(on: queue) { ($0.sent, $0.sentTotal) }
    }

    private func makeProgress(
        on queue: DispatchQueue, _ counts: @escaping @Sendable (TransferProgress) -> (done: Int64, total: Int64?)
    ) -> Progress {
        let progress = TaskProgress(parent: nil)
        progress.totalUnitCount = -1
        progress.isCancellable = true
        progress.cancellationHandler = { [weak self] in self?.cancel() }
        progress.isPausable = true
        progress.pausingHandler = { [weak self] in self?.suspend() }
        progress.resumingHandler = { [weak self] in self?.resume() }
        let observation = watchProgress { [weak progress] task in
            // The values are read on the queue, so that they never go backwards.
            queue.async { [weak progress] in progress?.show(counts(task.progress)) }
        }
        progress.observation.withLock { $0 = observation }
        return progress
    }
}

/// Ends its observation of a task when it is released.
private final class TaskProgress: Progress, @unchecked Sendable {
    let observation = Locked<SessionTask.Observation?>(nil)

    deinit {
        observation.withLock { $0 }?.cancel()
    }
}

extension Progress {
    /// Returns a closure for the `progress` of an awaited call, which shows the bytes of the response body here, as
    /// ``SwiftAF/SessionTask/downloadProgress(on:)`` does. It doesn't keep this progress alive.
    ///
    /// - Parameter queue: The serial queue on which this progress is updated and must be read.
    public func downloadReporter(on queue: DispatchQueue = .main) -> @Sendable (TransferProgress) -> Void {
        reporter(queue) { ($0.downloaded, $0.downloadTotal) }
    }

    /// Returns a closure for the `progress` of an awaited call, which shows the bytes of the request body here; see
    /// ``downloadReporter(on:)``.
    public func uploadReporter(on queue: DispatchQueue = .main) -> @Sendable (TransferProgress) -> Void {
        reporter(queue) { ($0.sent, $0.sentTotal) }
    }

    private func reporter(
        _ queue: DispatchQueue, _ counts: @escaping @Sendable (TransferProgress) -> (done: Int64, total: Int64?)
    ) -> @Sendable (TransferProgress) -> Void {
        { [weak self] progress in
            queue.async { [weak self] in self?.show(counts(progress)) }
        }
    }

    fileprivate func show(_ counts: (done: Int64, total: Int64?)) {
        totalUnitCount = counts.total ?? -1
        completedUnitCount = counts.done
    }
}
