import FoundationEssentials
import SwiftAF
import SwiftAFImage
import Testing

/// The decoder's door: files of every type, broken. What comes out is an image within the limits or an error.
///
/// `AF_FUZZ_ROUNDS` sets the number of files made of the seeds of each type, `AF_FUZZ_START` makes them others.
@Suite(.enabled(if: SystemImageDecoder.isAvailable))
struct ImageFuzzTests {
    private static let limits = {
        var options = ImageDecodingOptions()
        options.maximumPixelCount = 4096
        options.maximumDimension = 200
        options.maximumFrameCount = 20
        return options
    }()

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    @Test(arguments: ["png", "jpeg", "gif", "bmp", "ico", "tiff", "webp"])
    func decodesMutatedImageFilesOrFails(type: String) throws {
        let start = UInt64(Self.number("AF_FUZZ_START") ?? 7)
        var mutator = Mutator(seeds: [try Self.seed(type)], fragments: Self.fragments, start: start)
        var count = 0
        try mutator.run(Self.number("AF_FUZZ_ROUNDS") ?? 300) { bytes in
            count += try check(Data(bytes), pieces: 1 + count % 40) ? 1 : 0
        }
        // The seeds are files that can be read, where there is a reader for them; so this looks behind the door.
        #expect(count > 0 || type == "webp")
    }

    /// Whether there was an image.
    private func check(_ file: Data, pieces size: Int) throws -> Bool {
        let decoder = SystemImageDecoder()
        var isImage = false
        try expectErrorOfOurs {
            let image = try decoder.decode(file, options: Self.limits)
            isImage = true
            #expect(isWithinLimits(image))
        }
        try expectErrorOfOurs {
            let frames = try decoder.decodeFrames(file, options: Self.limits)
            #expect((1...Self.limits.maximumFrameCount).contains(frames.count))
            #expect(frames.reduce(0) { $0 + $1.image.byteCount } <= Self.limits.maximumPixelCount * 4)
        }
        try expectErrorOfOurs {
            guard let animation = try decoder.decodeAnimation(file, options: Self.limits) else { return }
            #expect((1...Self.limits.maximumFrameCount).contains(animation.frames.count))
            #expect(animation.byteCount <= Self.limits.maximumPixelCount * 4)
        }
        try expectErrorOfOurs {
            var smaller = Self.limits
            smaller.maximumPixelSize = 3
            let image = try decoder.decode(file, options: smaller)
            #expect(max(image.pixelWidth, image.pixelHeight) <= 3)
        }
        let partial = try #require(decoder.makeProgressiveDecoder(options: Self.limits))
        try expectErrorOfOurs {
            for at in stride(from: 0, to: file.count, by: size) {
                try partial.append(file.subdata(in: at..<min(file.count, at + size)))
                if let image = try partial.image() { #expect(isWithinLimits(image)) }
            }
        }
        return isImage
    }

    private func isWithinLimits(_ image: Image) -> Bool {
        image.pixelWidth * image.pixelHeight <= Self.limits.maximumPixelCount
            && max(image.pixelWidth, image.pixelHeight) <= Self.limits.maximumDimension
            && image.withPixels { $0.count } == image.byteCount
    }

    private func expectErrorOfOurs(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as SessionError {
            #expect([.serialization, .tooLarge, .unsupported].contains(error.code))
        }
    }

    // MARK: Seeds

    /// Sizes, counts and marks that mean something in these formats.
    private static let fragments: [[UInt8]] = [
        [0, 0], [0xFF, 0xFF], [0xFF, 0xFF, 0xFF, 0xFF], [0x7F, 0xFF, 0xFF, 0xFF], [0x80, 0, 0, 0], [0, 0, 0, 1],
        [0xFF, 0xD9], [0xFF, 0xC2], [0xFF, 0xDA], Array("IDAT".utf8), Array("IEND".utf8), [0x2C], [0x3B],
        [0x21, 0xF9, 4],
    ]

    private static func seed(_ type: String) throws -> [UInt8] {
        guard let picture = Image(pixelWidth: 12, pixelHeight: 10, fill: fill) else { return [] }
        return switch type {
        case "png": Array(try picture.data(as: .png))
        case "jpeg": Array(try picture.data(as: .jpeg(quality: 80)))
        case "gif": gif
        case "bmp": bmp
        case "ico": ico
        case "tiff": tiff
        default: Array(Data(base64Encoded: "UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAwA0JaQAA3AA/vuUAAA=") ?? Data())
        }
    }

    private static func fill(_ pixels: UnsafeMutableRawBufferPointer) {
        for at in pixels.indices { pixels[at] = UInt8(truncatingIfNeeded: at * 37) }
    }

    /// Two frames of 1 × 1 pixels.
    private static let gif: [UInt8] = {
        let frame: [UInt8] = [0x21, 0xF9, 4, 0, 2, 0, 0, 0, 0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x4C, 1, 0]
        return Array("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0, 0, 0, 0, 255, 255, 255] + frame + frame + [0x3B]
    }()

    /// 4 × 2 pixels of 24 bits.
    private static let bmp: [UInt8] =
        Array("BM".utf8) + [78, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0] + [40, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 1, 0, 24, 0]
        + [UInt8](repeating: 0, count: 24) + [UInt8](repeating: 0x40, count: 24)

    /// One icon of 4 × 2 pixels of 32 bits, with its mask.
    private static let ico: [UInt8] =
        [0, 0, 1, 0, 1, 0] + [4, 2, 0, 0, 1, 0, 32, 0, 80, 0, 0, 0, 22, 0, 0, 0]
        + [40, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 1, 0, 32, 0] + [UInt8](repeating: 0, count: 24)
        + [UInt8](repeating: 0x80, count: 32) + [UInt8](repeating: 0, count: 8)

    /// 2 × 2 grey pixels in one strip.
    private static let tiff: [UInt8] = {
        func entry(_ tag: UInt8, _ type: UInt8, _ value: UInt8) -> [UInt8] {
            [tag, 1, type, 0, 1, 0, 0, 0, value, 0, 0, 0]
        }
        let entries =
            entry(0x00, 3, 2) + entry(0x01, 3, 2) + entry(0x02, 3, 8) + entry(0x03, 3, 1) + entry(0x06, 3, 1)
            + entry(0x11, 4, 8) + entry(0x15, 3, 1) + entry(0x16, 3, 2) + entry(0x17, 4, 4)
        return [0x49, 0x49, 42, 0, 12, 0, 0, 0, 10, 80, 160, 240, 9, 0] + entries + [0, 0, 0, 0]
    }()
}
