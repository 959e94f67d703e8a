extension HTTPSessionManager {
    /// Downloads several files with limited concurrency and returns each result when its download ends. A failed
    /// download doesn't stop the others.
    ///
    /// ```swift
    /// for await download in manager.downloads(of: items, maximumConcurrent: 8) {
    ///     switch download.result {
    ///     case .success(let file): print(download.index, file.filePath)
    ///     case .failure(let error): print(download.index, error)  // throwing it would cancel the other downloads
    ///     }
    /// }
    /// ```
    ///
    /// The first downloads start immediately, in order. Unfinished downloads are cancelled when the iterating task is
    /// cancelled, when the loop is left, or when the sequence is released. ``cancelAll()`` also cancels those that
    /// haven't begun, and their results are returned.
    ///
    /// The loop doesn't wait for the transfers that it cancels. Until they have ended, which takes a moment, their
    /// partial files are in use: a download that resumes one fails with ``SessionError/Code/file``. To restart
    /// downloads at once, end them with ``cancelAll()`` and read the results to the end.
    ///
    /// - Parameters:
    ///   - items: The downloads.
    ///   - maximumConcurrent: The maximum number of simultaneous downloads; at least 1.
    ///     ``SessionConfiguration/maximumConnectionsPerHost`` applies as well.
    ///   - progress: Called at most ten times a second per item, once when the item has ended, and once more when all
    ///     have ended. Calls are made one at a time, in the order of the events, on the network thread or another one.
    ///     Events after the end of the loop, or after its cancellation, aren't reported; the call for an event right
    ///     before may still follow. Must not block.
    /// - Returns: A sequence that can be iterated once.
    public func downloads(
        of items: [DownloadItem], maximumConcurrent: Int = 4,
        progress: (@Sendable (DownloadBatchProgress) -> Void)? = nil
    ) -> AsyncStream<DownloadResult> {
        let batch = DownloadBatch(items, downloadDestination, progress)
        let (results, continuation) = AsyncStream.makeStream(of: DownloadResult.self)
        let session = try? snapshot.session.get()
        // Passes the number of the batch's entry in the session's `cancellations` to the task, which removes the entry.
        let registration = OneValueChannel<UInt64?>()
        let work = Task {
            let number = await registration.wait()
            await batch.run(on: self, atOnce: max(1, maximumConcurrent)) { continuation.yield($0) }
            await batch.reportEnd()
            continuation.finish()
            if let number { session?.cancellations.withLock { $0.remove(number) } }
        }
        registration.send(session?.cancellations.withLock { $0.add { work.cancel() } } ?? nil)
        continuation.onTermination = { _ in
            batch.stopReporting()
            work.cancel()
        }
        return results
    }
}

/// Runs the downloads of one call of `downloads(of:maximumConcurrent:progress:)`, and reports their progress.
private final class DownloadBatch: Sendable {
    private struct State: Sendable {
        var tally: DownloadTally
        /// Reports that `progress` wasn't called with yet, in order.
        var reports: [Report] = []
        /// Whether the results are still being read. False after ``stopReporting()``.
        var isRead = true
    }

    private struct Report: Sendable {
        let progress: DownloadBatchProgress
        /// Resumed after `progress` has been called with this report.
        var delivered: CheckedContinuation<Void, Never>?
    }

    private let specs: [DownloadSpec]
    private let state: Locked<State>
    private let progress: (@Sendable (DownloadBatchProgress) -> Void)?
    /// Makes the calls of `progress` one after the other, because network threads and tasks report at the same time.
    private let reporter = SerialReporter()

    init(
        _ items: [DownloadItem], _ destination: DownloadDestination?,
        _ progress: (@Sendable (DownloadBatchProgress) -> Void)?
    ) {
        specs = items.map { item in
            var spec = item.spec
            spec.replaceDefault(by: destination)
            return spec
        }
        state = Locked(State(tally: DownloadTally(count: items.count)))
        self.progress = progress
    }

    func run(
        on manager: HTTPSessionManager, atOnce limit: Int, _ report: @escaping @Sendable (DownloadResult) -> Void
    ) async {
        await withTaskGroup(of: Void.self) { group in
            for index in specs.indices {
                if index >= limit { await group.next() }
                group.addTask { report(await self.run(index, on: manager)) }
            }
        }
    }

    /// Reports the end of the batch, and returns when `progress` has been called with it.
    func reportEnd() async {
        guard let last = specs.indices.last, progress != nil else { return }
        await withCheckedContinuation { delivered in
            report(then: delivered) { $0.report(of: last) }
        }
        state.synchronizeContinuation()
    }

    private func nextReport() -> Report? {
        state.withLock { $0.reports.isEmpty ? nil : $0.reports.removeFirst() }
    }

    /// Drops the reports that weren't passed on, because the results aren't read any more.
    func stopReporting() {
        let dropped = state.withLock { state in
            state.isRead = false
            defer { state.reports = [] }
            return state.reports
        }
        for report in dropped { report.delivered?.resume() }
    }

    private func run(_ index: Int, on manager: HTTPSessionManager) async -> DownloadResult {
        defer {
            report { tally in
                tally.end(index)
                return tally.report(of: index)
            }
        }
        do throws(SessionError) {
            return DownloadResult(
                index: index, result: .success(try await manager.download(specs[index], observer(of: index))))
        } catch {
            return DownloadResult(index: index, result: .failure(error))
        }
    }

    private func observer(of index: Int) -> (@Sendable (TransferProgress) -> Void)? {
        guard progress != nil else { return nil }
        return { value in self.report { $0.note(value, of: index) } }
    }

    /// Changes the tally and calls `progress` with the result: on this thread, or on another thread that is calling it
    /// at the moment.
    private func report(
        then delivered: CheckedContinuation<Void, Never>? = nil,
        _ change: (inout DownloadTally) -> DownloadBatchProgress
    ) {
        guard let progress else { return }
        let isRead = state.withLock { state in
            if state.isRead { state.reports.append(Report(progress: change(&state.tally), delivered: delivered)) }
            return state.isRead
        }
        guard isRead else {
            delivered?.resume()
            return
        }
        reporter.report {
            while let report = nextReport() {
                progress(report.progress)
                report.delivered?.resume()
            }
        }
    }
}
