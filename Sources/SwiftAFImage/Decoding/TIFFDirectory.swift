internal import FoundationEssentials
internal import SwiftAF

/// What a TIFF says about the memory that libtiff takes beside the image: for the values of its directory, of which
/// libtiff keeps each one, and for a tile or a strip. A tile may be larger than the image, and a pixel may have
/// thousands of samples.
struct TIFFDirectory {
    private static let maximumSampleCount = 8
    /// Small images have tiles that are larger.
    private static let tileAllowance = 1 << 20
    /// The bytes of a pixel of the image, and the average of a tile or a strip.
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
    /// Nil for all.
    private(set) var rowsPerStrip: Int?
    /// The bytes of the values that aren't in the directory itself, or in that of the second image. Values of different
    /// entries don't overlap in what programs write, so that they have at most the size of the file.
    private(set) var valueSize = 0
    private let fileSize: Int

    /// Nil if a value isn't a number as libtiff reads it.
    init?(_ data: Data) {
        fileSize = data.count
        let isValid = data.withUnsafeBytes { bytes in
            let reader = Reader(bytes: bytes, isBigEndian: bytes.first == UInt8(ascii: "M"))
            guard let start = reader.number(4, 4) else { return true }
            let (entries, next) = reader.directory(at: start)
            // gdk-pixbuf reads the second one to see whether there are more images, and no other.
            let others = next > 0 ? reader.directory(at: next).entries : []
            valueSize = max(reader.valueSize(entries), reader.valueSize(others))
            for entry in entries {
                guard add(entry, reader) else { return false }
            }
            return true
        }
        guard isValid else { return nil }
    }

    /// False if the value has to be a number, and isn't one as libtiff reads it.
    private mutating func add(_ entry: Entry, _ reader: Reader) -> Bool {
        guard [256, 257, 258, 277, 278, 322, 323].contains(entry.tag) else { return true }
        guard let size = Self.numberSizes[entry.type] else { return false }
        // One for each sample, of which libtiff refuses different ones.
        let count = entry.tag == 258 ? max(1, min(entry.count, Self.maximumSampleCount)) : 1
        var value = 0
        for index in 0..<count {
            guard let number = reader.number(entry.place + index * size, size) else { return entry.tag == 258 }
            value = max(value, number)
        }
        // libtiff takes the first of several.
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
        // The number of strips depends on it.
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

    /// The size of a tile or a strip. A `Double`, because the product of a file's numbers may be too large for an
    /// integer.
    private func byteCount(_ width: Int, _ height: Int) -> Double {
        Double(width) * Double(height) * Double(sampleCount) * Double(bitsPerSample) / 8
    }

    private struct Entry {
        let tag, type, count: Int
        /// The bytes of its value.
        let size: Int
        /// Whether the value is elsewhere in the file.
        let isApart: Bool
        /// Where the value is.
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

        /// The entries of a directory up to the end of the file, and the offset of the next directory, or 0.
        func directory(at start: Int) -> (entries: [Entry], next: Int) {
            let count = number(start, 2) ?? 0
            let end = start + 2 + 12 * count
            let entries = stride(from: start + 2, to: end, by: 12).lazy.map(entry).prefix { $0 != nil }
            return (entries.compactMap { $0 }, number(end, 4) ?? 0)
        }

        /// Beyond the end of the file, libtiff doesn't read values.
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
