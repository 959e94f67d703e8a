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

/// Adds up the progress of several transfers.
struct DownloadTally {
    // 128 bits, because a server may announce 2^63 - 1 bytes for each file.
    private struct Sums {
        var sent: Int128 = 0
        var received: Int128 = 0
        var offset: Int128 = 0
        /// The sums of those totals that are known.
        var sentTotal: Int128 = 0
        var receivedTotal: Int128 = 0
    }

    private var items: [TransferProgress]
    private var sums = Sums()
    /// The numbers of items whose total isn't known.
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
