internal import FoundationEssentials
internal import SwiftAF

/// The size and the number of frames of a WebP, read without decoding it.
///
/// Needed because gdk-pixbuf's loader allocates the memory for an image before it can be refused, and decodes all
/// frames of an animation at once.
struct WebPFrames {
    let width, height: Int
    /// The number of frames, at most one more than the limit.
    let count: Int

    private static let frame = Array("ANMF".utf8)

    /// Reads the head; nil if the size isn't in the expected place.
    ///
    /// - Parameter limit: The maximum number of frames. One more is counted, to see whether it is exceeded.
    init?(_ data: Data, limit: Int) {
        var head = [UInt8](data.prefix(30))
        head += [UInt8](repeating: 0, count: 30 - head.count)
        func number(_ at: Int, _ count: Int) -> Int {
            head[at..<at + count].littleEndianInteger
        }
        switch String(decoding: head[12..<16], as: UTF8.self) {
        case "VP8X": (width, height) = (number(24, 3) + 1, number(27, 3) + 1)
        case "VP8L": (width, height) = (number(21, 4) & 0x3FFF + 1, number(21, 4) >> 14 & 0x3FFF + 1)
        case "VP8 ": (width, height) = (number(26, 2) & 0x3FFF, number(28, 2) & 0x3FFF)
        default: return nil
        }
        // Counts the name anywhere in the file, because libwebp also finds frames within other chunks.
        count = data.withUnsafeBytes { bytes in
            var count = 0
            for at in bytes.indices.dropLast(3) where count <= limit && bytes[at] == Self.frame[0] {
                if bytes[at..<at + 4].elementsEqual(Self.frame) { count += 1 }
            }
            return count
        }
    }

    func check(_ options: ImageDecodingOptions) throws(SessionError) {
        guard count <= options.maximumFrameCount else { throw options.tooManyFrames }
        _ = try options.decodedSize(ofWidth: width, height: height, frames: count)
    }
}
