public import FoundationEssentials

/// A download of a batch.
public struct DownloadItem: Sendable {
    let spec: DownloadSpec

    /// The request, as it was given.
    public var request: HTTPRequest { spec.request }

    /// The path of the file, as it was given; nil if the response or the manager names the file.
    public var filePath: String? { spec.file.path }

    /// Creates a download; see `download(_:to:options:progress:)`.
    public init<Source: RequestConvertible>(
        _ source: Source, to destination: DownloadDestination = .managerDefault,
        options: DownloadOptions = []
    ) {
        spec = DownloadSpec(source, destination, options)
    }

    /// Creates a download to the file at a path.
    public init<Source: RequestConvertible>(_ source: Source, to path: String, options: DownloadOptions = []) {
        spec = DownloadSpec(source, .path(path), options)
    }

    /// Creates a download to the file of a file URL.
    public init<Source: RequestConvertible>(_ source: Source, to file: URL, options: DownloadOptions = []) {
        spec = DownloadSpec(source, .path(file), options)
    }
}

extension DownloadItem: CustomStringConvertible {
    /// Method, URL without user information and query, and path.
    public var description: String { "\(request)" + (filePath.map { " to \($0)" } ?? "") }
}

/// The result of a download of a batch.
public struct DownloadResult: Sendable {
    /// The index of the item in the batch.
    public let index: Int
    /// The response, or why there is none.
    public let result: Result<DownloadResponse, SessionError>

    /// Creates a result, for tests.
    public init(index: Int, result: Result<DownloadResponse, SessionError>) {
        self.index = index
        self.result = result
    }

    /// Returns the response of a successful download; otherwise throws its error.
    public func get() throws(SessionError) -> DownloadResponse {
        try result.get()
    }
}

/// The progress of a batch of downloads.
public struct DownloadBatchProgress: Hashable, Sendable {
    /// The index of the item that made progress.
    public var index: Int
    /// The progress of that item.
    public var item: TransferProgress
    /// The sums over all items, including failed ones. The totals are nil until the total of every item is known. For
    /// an item that has ended, the total is the size received so far.
    public var all: TransferProgress
    /// The number of items in the batch.
    public var count: Int
    /// The number of items that have ended, failed ones included.
    public var ended: Int
    /// The progress of the batch from 0 to 1, where each item counts the same, whatever its size; 1 at the end.
    public var fractionCompleted: Double

    /// Creates a progress, for tests of code that shows it.
    public init(
        index: Int, item: TransferProgress, all: TransferProgress, count: Int, ended: Int, fractionCompleted: Double
    ) {
        self.index = index
        self.item = item
        self.all = all
        self.count = count
        self.ended = ended
        self.fractionCompleted = fractionCompleted
    }
}

/// The sums over several transfers. A value without side effects.
struct DownloadTally {
    // Wide: a server may promise 2^63 - 1 bytes for each file.
    private struct Sums {
        var sent: Int128 = 0
        var received: Int128 = 0
        var offset: Int128 = 0
        /// The sums of the totals that are known.
        var sentTotal: Int128 = 0
        var receivedTotal: Int128 = 0
    }

    private var items: [TransferProgress]
    private var sums = Sums()
    private var unknownSent: Int
    private var unknownReceived: Int
    private var isEnded: [Bool]
    private var ended = 0
    /// The sum of the fractions of the items, in millionths.
    private var millionths = 0

    init(count: Int) {
        isEnded = Array(repeating: false, count: count)
        items = Array(repeating: TransferProgress(), count: count)
        unknownSent = count
        unknownReceived = count
    }

    var all: TransferProgress {
        TransferProgress(
            sent: Int64(clamping: sums.sent), sentTotal: unknownSent > 0 ? nil : Int64(clamping: sums.sentTotal),
            received: Int64(clamping: sums.received),
            receivedTotal: unknownReceived > 0 ? nil : Int64(clamping: sums.receivedTotal),
            offset: Int64(clamping: sums.offset))
    }

