import Foundation

/// Checks the objects of a binary property list before Foundation reads them: some make it crash the process.
enum BinaryPropertyList {
    /// Whether Foundation can read the data safely: it isn't a binary property list, or it contains only booleans,
    /// numbers, dates, data, strings, arrays and dictionaries. Sets and the identifiers of keyed archives (UIDs) are
    /// refused.
    static func isHarmless(_ data: Data) -> Bool {
        guard data.starts(with: "bplist".utf8) else { return true }
        guard data.count >= trailerSize else { return false }
        let bytes = data[data.startIndex...]
        let trailer = bytes.endIndex - trailerSize
        let width = Int(bytes[trailer + 6])
        guard (1...8).contains(width),
            let count = number(in: bytes, at: trailer + 8, width: 8),
            let table = number(in: bytes, at: trailer + 24, width: 8),
            table <= bytes.count, count <= (bytes.count - table) / width
        else { return false }
        return (0..<count).allSatisfy { index in
            let entry = bytes.startIndex + table + index * width
            guard let offset = number(in: bytes, at: entry, width: width), offset < bytes.count else { return false }
            return isHarmless(marker: bytes[bytes.startIndex + offset])
        }
    }

    private static let trailerSize = 32

    /// Reads a big-endian integer of `width` bytes. Nil if it is too large.
    private static func number(in bytes: Data, at start: Int, width: Int) -> Int? {
        guard start >= bytes.startIndex, start + width <= bytes.endIndex else { return nil }
        return Int(exactly: bytes[start..<(start + width)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    private static func isHarmless(marker: UInt8) -> Bool {
        switch (marker >> 4, marker & 15) {
        case (0x0, 0x8...0x9), (0x1...0x2, _), (0x3, 0x3), (0x4...0x6, _), (0xA, _), (0xD, _): true
        default: false
        }
    }
}
