import FoundationEssentials
import SwiftAF
import SwiftAFImage
import Synchronization

/// Files and images for tests, made here byte for byte.
enum Pictures {
    /// An image whose pixels tell where they are.
    static func image(_ width: Int, _ height: Int, scale: Double = 1) -> Image {
        let made = Image(pixelWidth: width, pixelHeight: height, scale: scale) { pixels in
            for at in pixels.indices { pixels[at] = at % 4 == 3 ? 255 : UInt8(truncatingIfNeeded: at * 7) }
        }
        return made ?? image(1, 1)
    }

    /// A GIF of 1 × 1 pixels with so many frames, each shown for 20 ms; its head claims a size. It says how often it is
    /// repeated, where 0 means without end, or doesn't.
    static func gif(
        frames: Int, width: UInt16 = 1, height: UInt16 = 1, repetitions: UInt16? = nil, centiseconds: UInt8 = 2
    ) -> Data {
        var file = gifHead(width: width, height: height)
        if let repetitions {
            file.append(
                contentsOf: [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1] + littleEndian(repetitions) + [0])
        }
        for _ in 0..<frames {
            file.append(contentsOf: [0x21, 0xF9, 4, 0, centiseconds, 0, 0, 0])
            file.append(gifFrame())
        }
        file.append(0x3B)
        return file
    }

    /// The begin of a GIF with two colours.
    static func gifHead(width: UInt16 = 1, height: UInt16 = 1) -> Data {
        Data("GIF89a".utf8)
            + Data(littleEndian(width) + littleEndian(height) + [0x80, 0, 0, 0, 0, 0, 255, 255, 255])
    }

    /// A frame that claims a size, with one pixel, and extra bytes behind it that no decoder reads.
    static func gifFrame(width: UInt16 = 1, height: UInt16 = 1, extraBytes: Int = 0) -> Data {
        var frame = Data([0x2C, 0, 0, 0, 0] + littleEndian(width) + littleEndian(height) + [0, 2, 2, 0x4C, 1])
        frame.append(blocks(of: extraBytes))
        frame.append(0)
        return frame
    }

    /// So many bytes in blocks of a GIF, none of which is the last.
    static func blocks(of count: Int) -> Data {
        var blocks = Data()
        for at in stride(from: 0, to: count, by: 255) {
            let size = min(255, count - at)
            blocks.append(UInt8(size))
            blocks.append(Data(repeating: 1, count: size))
        }
        return blocks
    }

    /// A BMP of 24 bits whose head claims a size, with so many bytes behind it.
    static func bmp(width: Int32, height: Int32, bytes: Int) -> Data {
        var file = Data("BM".utf8)
        file.append(contentsOf: littleEndian(UInt32(54 + bytes)) + [0, 0, 0, 0] + littleEndian(UInt32(54)))
        file.append(contentsOf: littleEndian(UInt32(40)) + littleEndian(width) + littleEndian(height))
        file.append(contentsOf: [1, 0, 24, 0] + [UInt8](repeating: 0, count: 24))
        file.append(Data(repeating: 0x40, count: bytes))
        return file
    }

