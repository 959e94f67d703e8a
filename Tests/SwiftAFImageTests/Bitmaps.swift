import FoundationEssentials
import Testing

/// Bitmaps of Windows and OS/2, of 6 × 5 pixels, whose last bytes are pixels.
enum Bitmaps {
    struct File: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let data: Data
    }

    static let all = [
        File(testDescription: "BMP", data: bmp(bits: 24)),
        File(testDescription: "BMP of OS/2", data: core),
        File(
            testDescription: "runs of bytes",
            data: bmp(bits: 8, compression: 1, runs([6, 7], [0, 6, 1, 2, 3, 4, 5, 6]))),
        File(
            testDescription: "runs of half bytes",
            data: bmp(bits: 4, compression: 2, runs([6, 0x12], [0, 6, 1, 2, 3, 0]))),
        File(
            testDescription: "runs up to the mark of the end",
            data: bmp(bits: 8, compression: 1, runs([6, 7], [0, 1]))),
        File(testDescription: "ICO of 32 bits", data: ico(bits: 32)),
        File(testDescription: "ICO of 24 bits with a mask", data: ico(bits: 24)),
        File(testDescription: "ICO of 8 bits with colours and a mask", data: ico(bits: 8)),
    ]

    private static let (width, height) = (6, 5)

    private static func number<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian, Array.init)
    }

    /// Five rows, the last two of which are the given ones, without the mark of the end.
    private static func runs(_ fourth: [UInt8], _ fifth: [UInt8]) -> [UInt8] {
        [6, 1, 0, 0, 2, 2, 0, 2, 4, 0, 0, 0, 6, 3, 0, 0] + fourth + [0, 0] + fifth
    }

    private static func pixels(bits: Int) -> [UInt8] {
        let bytesPerRow = (width * bits + 31) / 32 * 4
        return [UInt8](repeating: 1, count: bytesPerRow * height)
    }

    private static func header(bits: Int, height: Int, compression: UInt32 = 0) -> [UInt8] {
        number(UInt32(40)) + number(Int32(width)) + number(Int32(height)) + number(UInt16(1)) + number(UInt16(bits))
            + number(compression) + [UInt8](repeating: 0, count: 20)
    }

    private static func palette(bits: Int) -> [UInt8] {
        bits > 8 ? [] : [UInt8](repeating: 0x40, count: 4 << bits)
    }

    private static func bmp(bits: Int, compression: UInt32 = 0, _ content: [UInt8]? = nil) -> Data {
        let head = header(bits: bits, height: height, compression: compression) + palette(bits: bits)
        let content = content ?? pixels(bits: bits)
        let size = 14 + head.count
        return Data(
            Array("BM".utf8) + number(UInt32(size + content.count)) + number(UInt32(0)) + number(UInt32(size)) + head
                + content)
    }

    private static var core: Data {
        let head = number(UInt32(12)) + [width, height, 1, 24].flatMap { number(UInt16($0)) }
        let content = pixels(bits: 24)
        return Data(
            Array("BM".utf8) + number(UInt32(26 + content.count)) + number(UInt32(0)) + number(UInt32(26)) + head
                + content)
    }

    /// With two entries.
    private static func ico(bits: Int) -> Data {
        let mask = bits == 32 ? [] : [UInt8](repeating: 0, count: 4 * height)
        let image = header(bits: bits, height: height * 2) + palette(bits: bits) + pixels(bits: bits) + mask
        var file = number(UInt16(0)) + number(UInt16(1)) + number(UInt16(2))
        for entry in 0..<2 {
            file += [UInt8(width), UInt8(height), 0, 0] + number(UInt16(1)) + number(UInt16(bits))
            file += number(UInt32(image.count)) + number(UInt32(6 + 32 + entry * image.count))
        }
        return Data(file + image + image)
    }
}