    mutating func note(_ progress: TransferProgress, of index: Int) -> DownloadBatchProgress {
        count(items[index], -1)
        millionths += millionths(of: progress, at: index) - millionths(of: items[index], at: index)
        items[index] = progress
        count(progress, 1)
        return report(of: index)
    }

    func report(of index: Int) -> DownloadBatchProgress {
        let whole = items.count * Self.million
        return DownloadBatchProgress(
            index: index, item: items[index], all: all, count: items.count, ended: ended,
            fractionCompleted: whole > 0 ? Double(millionths) / Double(whole) : 1)
    }

    private static let million = 1_000_000

    private func millionths(of progress: TransferProgress, at index: Int) -> Int {
        if isEnded[index] { return Self.million }
        return Int(min(1, max(0, progress.downloadFraction ?? 0)) * Double(Self.million))
    }

    /// Records that an item has ended.
    mutating func end(_ index: Int) {
        var item = items[index]
        item.sentTotal = item.sent
        item.receivedTotal = item.received
        _ = note(item, of: index)
        guard !isEnded[index] else { return }
        millionths += Self.million - millionths(of: item, at: index)
        isEnded[index] = true
        ended += 1
    }

    /// Adds an item to the sums with the sign 1, or removes it with -1.
    private mutating func count(_ item: TransferProgress, _ sign: Int) {
        let sign = Int128(sign)
        sums.sent += sign * Int128(item.sent)
        sums.received += sign * Int128(item.received)
        sums.offset += sign * Int128(item.offset)
        if let total = item.sentTotal { sums.sentTotal += sign * Int128(total) } else { unknownSent += Int(sign) }
        if let total = item.receivedTotal {
            sums.receivedTotal += sign * Int128(total)
        } else {
            unknownReceived += Int(sign)
        }
    }
}

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
    /// cancelled, when the loop is left, or when the sequence is released.
    ///
    /// - Parameters:
    ///   - items: The downloads.
    ///   - maximumConcurrent: The maximum number of simultaneous downloads; at least 1.
    ///     ``SessionConfiguration/maximumConnectionsPerHost`` applies as well.
    ///   - progress: Called at most ten times a second per item, once when the item has ended, and once more when all
    ///     have ended: one call at a time, in the order of the events, on the network thread or another one. Not called
    ///     for what happens after the end of the loop, also by cancellation; the call for what happened right before
    ///     may still come. Must not block.
    /// - Returns: A sequence that can be iterated once.
    public func downloads(
        of items: [DownloadItem], maximumConcurrent: Int = 4,
        progress: (@Sendable (DownloadBatchProgress) -> Void)? = nil
    ) -> AsyncStream<DownloadResult> {
        let batch = DownloadBatch(items, downloadDestination, progress)
        let (results, continuation) = AsyncStream.makeStream(of: DownloadResult.self)
        let work = Task {
            await batch.run(on: self, atOnce: max(1, maximumConcurrent)) { continuation.yield($0) }
            await batch.reportEnd()
            continuation.finish()
        }
        continuation.onTermination = { _ in
            batch.stopReporting()
            work.cancel()
        }
        return results
    }
}

private final class DownloadBatch: Sendable {
    private struct State: Sendable {
        var tally: DownloadTally
        /// What `progress` wasn't called with yet, in order.
        var reports: [Report] = []
        /// Whether the loop over the results goes on.
        var isRead = true
    }

    private struct Report: Sendable {
        let progress: DownloadBatchProgress
        /// Resumed after the call.
        var delivered: CheckedContinuation<Void, Never>?
    }

    private let specs: [DownloadSpec]
    private let state: Locked<State>
    private let progress: (@Sendable (DownloadBatchProgress) -> Void)?
    /// Network threads and tasks report at the same time.
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

    /// Drops what is still to be reported, as the loop has ended.
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

    /// Changes the tally and calls `progress` with the result: on this thread, or on one that is calling it.
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
