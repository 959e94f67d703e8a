import Foundation

/// Looks at the objects of a binary property list before Foundation does, which ends the process at some of them.
enum BinaryPropertyList {
    /// Whether the data is no binary property list, or one whose objects are all of the kinds that a property list has:
    /// booleans, numbers, dates, data, texts, arrays and dictionaries. Sets and the identifiers of archives are not.
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

    /// A number of so many bytes, the highest first; nil if it is too large.
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
