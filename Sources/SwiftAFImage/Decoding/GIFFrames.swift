internal import FoundationEssentials
internal import SwiftAF

/// The frames of a GIF: their sizes, durations and repetitions, read without decoding them.
///
/// Reads the file like gdk-pixbuf, faults included, so that the frames checked here are the ones that gdk-pixbuf
/// decodes.
struct GIFFrames {
    /// A frame, which may be larger than the image.
    struct Frame: Equatable {
        let width, height: Int
        /// The duration in the file, which may be zero.
        let duration: Duration
    }

    /// The complete frames. If there are more than the limit, one more than that is listed.
    private(set) var all: [Frame] = []
    /// The number of times that all frames are shown; nil means endlessly. The file's extension has the number of
    /// repetitions, where 0 means endless; without the extension there are none.
    private(set) var playCount: Int? = 1
    /// Whether the file has an extension that gdk-pixbuf reads in two ways, depending on the pieces that it gets.
    private(set) var isBroken = false
    /// The byte range of the first frame.
    private var first = 0..<0
    /// The number of data blocks of the first frame.
    private var firstBlockCount = 0

    /// - Parameter limit: The maximum number of frames. One more is read, to see whether it is exceeded.
    init(_ data: Data, limit: Int) {
        data.withUnsafeBytes { bytes in
            var reader = Reader(bytes)
            var duration = Duration.zero
            var saysPlayCount = false
            while all.count <= limit, let block = reader.nextBlock() {
                switch block {
                case .control(let shown):
                    duration = shown
                case .frame(let width, let height, let start, let blockCount):
                    all.append(Frame(width: width, height: height, duration: duration))
                    duration = .zero
                    if all.count == 1 { (first, firstBlockCount) = (start..<reader.at, blockCount) }
                case .application(let content):
                    guard !saysPlayCount, let repetitions = Self.repetitions(bytes[content]) else { continue }
                    saysPlayCount = true
                    playCount = repetitions == 0 ? nil : repetitions + 1
                case .other: break
                }
            }
            isBroken = reader.isBroken
        }
    }

    /// Checks the size of each frame, for which gdk-pixbuf reserves memory although nothing beyond the file's own size
    /// is shown, and the blocks of the first one, which it gets in large pieces.
    ///
    /// - Parameter sum: Whether all frames will be decoded, so that their sizes add up.
    func check(_ options: ImageDecodingOptions, sum: Bool) throws(SessionError) {
        // Encoders write blocks of 255 bytes, except the last one.
        let maximumBlockCount = Self.blockAllowance + first.count / Self.smallestBlock
        guard firstBlockCount <= maximumBlockCount else {
            throw SessionError(
                .tooLarge,
                message: """
                    the first frame has \(firstBlockCount) blocks of data: at most \(maximumBlockCount) are accepted \
                    for its \(first.count) bytes
                    """)
        }
        var count = 0
        for frame in all {
            _ = try options.decodedSize(ofWidth: frame.width, height: frame.height)
            count += frame.width * frame.height
            guard !sum || count <= options.maximumPixelCount else {
                throw SessionError(
                    .tooLarge,
                    message: """
                        the frames of the image have more than \(options.maximumPixelCount) pixels together \
                        (maximumPixelCount)
                        """)
            }
        }
    }

    private static let blockAllowance = 1000
    private static let smallestBlock = 64
    private static let smallPiece = 16 << 10
    private static let largePiece = 1 << 20

    /// Returns the end of the piece that begins at `start`, for a loader that is given the file in pieces.
    ///
    /// At the end of each piece, gdk-pixbuf decodes the received part of the first frame again, so pieces grow within
    /// that frame. Elsewhere they are small, because gdk-pixbuf moves the rest of a piece after each block of the file.
    func pieceEnd(from start: Int, in bytes: UnsafeRawBufferPointer) -> Int {
        var end = start + Self.smallPiece
        if first.contains(start) {
            end = max(end, min(start + min(start / 4, Self.largePiece), first.upperBound))
        }
        end = min(end, bytes.count)
        // gdk-pixbuf takes a block of size 0 as the end of an extension, but not at the start of a piece, so a piece
        // never begins with a zero. No valid extension has 256 zeros in a row.
        for _ in 0..<256 where end < bytes.count && bytes[end] == 0 { end += 1 }
        return end
    }