    /// The head of a PNG that claims a size, checksum and all, and the begin of its pixels.
    static func pngHead(width: UInt32, height: UInt32) -> Data {
        let header =
            Array("IHDR".utf8) + bigEndian(width) + bigEndian(height) + [8, 6, 0, 0, 0]
        var file = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13])
        file.append(contentsOf: header + bigEndian(checksum(header)))
        file.append(contentsOf: [0, 0, 0x10, 0] + Array("IDAT".utf8) + [0x78, 0x9C, 0, 0])
        return file
    }

    typealias Chunk = (name: String, content: [UInt8])

    /// A PNG, one pixel wide, with chunks before its head, before its pixels, and behind them. It may have fewer rows than
    /// its head says.
    static func png(
        first: [Chunk] = [], before: [Chunk] = [], behind: [Chunk] = [], height: UInt32 = 1, rows: Int = 1
    ) -> Data {
        var file = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        let header = bigEndian(UInt32(1)) + bigEndian(height) + [8, 2, 0, 0, 0]
        let pixels = ("IDAT", stored(Array(repeatElement([0, 1, 2, 3], count: rows).joined())))
        for (name, content) in first + [("IHDR", header)] + before + [pixels] + behind + [("IEND", [])] {
            let chunk = Array(name.utf8) + content
            file.append(contentsOf: bigEndian(UInt32(content.count)) + chunk + bigEndian(checksum(chunk)))
        }
        return file
    }

    /// Content for `zlib`, of less than 64 KiB, that isn't compressed.
    static func stored(_ content: [UInt8]) -> [UInt8] {
        var (low, high) = (UInt32(1), UInt32(0))
        for byte in content {
            low = (low + UInt32(byte)) % 65521
            high = (high + low) % 65521
        }
        let size = UInt16(content.count)
        return [0x78, 1, 1] + littleEndian(size) + littleEndian(~size) + content + bigEndian(high << 16 | low)
    }

    /// A progressive JPEG of 8 × 8 grey pixels with so many scans.
    static func jpeg(scans: Int) -> Data {
        func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
            [0xFF, marker] + bigEndian(UInt16(content.count + 2)) + content
        }
        let counts: [UInt8] = [1] + [UInt8](repeating: 0, count: 15)
        var file: [UInt8] = [0xFF, 0xD8] + segment(0xDB, [0] + [UInt8](repeating: 1, count: 64))
        file += segment(0xC2, [8, 0, 8, 0, 8, 1, 1, 0x11, 0])
        // One code each: no difference, end of the block.
        file += segment(0xC4, [0x00] + counts + [0]) + segment(0xC4, [0x10] + counts + [0])
        for scan in 0..<scans {
            // The first pixel, then the others one by one, as often as it takes.
            let at = scan == 0 ? 0 : UInt8((scan - 1) % 63 + 1)
            file += segment(0xDA, [1, 1, 0, at, at, 0]) + [0x7F]
        }
        return Data(file + [0xFF, 0xD9])
    }

    /// A grey TIFF of 1 × 1 pixels, with more numbers in its directory, and entries that all have the same bytes, behind it.
    ///
    /// - Parameters:
    ///   - offset: Where in a file it will be.
    ///   - next: The place of another directory.
    static func tiff(
        isBigEndian: Bool = false, _ more: [(tag: UInt16, type: UInt16, value: UInt32)] = [],
        sharing: [(tag: UInt16, type: UInt16, count: UInt32)] = [], _ shared: [UInt8] = [], offset: UInt32 = 0,
        next: UInt32 = 0
    ) -> Data {
        func number<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
            isBigEndian ? bigEndian(number) : littleEndian(number)
        }
        let usual: [(tag: UInt16, type: UInt16, value: UInt32)] = [
            (256, 3, 1), (257, 3, 1), (258, 3, 8), (259, 3, 1), (262, 3, 1), (273, 4, 8), (278, 3, 1), (279, 4, 1),
        ]
        let place = offset + UInt32(18 + 12 * (usual.count + more.count + sharing.count))
        let entries =
            ((usual + more).map { (tag: $0.tag, type: $0.type, count: UInt32(1), value: $0.value) }
            + sharing.map { (tag: $0.tag, type: $0.type, count: $0.count, value: place) }).sorted { $0.tag < $1.tag }
        var file: [UInt8] = (isBigEndian ? [0x4D, 0x4D] : [0x49, 0x49]) + number(UInt16(42)) + number(UInt32(12))
        file += [128, 0, 0, 0] + number(UInt16(entries.count))
        for (tag, type, count, value) in entries {
            file += number(tag) + number(type) + number(count)
            switch type {
            case _ where count > 1: file += number(value)
            case 1: file += [UInt8(truncatingIfNeeded: value), 0, 0, 0]
            case 3: file += number(UInt16(truncatingIfNeeded: value)) + [0, 0]
            default: file += number(value)
            }
        }
        return Data(file + number(next) + shared)
    }

    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var sum = ~UInt32(0)
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 0 ? sum >> 1 : sum >> 1 ^ 0xEDB8_8320 }
        }
        return ~sum
    }

    private static func littleEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian, Array.init)
    }

    private static func bigEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian, Array.init)
    }
}

/// Decodes `WIDTHxHEIGHT`, so that everything but decoding is tested without a library.
struct TextDecoder: ImageDecoding {
    func decode(_ data: Data, options: ImageDecodingOptions) throws -> Image {
        let numbers = String(decoding: data, as: UTF8.self).split(separator: "x").compactMap { Int($0) }
        guard numbers.count == 2,
            let image = Image(pixelWidth: numbers[0], pixelHeight: numbers[1], scale: options.scale, fill: { _ in })
        else { throw SessionError(.serialization, message: "no text of a size") }
        return image
    }
}

/// The code of the error that `body` throws; nil if it throws none.
func code<Value>(_ body: () throws -> Value) -> SessionError.Code? {
    do {
        _ = try body()
        return nil
    } catch {
        return (error as? SessionError)?.code ?? .unknown
    }
}

func code<Value>(_ body: () async throws -> Value) async -> SessionError.Code? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? SessionError)?.code ?? .unknown
    }
}
