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
        case .jpeg: data.withUnsafeBytes(Self.isWholeJPEG)
        case .png: data.withUnsafeBytes(Self.isWholePNG)
        case .bmp: Self.isWholeBMP(data)
        case .gif, .tiff, .ico, .xbm, .webp: true
        }
    }

    /// Whether the image's own end is there (EOI), not just that of a thumbnail in its segments. What some programs append
    /// to a file is allowed, however much it is.
    private static func isWholeJPEG(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var at = 2
        while true {
            // To the next marker: compressed data contains FF before 00 and before the markers that restart it (D0 to D7).
            while at < bytes.count, bytes[at] != 0xFF { at += 1 }
            while at < bytes.count, bytes[at] == 0xFF { at += 1 }
            guard at < bytes.count else { return false }
            let marker = bytes[at]
            at += 1
            switch marker {
            case 0x00, 0x01, 0xD0...0xD8: break
            case 0xD9: return true
            default:
                guard at + 2 <= bytes.count else { return false }
                // The size counts itself.
                at += max(2, Int(bytes[at]) << 8 | Int(bytes[at + 1]))
            }
        }
    }

    /// Whether the last chunk is there (IEND).
    private static func isWholePNG(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // Each chunk has a size, a name, content and a checksum.
        var at = 8
        while at + 8 <= bytes.count {
            if bytes[(at + 4)..<(at + 8)].elementsEqual("IEND".utf8) { return true }
            at += 12 + bytes[at..<(at + 4)].reduce(0) { $0 << 8 | Int($1) }
        }
        return false
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

/// What a GIF says about its frames, read without decoding them.
enum GIFFrames {
    /// The number of complete frames, at most `limit + 1`.
    static func count(_ data: Data, limit: Int) -> Int {
        data.withUnsafeBytes { bytes in
            var reader = Reader(bytes)
            var count = 0
            while count <= limit, let block = reader.nextBlock() {
                if case .frame = block { count += 1 }
            }
            return count
        }
    }

    /// How often all frames are shown; nil for without end. The extension counts repetitions, where 0 means without
    /// end; without it there are none.
    static func playCount(_ data: Data) -> Int? {
        data.withUnsafeBytes { bytes in
            var reader = Reader(bytes)
            while let block = reader.nextBlock() {
                guard case .application(let content) = block else { continue }
                let fields = Array(bytes[content].prefix(repetitions.count + 5))
                // The name, and a block of three bytes: 1, and a number.
                guard fields.count == repetitions.count + 5, fields.starts(with: repetitions),
                    Array(fields.dropFirst(repetitions.count).prefix(2)) == [3, 1]
                else { continue }
                let count = Int(fields[repetitions.count + 2]) | Int(fields[repetitions.count + 3]) << 8
                return count == 0 ? nil : count + 1
            }
            return 1
        }
    }

    private static let repetitions = [11] + Array("NETSCAPE2.0".utf8)

    private enum Block {
        case frame
        /// The place of its blocks of data.
        case application(Range<Int>)
        case other
    }

    private struct Reader {
        let bytes: UnsafeRawBufferPointer
        var at = 0

        init(_ bytes: UnsafeRawBufferPointer) {
            self.bytes = bytes
            at = 10
            guard let flags = next() else { return }
            at += 2 + Self.colorTableSize(flags)
        }

        /// The next complete block; nil at the end of the file, and at the first one that isn't complete or known.
        mutating func nextBlock() -> Block? {
            switch next() {
            case 0x21:
                let label = next()
                let start = at
                guard skipBlocks() else { return nil }
                return label == 0xFF ? .application(start..<at) : .other
            case 0x2C:
                at += 8
                guard let flags = next() else { return nil }
                at += Self.colorTableSize(flags) + 1
                return skipBlocks() ? .frame : nil
            default:
                return nil
            }
        }

        private static func colorTableSize(_ flags: UInt8) -> Int {
            flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 7) + 1)
        }

        private mutating func next() -> UInt8? {
            guard at < bytes.count else { return nil }
            defer { at += 1 }
            return bytes[at]
        }

        /// Skips blocks with a size, up to the block of size 0.
        private mutating func skipBlocks() -> Bool {
            while let size = next() {
                if size == 0 { return true }
                at += Int(size)
            }
            return false
        }
    }
}
