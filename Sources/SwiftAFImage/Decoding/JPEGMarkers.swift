/// Reads the markers of a JPEG while its bytes arrive, in pieces of any size.
///
/// Finds them by the rules of libjpeg, so that libjpeg doesn't decode a scan that isn't counted here.
struct JPEGMarkers {
    /// The maximum number of scans. gdk-pixbuf processes the whole image once for each scan, however few bytes that
    /// has; encoders write about ten.
    static let maximumScanCount = 100

    /// The number of scans that have begun.
    private(set) var scanCount = 0
    /// Whether the image's own end marker (EOI) was found, not that of a thumbnail within a segment. Bytes after it,
    /// which some programs append, are ignored.
    private(set) var hasEnd = false
    private var place = Place.data

    private enum Place {
        /// Between segments, or in compressed data.
        case data
        /// After the first byte of a marker.
        case marker
        /// At the two bytes of a segment's size, which includes these bytes.
        case size
        case lowSize(high: UInt8)
        case segment(left: Int)
    }

    /// Reads bytes. Stops at the image's end, and at the first scan beyond the limit.
    ///
    /// - Returns: The offsets after the marker (SOS) of each scan that begins in these bytes.
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

    /// Returns the end of the piece that begins at `start`, for a loader that is given the file in pieces. Each scan
    /// gets a piece of its own, however few bytes it has, so that decoding can be stopped between scans.
    ///
    /// - Parameter scans: Offsets that ``read(_:)`` returned.
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
