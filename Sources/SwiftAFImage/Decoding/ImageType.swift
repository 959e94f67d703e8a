internal import FoundationEssentials

/// The format of an image file, detected from its first bytes.
enum ImageType: String, Sendable, CaseIterable {
    case png, jpeg, gif, tiff, bmp, ico, xbm, webp

    /// The number of bytes that identify every type.
    static let sniffedBytes = 12

    init?(sniffing data: Data) {
        let start = [UInt8](data.prefix(256))
        func begins(_ bytes: [UInt8], at offset: Int = 0) -> Bool {
            start.dropFirst(offset).starts(with: bytes)
        }
        func begins(_ text: String, at offset: Int = 0) -> Bool {
            begins(Array(text.utf8), at: offset)
        }
        if begins([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if begins([0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if begins("GIF87a") || begins("GIF89a") {
            self = .gif
        } else if begins([0x49, 0x49, 0x2A, 0]) || begins([0x4D, 0x4D, 0, 0x2A]) {
            self = .tiff
        } else if begins("BM") {
            self = .bmp
        } else if begins([0, 0, 1, 0]) || begins([0, 0, 2, 0]) {
            self = .ico
        } else if begins("RIFF") && begins("WEBP", at: 8) {
            self = .webp
        } else if begins("#define ") {
            self = .xbm
        } else {
            return nil
        }
    }
}

extension ImageType {
    /// Whether a file is complete. For some formats decoders fill in missing parts instead of failing.
    func isWhole(_ data: Data) -> Bool {
        switch self {
        case .jpeg: Self.endsWith([0xFF, 0xD9], data)
        case .png: Self.endsWith(Array("IEND".utf8), data)
        case .bmp: Self.isWholeBMP(data)
        case .gif, .tiff, .ico, .xbm, .webp: true
        }
    }

    /// Bytes that some programs append to a file are allowed.
    private static func endsWith(_ mark: [UInt8], _ data: Data) -> Bool {
        let tail = [UInt8](data.suffix(64 << 10))
        guard tail.count >= mark.count else { return false }
        return (0...tail.count - mark.count).reversed().contains { tail[$0...].starts(with: mark) }
    }

    /// The size of uncompressed rows can be computed.
    private static func isWholeBMP(_ data: Data) -> Bool {
        let head = [UInt8](data.prefix(34))
        func number(_ at: Int, _ count: Int) -> Int {
            head[at..<at + count].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        // The old header format has no compression.
        guard head.count == 34, number(14, 4) >= 40, number(30, 4) == 0 || number(30, 4) == 3 else { return true }
        let width = Int(Int32(truncatingIfNeeded: number(18, 4)))
        let height = Int(Int32(truncatingIfNeeded: number(22, 4)))
        let bytesPerRow = (abs(width) * number(28, 2) + 31) / 32 * 4
        return data.count - number(10, 4) >= bytesPerRow.multipliedReportingOverflow(by: abs(height)).partialValue
    }
}

/// Counts the frames of a GIF without decoding them.
enum GIFFrames {
    /// The number of complete frames, at most `limit + 1`.
    static func count(_ data: Data, limit: Int) -> Int {
        data.withUnsafeBytes { bytes in
            var reader = Reader(bytes: bytes)
            var count = 0
            reader.at = 10
            guard let flags = reader.next() else { return 0 }
            reader.at += 2 + colorTableSize(flags)
            while count <= limit, let kind = reader.next() {
                switch kind {
                case 0x21:
                    reader.at += 1
                    guard reader.skipBlocks() else { return count }
                case 0x2C:
                    reader.at += 8
                    guard let flags = reader.next() else { return count }
                    reader.at += colorTableSize(flags) + 1
                    guard reader.skipBlocks() else { return count }
                    count += 1
                default:
                    return count
                }
            }
            return count
        }
    }

    private static func colorTableSize(_ flags: UInt8) -> Int {
        flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 7) + 1)
    }

    private struct Reader {
        let bytes: UnsafeRawBufferPointer
        var at = 0

        mutating func next() -> UInt8? {
            guard at < bytes.count else { return nil }
            defer { at += 1 }
            return bytes[at]
        }

        /// Skips blocks with a size, up to the block of size 0.
        mutating func skipBlocks() -> Bool {
            while let size = next() {
                if size == 0 { return true }
                at += Int(size)
            }
            return false
        }
    }
}
