/// Follows the markers of a JPEG while its bytes arrive, in pieces of any size.
///
/// It follows them as libjpeg does: a scan that isn't counted here must not be decoded there.
struct JPEGMarkers {
    /// The maximum number of scans. gdk-pixbuf passes over the whole image once for each, however few bytes it has;
    /// encoders write about ten.
    static let maximumScanCount = 100

    /// The number of scans that have begun.
    private(set) var scanCount = 0
    /// Whether the image's own end is there (EOI), not just that of a thumbnail in its segments. What some programs
    /// append to a file doesn't count, however much it is.
    private(set) var hasEnd = false
    private var place = Place.data

    private enum Place {
        /// Between segments, or in compressed data.
        case data
        /// Behind the first byte of a marker.
        case marker
        /// At the size of a segment, of two bytes, which counts itself.
        case size
        case lowSize(high: UInt8)
        case segment(left: Int)
    }

    /// Stops at the image's end, and at the first scan beyond the limit.
    ///
    /// - Returns: The places behind the marker of each scan (SOS) that begins in these bytes.
    @discardableResult
    mutating func read(_ bytes: UnsafeRawBufferPointer) -> [Int] {
        var scans: [Int] = []
        var at = 0
        while at < bytes.count, !hasEnd, scanCount <= Self.maximumScanCount {
            switch place {
            case .data:
                while at < bytes.count, bytes[at] != 0xFF { at += 1 }
                if at < bytes.count { place = .marker }
                at += 1
            case .marker:
                let count = scanCount
                begin(bytes[at])
                at += 1
                if scanCount > count { scans.append(at) }
            case .size:
                place = .lowSize(high: bytes[at])
                at += 1
            case .lowSize(let high):
                place = .segment(left: max(2, Int(high) << 8 | Int(bytes[at])) - 2)
                at += 1
            case .segment(let left):
                let count = min(left, bytes.count - at)
                place = count < left ? .segment(left: left - count) : .data
                at += count
            }
        }
        return scans
    }

    /// The end of the piece that begins at `start`, for a loader that gets the file in pieces: each scan is in another
    /// one, however few bytes it has, so that decoding can end between them.
    ///
    /// - Parameter scans: Places of ``read(_:)``.
    static func pieceEnd(from start: Int, scans: [Int], limit: Int) -> Int {
        min(limit, scans.first { $0 > start } ?? limit)
    }

    private mutating func begin(_ marker: UInt8) {
        switch marker {
        // Any number of these may begin a marker.
        case 0xFF: break
        // Compressed data contains FF before 00 and before the markers that restart it (D0 to D7). Those below C0 have
        // no meaning: where data is to restart, libjpeg skips them without a size; elsewhere it fails.
        case 0x00...0xBF, 0xD0...0xD8: place = .data
        case 0xD9: hasEnd = true
        default:
            if marker == 0xDA { scanCount += 1 }
            place = .size
        }
    }
}
