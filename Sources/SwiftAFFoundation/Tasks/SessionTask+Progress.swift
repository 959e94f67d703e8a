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
        makeProgress(on: queue) { progress in
            (progress.offset + progress.received, progress.receivedTotal.map { progress.offset + $0 })
        }
    }

    /// Returns a `Progress` for the bytes of the request body, like ``downloadProgress(on:)`` for the response body.
    public func uploadProgress(on queue: DispatchQueue = .main) -> Progress {
        makeProgress(on: queue) { ($0.sent, $0.sentTotal) }
    }

    private func makeProgress(
        on queue: DispatchQueue, _ counts: @escaping @Sendable (TransferProgress) -> (done: Int64, total: Int64?)
    ) -> Progress {
        let progress = Progress(parent: nil)
        progress.totalUnitCount = -1
        progress.isCancellable = true
        progress.cancellationHandler = { [weak self] in self?.cancel() }
        progress.isPausable = true
        progress.pausingHandler = { [weak self] in self?.suspend() }
        progress.resumingHandler = { [weak self] in self?.resume() }
        watchProgress { [weak progress] task in
            // Read on the queue, so the values never go backwards.
            queue.async { [weak progress] in progress?.show(counts(task.progress)) }
        }
        return progress
    }
}

extension Progress {
    fileprivate func show(_ counts: (done: Int64, total: Int64?)) {
        totalUnitCount = counts.total ?? -1
        completedUnitCount = counts.done
    }
}