    /// Returns the number of repetitions in the extension for that (NETSCAPE2.0); nil for another extension.
    private static func repetitions(_ content: Slice<UnsafeRawBufferPointer>) -> Int? {
        let fields = Array(content.prefix(repetitionsName.count + 5))
        // The name is followed by a block of three bytes: 1, and the number.
        guard fields.count == repetitionsName.count + 5, fields.starts(with: repetitionsName),
            Array(fields.dropFirst(repetitionsName.count).prefix(2)) == [3, 1]
        else { return nil }
        return fields[(repetitionsName.count + 2)...].prefix(2).littleEndianInteger
    }

    private static let repetitionsName = [11] + Array("NETSCAPE2.0".utf8)

    private enum Block {
        case frame(width: Int, height: Int, start: Int, blockCount: Int)
        /// The duration of the next frame.
        case control(Duration)
        /// The byte range of its data blocks.
        case application(Range<Int>)
        case other
    }

    private struct Reader {
        let bytes: UnsafeRawBufferPointer
        var at = 0
        var isBroken = false

        init(_ bytes: UnsafeRawBufferPointer) {
            self.bytes = bytes
            at = 10
            guard let flags = next() else { return }
            at += 2 + Self.colorTableSize(flags)
        }

        /// Reads the next complete block; nil at the end of the file, and at the first incomplete block.
        mutating func nextBlock() -> Block? {
            // Other bytes between blocks are skipped.
            while let byte = next() {
                switch byte {
                case 0x21: return nextExtension()
                case 0x2C: return nextFrame()
                case 0x3B: return nil
                default: continue
                }
            }
            return nil
        }

        private mutating func nextFrame() -> Block? {
            let start = at
            at += 4
            guard let width = nextNumber(), let height = nextNumber(), let flags = next() else { return nil }
            at += Self.colorTableSize(flags) + 1
            guard let blockCount = skipBlocks() else { return nil }
            return .frame(width: width, height: height, start: start, blockCount: blockCount)
        }

        private mutating func nextExtension() -> Block? {
            guard let label = next() else { return nil }
            // If the label is 0, gdk-pixbuf reads it again when a piece ends within the extension.
            guard label != 0 else {
                isBroken = true
                return nil
            }
            let start = at
            var block = Block.other
            if label == 0xF9 || label == 0xFF {
                // The first block doesn't end the extension, even if its size is 0.
                guard let size = next(), at + Int(size) <= bytes.count else { return nil }
                if label == 0xF9, size >= 4 {
                    let centiseconds = bytes[(at + 1)...(at + 2)].littleEndianInteger
                    block = .control(.milliseconds(10 * centiseconds))
                }
                at += Int(size)
            }
            guard skipBlocks() != nil else { return nil }
            return label == 0xFF ? .application(start..<at) : block
        }

        private static func colorTableSize(_ flags: UInt8) -> Int {
            flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 7) + 1)
        }

        private mutating func next() -> UInt8? {
            guard at < bytes.count else { return nil }
            defer { at += 1 }
            return bytes[at]
        }

        private mutating func nextNumber() -> Int? {
            guard let low = next(), let high = next() else { return nil }
            return Int(low) | Int(high) << 8
        }

        /// Skips blocks with a size, up to the block of size 0.
        ///
        /// - Returns: The number of blocks; nil if the last one is missing.
        private mutating func skipBlocks() -> Int? {
            var count = 0
            while let size = next() {
                if size == 0 { return count }
                at += Int(size)
                count += 1
            }
            return nil
        }
    }
}
