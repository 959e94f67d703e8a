public import Dispatch
public import Foundation
public import SwiftAF

extension SessionTask {
    /// Follows the bytes of the response body with a `Progress`, which can also cancel, pause and resume the task.
    ///
    /// Bytes that were there before, of a download that goes on, count too. As long as the total is not known it is -1 and the progress is indeterminate; what was received is counted
    /// nevertheless. A finished task does not force the progress to 1. The progress and the task don't keep each other
    /// alive, and cancelling the task itself does not mark the progress as cancelled.
    ///
    /// - Parameter queue: A serial queue, where the progress is changed and should be read: on Linux `Progress` has
    ///   no lock.
    /// - Returns: A new progress, without parent.
    public func downloadProgress(on queue: DispatchQueue = .main) -> Progress {
        makeProgress(on: queue) { progress in
            (progress.offset + progress.received, progress.receivedTotal.map { progress.offset + $0 })
        }
    }

    /// Follows the bytes of the request body, as ``downloadProgress(on:)`` does those of the response body.
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
            // What is read here is never older than what was shown before.
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
