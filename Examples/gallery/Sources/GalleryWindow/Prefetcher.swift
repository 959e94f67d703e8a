import SwiftAF
import SwiftAFImage

/// Loads the pictures that will be on the screen next, with the lowest priority, and cancels those that won't.
@MainActor
final class Prefetcher {
    private static let ahead = 48
    private let library: Library
    private var receipts: [Int: ImageDownloadReceipt] = [:]
    private var last: ClosedRange<Int>?

    init(_ library: Library) {
        self.library = library
    }

    /// The grid uses other pictures than before.
    ///
    /// - Parameters:
    ///   - range: The positions in use.
    ///   - count: The number of positions.
    ///   - scale: The pixels for each of GTK's units.
    func moved(to range: ClosedRange<Int>, of count: Int, scale: Int, _ picture: (Int) -> Picture?) {
        defer { last = range }
        guard let last, range != last else { return }
        let isDown = range.lowerBound >= last.lowerBound
        let behind = min(count, range.upperBound + 1)
        let next =
            isDown
            ? behind..<min(count, behind + Self.ahead)
            : max(0, range.lowerBound - Self.ahead)..<range.lowerBound
        for (position, receipt) in receipts where !next.contains(position) && !range.contains(position) {
            library.downloader.cancel(receipt)
        }
        receipts = receipts.filter { next.contains($0.key) }
        for position in next where receipts[position] == nil {
            guard let picture = picture(position) else { continue }
            let (request, processors) = library.tile(for: picture, scale: scale)
            receipts[position] = library.downloader.prefetch([request], processors: processors).first
        }
    }

    func cancel() {
        for receipt in receipts.values { library.downloader.cancel(receipt) }
        receipts = [:]
        last = nil
    }
}
