internal import FoundationEssentials
internal import SwiftAF

/// The numbers of a TIFF that decide about the memory that libtiff allocates in addition to the image: for all values
/// of the directory, and for a tile or a strip. A tile may be larger than the image, and a pixel may have thousands of
/// samples.
struct TIFFDirectory {
    private static let maximumSampleCount = 8
    /// Allowed for small images, whose tiles are larger than the image.
    private static let tileAllowance = 1 << 20
    /// The bytes of a pixel of the decoded image; also allowed on average in a tile or a strip.
    private static let bytesPerPixel = 4
    /// The size of each type of number that libtiff reads as an unsigned one.
    private static let numberSizes = [1: 1, 3: 2, 4: 4]
    /// The size of a value of each type; those of other types are skipped.
    private static let valueSizes = [
        1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8,
    ]

    private(set) var width = 0
    private(set) var height = 0
    private(set) var bitsPerSample = 1
    private(set) var sampleCount = 1
    private(set) var tileWidth = 0
    private(set) var tileHeight = 0
    /// The number of rows of a strip; nil means all rows.
    private(set) var rowsPerStrip: Int?
    /// The bytes of the values that are stored outside of the directory: the larger sum of the first and the second
    /// image. In valid files, values don't overlap, so the sum is at most the size of the file.
    private(set) var valueSize = 0
    private let fileSize: Int

    /// Reads the directory; nil if a value isn't a number that libtiff accepts.
    init?(_ data: Data) {
        fileSize = data.count
        let isValid = data.withUnsafeBytes { bytes in
            let reader = Reader(bytes: bytes, isBigEndian: bytes.first == UInt8(ascii: "M"))
            guard let start = reader.number(4, 4) else { return true }
            let (entries, next) = reader.directory(at: start)
            // gdk-pixbuf also reads the second directory, to see whether there are more images, but no further ones.
            let others = next > 0 ? reader.directory(at: next).entries : []
            valueSize = max(reader.valueSize(entries), reader.valueSize(others))
            for entry in entries {
                guard add(entry, reader) else { return false }
            }
            return true
        }
        guard isValid else { return nil }
    }

    /// Notes an entry that is needed. Returns false if its value must be a number and isn't one that libtiff accepts.
    private mutating func add(_ entry: Entry, _ reader: Reader) -> Bool {
        guard [256, 257, 258, 277, 278, 322, 323].contains(entry.tag) else { return true }
        guard let size = Self.numberSizes[entry.type] else { return false }
        // Tag 258 has a value for each sample; libtiff refuses different ones.
        let count = entry.tag == 258 ? max(1, min(entry.count, Self.maximumSampleCount)) : 1
        var value = 0
        for index in 0..<count {
            guard let number = reader.number(entry.place + index * size, size) else { return entry.tag == 258 }
            value = max(value, number)
        }
        // If an entry is repeated, libtiff uses the first one.
        switch entry.tag {
        case 256: width = max(width, value)
        case 257: height = max(height, value)
        case 258: bitsPerSample = max(bitsPerSample, value)
        case 277: sampleCount = max(sampleCount, value)
        case 278: rowsPerStrip = max(rowsPerStrip ?? 0, value)
        case 322: tileWidth = max(tileWidth, value)
        default: tileHeight = max(tileHeight, value)
        }
        return true
    }

    func check(_ options: ImageDecodingOptions) throws(SessionError) {
        guard valueSize <= fileSize else {
            throw SessionError(
                .tooLarge, message: "the values of the image's directory are larger than the file of \(fileSize) bytes")
        }
        guard sampleCount <= Self.maximumSampleCount else {
            throw SessionError(
                .tooLarge, message: "the image has more than \(Self.maximumSampleCount) samples per pixel")
        }
        // Checked first, because the number of strips depends on the size.
        _ = try options.decodedSize(ofWidth: width, height: height)
        let limit = Double(Self.bytesPerPixel) * Double(max(Self.tileAllowance, options.maximumPixelCount))
        let rows = rowsPerStrip.map { $0 == 0 ? height : min($0, height) } ?? height
        for (name, width, height) in [("tiles", tileWidth, tileHeight), ("strips", width, rows)] {
            guard byteCount(width, height) <= limit else {
                throw SessionError(
                    .tooLarge, message: "the \(name) of the image have more than \(Int(exactly: limit) ?? .max) bytes")
            }
        }
    }

    /// Returns the size of a tile or a strip in bytes. A `Double`, because the product of a file's numbers may
    /// overflow.
    private func byteCount(_ width: Int, _ height: Int) -> Double {
        Double(width) * Double(height) * Double(sampleCount) * Double(bitsPerSample) / 8
    }

    private struct Entry {
        let tag, type, count: Int
        /// The size of the value in bytes.
        let size: Int
        /// Whether the value is outside of the directory.
        let isApart: Bool
        /// The offset of the value.
        let place: Int
    }

    private struct Reader {
        let bytes: UnsafeRawBufferPointer
        let isBigEndian: Bool

        func number(_ at: Int, _ count: Int) -> Int? {
            guard at + count <= bytes.count else { return nil }
            let number = bytes[at..<at + count]
            return isBigEndian ? number.bigEndianInteger : number.littleEndianInteger
        }

        /// Returns the entries of a directory, up to the end of the file, and the offset of the next directory, or 0.
        func directory(at start: Int) -> (entries: [Entry], next: Int) {
            let count = number(start, 2) ?? 0
            let end = start + 2 + 12 * count
            let entries = stride(from: start + 2, to: end, by: 12).lazy.map(entry).prefix { $0 != nil }
            return (entries.compactMap { $0 }, number(end, 4) ?? 0)
        }

        /// Returns the size of all values outside of the directory. libtiff doesn't read values beyond the end of the
        /// file.
        func valueSize(_ entries: [Entry]) -> Int {
            entries.filter { $0.isApart && $0.place + $0.size <= bytes.count }.reduce(0) { $0 + $1.size }
        }

        private func entry(_ at: Int) -> Entry? {
            guard let tag = number(at, 2), let type = number(at + 2, 2), let count = number(at + 4, 4),
                let offset = number(at + 8, 4)
            else { return nil }
            let size = count * (TIFFDirectory.valueSizes[type] ?? 0)
            let isApart = size > 4
            return Entry(
                tag: tag, type: type, count: count, size: size, isApart: isApart, place: isApart ? offset : at + 8)
        }
    }
}
