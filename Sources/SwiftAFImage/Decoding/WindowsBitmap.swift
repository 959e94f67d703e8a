/// The header of a bitmap in a BMP or in an entry of an ICO. Used to find out whether all rows are in the file, because
/// gdk-pixbuf reports no error if some are missing.
struct WindowsBitmap {
    private static let fileHeaderSize = 14
    /// The size of a header of OS/2, which has sides of 16 bits.
    private static let coreHeaderSize = 12
    private static let infoHeaderSize = 40

    private enum Compression: Int {
        /// Uncompressed pixels whose channels are described by three masks.
        case none = 0, runsOfBytes, runsOfHalfBytes, masks, masksWithAlpha = 6
    }

    private let headerSize: Int
    private let width, height: Int
    private let bitsPerPixel: Int
    /// The compression; nil if gdk-pixbuf doesn't support it.
    private let compression: Compression?
    private let colorCount: Int

    /// Reads a header; nil if it is missing or of an unknown kind.
    private init?(_ reader: Reader, at start: Int) {
        guard let size = reader.number(start, 4) else { return nil }
        headerSize = size
        if size == Self.coreHeaderSize {
            guard let width = reader.number(start + 4, 2), let height = reader.number(start + 6, 2),
                let bits = reader.number(start + 10, 2)
            else { return nil }
            (self.width, self.height, bitsPerPixel, compression, colorCount) = (
                width, height, bits, Compression.none, 0
            )
            return
        }
        guard size >= Self.infoHeaderSize, let width = reader.number(start + 4, 4),
            let height = reader.number(start + 8, 4), let bits = reader.number(start + 14, 2),
            let compression = reader.number(start + 16, 4), let colors = reader.number(start + 32, 4)
        else { return nil }
        // A negative height means that the rows are stored from top to bottom.
        self.width = abs(Int(Int32(truncatingIfNeeded: width)))
        self.height = abs(Int(Int32(truncatingIfNeeded: height)))
        (bitsPerPixel, self.compression, colorCount) = (bits, Compression(rawValue: compression), colors)
    }

    /// Returns whether all rows of a BMP are in the file.
    static func isWholeBMP(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let reader = Reader(bytes: bytes)
        guard let offset = reader.number(10, 4), let bitmap = WindowsBitmap(reader, at: fileHeaderSize) else {
            return true
        }
        let start = max(offset, fileHeaderSize + bitmap.headerSize)
        switch bitmap.compression {
        case nil: return true
        case .runsOfBytes: return bitmap.hasAllRuns(reader, from: start, pixelsPerByte: 1)
        case .runsOfHalfBytes: return bitmap.hasAllRuns(reader, from: start, pixelsPerByte: 2)
        case .some(.none), .masks, .masksWithAlpha:
            return reader.has(rows: bitmap.height, of: bitmap.bytesPerRow(bitmap.bitsPerPixel), from: start)
        }
    }

    /// Returns whether all images of an ICO are in the file, and all rows of those that aren't PNGs.
    static func isWholeICO(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let reader = Reader(bytes: bytes)
        guard let count = reader.number(4, 2) else { return false }
        return (0..<count).allSatisfy { index in
            let entry = 6 + 16 * index
            guard let size = reader.number(entry + 8, 4), let start = reader.number(entry + 12, 4) else { return false }
            guard start + size <= bytes.count else { return false }
            guard let bitmap = WindowsBitmap(reader, at: start), bitmap.headerSize == infoHeaderSize else {
                return true
            }
            return bitmap.hasRowsAndMask(reader, from: start + infoHeaderSize)
        }
    }

    /// Returns whether the rows and the mask are in the file. In an ICO, the height includes the mask of transparent
    /// pixels, which follows the rows. Pixels with alpha don't need a mask.
    private func hasRowsAndMask(_ reader: Reader, from start: Int) -> Bool {
        let palette = bitsPerPixel > 8 ? 0 : 1 << bitsPerPixel
        let colors = colorCount == 0 ? palette : min(palette, colorCount)
        let bytesPerRow = bytesPerRow(bitsPerPixel) + (bitsPerPixel < 32 ? self.bytesPerRow(1) : 0)
        return reader.has(rows: height / 2, of: bytesPerRow, from: start + 4 * colors)
    }

    private func bytesPerRow(_ bitsPerPixel: Int) -> Int {
        (width * bitsPerPixel + 31) / 32 * 4
    }

    /// Returns whether the runs of pixels reach the end marker, or the end of the last row.
    private func hasAllRuns(_ reader: Reader, from start: Int, pixelsPerByte: Int) -> Bool {
        var (at, column, row) = (start, 0, 0)
        while row < height - 1 || row == height - 1 && column < width {
            guard let count = reader.number(at, 1), let value = reader.number(at + 1, 1) else { return false }
            at += 2
            switch (count, value) {
            case (0, 0): (column, row) = (0, row + 1)
            case (0, 1): return true
            case (0, 2):
                guard let right = reader.number(at, 1), let down = reader.number(at + 1, 1) else { return false }
                (column, row, at) = (column + right, row + down, at + 2)
            case (0, _):
                // `value` pixels follow, in an even number of bytes.
                let size = (value + pixelsPerByte - 1) / pixelsPerByte
                (column, at) = (column + value, at + size + size % 2)
                guard at <= reader.bytes.count else { return false }
            default: column += count
            }
        }
        return true
    }

    private struct Reader {
        let bytes: UnsafeRawBufferPointer

        /// Reads a number of `count` bytes; nil beyond the end of the file.
        func number(_ at: Int, _ count: Int) -> Int? {
            guard at + count <= bytes.count else { return nil }
            return bytes[at..<at + count].littleEndianInteger
        }

        /// Returns whether these rows are in the file. The product of a file's numbers may overflow.
        func has(rows: Int, of bytesPerRow: Int, from start: Int) -> Bool {
            let (size, isTooLarge) = rows.multipliedReportingOverflow(by: bytesPerRow)
            return !isTooLarge && size <= bytes.count - start
        }
    }
}
