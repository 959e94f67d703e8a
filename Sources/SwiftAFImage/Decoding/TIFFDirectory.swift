internal import FoundationEssentials
internal import SwiftAF

/// What a TIFF says about the memory that libtiff takes for a tile or a strip, beside the size of the image: a tile may be
/// larger than that, and a pixel may have thousands of samples.
struct TIFFDirectory {
    private static let maximumSampleCount = 8
    /// Small images have tiles that are larger.
    private static let tileAllowance = 1 << 20

    private(set) var sampleCount = 1
    private(set) var tileWidth = 0
    private(set) var tileHeight = 0

    /// Nil if a value isn't a number as libtiff reads it.
    init?(_ data: Data) {
        let isValid = data.withUnsafeBytes { bytes in
            let isBigEndian = bytes.first == UInt8(ascii: "M")
            func number(_ at: Int, _ count: Int) -> Int? {
                guard at + count <= bytes.count else { return nil }
                let number = bytes[at..<at + count]
                return isBigEndian
                    ? number.reduce(0) { $0 << 8 | Int($1) } : number.reversed().reduce(0) { $0 << 8 | Int($1) }
            }
            guard let start = number(4, 4), let count = number(start, 2) else { return true }
            for at in stride(from: start + 2, to: start + 2 + 12 * count, by: 12) {
                guard let tag = number(at, 2), let type = number(at + 2, 2) else { break }
                guard [277, 322, 323].contains(tag) else { continue }
                // Bytes, and numbers of two and four bytes.
                guard let size = [1: 1, 3: 2, 4: 4][type], let value = number(at + 8, size) else { return false }
                switch tag {
                case 277: sampleCount = max(sampleCount, value)
                case 322: tileWidth = max(tileWidth, value)
                default: tileHeight = max(tileHeight, value)
                }
            }
            return true
        }
        guard isValid else { return nil }
    }

    func check(_ options: ImageDecodingOptions) throws(SessionError) {
        guard sampleCount <= Self.maximumSampleCount else {
            throw SessionError(
                .tooLarge, message: "the image has more than \(Self.maximumSampleCount) samples per pixel")
        }
        guard tileHeight <= max(Self.tileAllowance, options.maximumPixelCount) / max(1, tileWidth) else {
            throw SessionError(.tooLarge, message: "the tiles of the image have too many pixels")
        }
    }
}
