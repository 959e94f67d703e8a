import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFImage

@Suite(.enabled(if: !SystemImageDecoder.isAvailable))
struct UnavailableDecoderTests {
    @Test func decodingAndEncodingFailAsUnsupported() {
        #expect(
            code {
                try SystemImageDecoder().decode(Pictures.gif(frames: 1), options: ImageDecodingOptions())
            } == .unsupported)
        #expect(
            code {
                try SystemImageDecoder().decodeFrames(Pictures.gif(frames: 1), options: ImageDecodingOptions())
            } == .unsupported)
        #expect(code { try Pictures.image(1, 1).data(as: .png) } == .unsupported)
    }
}

@Suite(.enabled(if: SystemImageDecoder.isAvailable))
struct SystemImageDecoderTests {
    private let decoder = SystemImageDecoder()

    private func decode(_ data: Data, _ change: (inout ImageDecodingOptions) -> Void = { _ in }) throws -> Image {
        var options = ImageDecodingOptions()
        change(&options)
        return try decoder.decode(data, options: options)
    }

    /// The code of the error that decoding ends with, nil without one.
    private func failure(
        _ data: Data, _ change: (inout ImageDecodingOptions) -> Void = { _ in }
    ) -> SessionError.Code? {
        do {
            _ = try decode(data, change)
            return nil
        } catch {
            return (error as? SessionError)?.code
        }
    }

    @Test func pngRoundTripKeepsPixels() throws {
        let image = Pictures.image(37, 11)
        let file = try image.data(as: .png)
        #expect(ImageType(sniffing: file) == .png)
        #expect(try decode(file) == image)
        #expect(try decode(file) { $0.scale = 2 }.size == (18.5, 5.5))
    }

    @Test func jpegRoundTripKeepsSize() throws {
        let file = try Pictures.image(64, 40).data(as: .jpeg(quality: 90))
        let image = try decode(file)
        #expect((image.pixelWidth, image.pixelHeight, image.hasAlpha) == (64, 40, false))
        #expect(try Pictures.image(64, 40).data(as: .jpeg(quality: -5)).count < file.count)
        #expect(image.withPixels { pixels in (0..<pixels.count / 4).allSatisfy { pixels[$0 * 4 + 3] == 255 } })
    }

    @Test func decodesBMPAndGIF() throws {
        let bmp = try decode(Pictures.bmp(width: 4, height: 2, bytes: 24))
        #expect((bmp.pixelWidth, bmp.pixelHeight) == (4, 2))
        #expect(bmp.withPixels { Array($0.prefix(4)) } == [0x40, 0x40, 0x40, 255])
        #expect(try decode(Pictures.gif(frames: 3)).pixelWidth == 1)
    }

    @Test func sniffsTypeFromContent() {
        #expect(ImageType(sniffing: Data("GIF89a".utf8)) == .gif)
        #expect(ImageType(sniffing: Data([0xFF, 0xD8, 0xFF])) == .jpeg)
        #expect(ImageType(sniffing: Data([0x4D, 0x4D, 0, 0x2A])) == .tiff)
        #expect(ImageType(sniffing: Data([0, 0, 1, 0])) == .ico)
        #expect(ImageType(sniffing: Data("RIFF____WEBP".utf8)) == .webp)
        #expect(ImageType(sniffing: Data("RIFF____WAVE".utf8)) == nil)
        // X bitmaps can't be checked before memory is taken for them.
        #expect(ImageType(sniffing: Data("#define a_width 1".utf8)) == nil)
        // Formats that can fetch or execute what is in them are none of ours.
        #expect(ImageType(sniffing: Data("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8)) == nil)
        #expect(ImageType(sniffing: Data()) == nil)
        #expect(failure(Data("<svg/>".utf8)) == .serialization)
    }

    @Test func downsamplesLargeImagesWhileDecoding() throws {
        for format in [Image.FileFormat.png, .jpeg(quality: 90)] {
            let file = try Pictures.image(400, 100).data(as: format)
            let image = try decode(file) { $0.maximumPixelSize = 40 }
            #expect((image.pixelWidth, image.pixelHeight) == (40, 10))
        }
    }

    @Test func appliesOrientationFromExif() throws {
        var file = try Pictures.image(30, 10).data(as: .jpeg(quality: 90))
        // An Exif segment that says: turned by a quarter.
        let exif: [UInt8] =
            [0xFF, 0xE1, 0, 34] + Array("Exif".utf8) + [0, 0] + Array("MM".utf8) + [0, 42, 0, 0, 0, 8, 0, 1]
            + [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0] + [0, 0, 0, 0]
        file.insert(contentsOf: exif, at: file.startIndex + 2)
        let image = try decode(file)
        #expect((image.pixelWidth, image.pixelHeight) == (10, 30))
    }

    @Test func decodesAllFramesWithDurations() throws {
        let frames = try decoder.decodeFrames(Pictures.gif(frames: 3), options: ImageDecodingOptions())
        #expect(frames.count == 3)
        #expect(frames.allSatisfy { $0.duration == .milliseconds(20) && $0.image.pixelWidth == 1 })
        let still = try decoder.decodeFrames(
            try Pictures.image(2, 2).data(as: .png), options: ImageDecodingOptions())
        #expect(still.count == 1 && still[0].duration == .zero)
        #expect(GIFFrames(Pictures.gif(frames: 3), limit: 100).all.count == 3)
        #expect(GIFFrames(Pictures.gif(frames: 300), limit: 100).all.count == 101)
    }

    @Test(arguments: [0, 1, 2, 255])
    func keepsFrameDurationsOfFile(centiseconds: UInt8) throws {
        let file = Pictures.gif(frames: 3, repetitions: 0, centiseconds: centiseconds)
        let frames = try decoder.decodeFrames(file, options: ImageDecodingOptions())
        #expect(frames.map(\.duration) == Array(repeating: .milliseconds(10 * Int(centiseconds)), count: 3))
    }

    @Test(arguments: [(nil, 1), (0, nil), (1, 2), (65_535, 65_536)] as [(UInt16?, Int?)])
    func readsPlayCountOfGIF(repetitions: UInt16?, plays: Int?) throws {
        let file = Pictures.gif(frames: 2, repetitions: repetitions)
        let animation = try #require(try decoder.decodeAnimation(file, options: ImageDecodingOptions()))
        #expect(animation.playCount == plays)
        #expect(animation.frames.count == 2)
        // Cut off anywhere, it says nothing about it, or the same.
        for size in 0..<file.count { #expect([1, plays].contains(GIFFrames(file.prefix(size), limit: 9).playCount)) }
    }

    @Test func singleFrameFileHasNoAnimation() throws {
        for file in [Pictures.gif(frames: 1), Pictures.gif(frames: 0), try Pictures.image(2, 2).data(as: .png)] {
            #expect(try decoder.decodeAnimation(file, options: ImageDecodingOptions()) == nil)
        }
    }

    @Test func serializerDecodesAnimationWithinItsPixelLimit() throws {
        let file = Pictures.gif(frames: 3, width: 10, height: 10)
        let response = HTTPResponse(status: 200, headers: ["Content-Type": "image/gif"])
        for (limit, frames) in [(300, 3), (299, nil), (0, nil)] {
            let serializer = ImageResponseSerializer(maximumAnimationPixelCount: limit)
            let image = try serializer.serialize(response, body: file)
            #expect(image.pixelWidth == 10)
            #expect(image.animation?.frames.count == frames)
            #expect(image.cost == (frames ?? 1) * 400)
        }
        var serializer = ImageResponseSerializer()
        serializer.options.maximumPixelCount = 299
        #expect(try serializer.serialize(response, body: file).animation == nil)
        #expect(throws: SessionError.self) { try serializer.serialize(response, body: file.prefix(40)) }
    }

    @Test func refusesSizeBeyondLimitsBeforeAllocating() {
        #expect(failure(Pictures.pngHead(width: 100_000, height: 100_000)) == .tooLarge)
        #expect(failure(Pictures.pngHead(width: 20_000, height: 20_000)) == .tooLarge)
        #expect(failure(Pictures.bmp(width: 30_000, height: 30_000, bytes: 100)) == .tooLarge)
        #expect(failure(Pictures.gif(frames: 1, width: 65_535, height: 65_535)) == .tooLarge)
        #expect(failure(Pictures.gif(frames: 1), { $0.maximumPixelCount = 0 }) == .tooLarge)
        // gdk-pixbuf would take 4 GB, and end the process where there isn't so much.
        let xbm = "#define a_width 32000\n#define a_height 1000000\nstatic char a_bits[] = {\n0x00"
        #expect(failure(Data(xbm.utf8)) == .serialization)
    }

    @Test func refusesFrameBeyondLimits() throws {
        let end = Data([0x3B])
        let huge = Pictures.gifFrame(width: 23_000, height: 23_000)
        for frames in [huge, Pictures.gifFrame() + huge, Data([0, 7]) + huge] {
            #expect(failure(Pictures.gifHead() + frames + end) == .tooLarge)
        }
        // The first block of this extension doesn't end it, so what looks like a frame is its second one.
        let hidden = Data([0x21, 0xF9, 0]) + Pictures.gifFrame() + Data(count: 0x2C - 14) + Data([0])
        #expect(failure(Pictures.gifHead() + hidden + huge + end) == .tooLarge)
        // A little larger than the image is common.
        let larger = Pictures.gifHead() + Pictures.gifFrame(width: 2, height: 1) + Pictures.gifFrame(height: 2) + end
        #expect(try decode(larger).pixelWidth == 1)
        #expect(failure(larger) { $0.maximumPixelCount = 1 } == .tooLarge)
        var options = ImageDecodingOptions()
        options.maximumPixelCount = 3
        #expect(code { try decoder.decodeFrames(larger, options: options) } == .tooLarge)
        #expect(try decoder.decode(larger, options: options).pixelWidth == 1)
        options.maximumPixelCount = 4
        #expect(try decoder.decodeFrames(larger, options: options).count == 2)
    }

    private static let texts: [Pictures.Chunk] = [
        ("tEXt", Array("Title\0a".utf8)), ("zTXt", Array("Title\0\0".utf8) + Pictures.stored([65])),
        ("iTXt", Array("XML:com.adobe.xmp\0\u{1}\0\0\0".utf8) + Pictures.stored([65])),
    ]

    /// What gets to the decoder of a PNG.
    private func passed(_ file: Data, pieces size: Int) -> Data {
        var chunks = PNGChunks()
        var passed: [UInt8] = []
        for at in stride(from: 0, to: file.count, by: size) {
            let piece = file.subdata(in: at..<min(file.count, at + size))
            passed += piece.withUnsafeBytes { chunks.filter($0) }
        }
        return Data(passed)
    }

    @Test func removesTextChunksFromPNG() throws {
        let profile = ("iCCP", Array("sRGB\0\0".utf8) + Pictures.stored([UInt8](repeating: 0, count: 200)))
        let kept = [("gAMA", [0, 0, 0xB1, 0x8F] as [UInt8]), profile, ("pHYs", [0, 0, 1, 0, 0, 0, 1, 0, 1])]
        let file = Pictures.png(
            before: Self.texts + kept + Array(repeating: profile, count: 3), behind: Self.texts + [profile])
        let without = Pictures.png(before: kept)
        for size in [1, 2, 7, 8, 9, file.count] { #expect(passed(file, pieces: size) == without) }
        let image = try decode(file)
        #expect(image.withPixels { Array($0) } == [1, 2, 3, 255])
        #expect(try decode(without) == image)
        // The decoder refuses text before the head, if it gets it.
        for text in Self.texts { #expect(try decode(Pictures.png(first: [text])) == image) }
        #expect(failure(Pictures.png(first: [("pHYs", [0, 0, 1, 0, 0, 0, 1, 0, 1])])) == .serialization)
        #expect(failure(Data(file.prefix(60))) == .serialization)
    }

    @Test func passesOnlyKnownPNGChunksToDecoder() throws {
        let largest = PNGChunks.maximumSize
        let gamma: Pictures.Chunk = ("gAMA", [0, 0, 0xB1, 0x8F])
        let leftOut: [Pictures.Chunk] = [
            ("teSt", [UInt8](repeating: 65, count: 1 << 20)), ("tIME", [7, 0xD0, 1, 1, 0, 0, 0]), ("sPLT", [65, 0, 8]),
            ("acTL", [0, 0, 0, 1, 0, 0, 0, 0]), ("fdAT", [0, 0, 0, 1, 1]), ("IDaT", [1]),
        ]
        let file = Pictures.png(
            first: leftOut, before: leftOut + [gamma] + leftOut + [gamma],
            behind: leftOut + [("eXIf", [UInt8](repeating: 0, count: largest + 1)), gamma])
        let without = Pictures.png(before: [gamma])
        for size in [7, 16 << 10, file.count] { #expect(passed(file, pieces: size) == without) }
        #expect(try decode(file) == decode(without))
        // As large as it may be, and pixels of any size and number.
        let profile: Pictures.Chunk = ("iCCP", [UInt8](repeating: 65, count: largest))
        let more = Pictures.png(
            before: [profile], behind: [("IDAT", [UInt8](repeating: 0, count: largest + 1)), ("IDAT", [])])
        #expect(passed(more, pieces: 1000) == more)
    }

    @Test func feedsEachJPEGScanInSeparatePiece() {
        let file = Pictures.jpeg(scans: 40)
        let isScan = { (at: Int) in file[at..<at + 2] == Data([0xFF, 0xDA]) }
        let places = file.indices.dropLast().filter(isScan).map { $0 + 2 }
        #expect(places.count == 40)
        var markers = JPEGMarkers()
        let scans = file.withUnsafeBytes { markers.read($0) }
        #expect(scans == places)
        var (ends, at) = ([Int](), 0)
        while at < file.count {
            at = JPEGMarkers.pieceEnd(from: at, scans: scans, limit: file.count)
            ends.append(at)
        }
        #expect(ends == places + [file.count])
        #expect(JPEGMarkers.pieceEnd(from: 0, scans: scans, limit: 5) == 5)
        // Places are those in the bytes at hand.
        var later = JPEGMarkers()
        #expect(file.prefix(places[0] - 1).withUnsafeBytes { later.read($0) }.isEmpty)
        let rest = file.dropFirst(places[0] - 1)
        #expect(rest.withUnsafeBytes { later.read($0) } == places.map { $0 - places[0] + 1 })
    }

    @Test func refusesJPEGWithTooManyScans() throws {
        #expect(try decode(Pictures.jpeg(scans: 1)).pixelWidth == 8)
        #expect(failure(Pictures.jpeg(scans: 100)) == nil)
        #expect(failure(Pictures.jpeg(scans: 101)) == .tooLarge)
        #expect(
            code {
                try decoder.decodeFrames(Pictures.jpeg(scans: 101), options: ImageDecodingOptions())
            } == .tooLarge)
        // What is behind the end isn't decoded.
        #expect(failure(Pictures.jpeg(scans: 60) + Pictures.jpeg(scans: 60)) == nil)
    }

    @Test func refusesTIFFThatNeedsTooMuchMemory() throws {
        for isBigEndian in [false, true] {
            func tiff(_ more: [(tag: UInt16, type: UInt16, value: UInt32)]) -> Data {
                Pictures.tiff(isBigEndian: isBigEndian, more)
            }
            #expect(try decode(tiff([(277, 3, 1)])).withPixels { Array($0) } == [128, 128, 128, 255])
            #expect(failure(tiff([])) == nil)
            for type: UInt16 in [1, 3, 4] { #expect(failure(tiff([(277, type, 9)])) == .tooLarge) }
            // libtiff takes the first of several.
            #expect(failure(tiff([(277, 3, 60_000), (277, 3, 1)])) == .tooLarge)
            #expect(failure(tiff([(277, 16, 8)])) == .serialization)
            #expect(failure(tiff([(322, 4, 16_000), (323, 4, 16_000)])) == .tooLarge)
            #expect(failure(tiff([(322, 4, .max), (323, 4, .max)])) == .tooLarge)
        }
        let tiled = try #require(TIFFDirectory(Pictures.tiff([(322, 3, 1024), (323, 3, 1024)])))
        #expect(throws: Never.self) { try tiled.check(ImageDecodingOptions()) }
        #expect(failure(Pictures.tiff([(256, 4, 40_000)])) == .tooLarge)
        // The product of such sides is too large for an integer.
        let huge = Pictures.tiff([(256, 4, .max), (257, 4, .max)])
        #expect(
            failure(huge) {
                $0.maximumDimension = .max
                $0.maximumPixelCount = .max
            } == .tooLarge)
        for size in 0..<Pictures.tiff().count { _ = TIFFDirectory(Pictures.tiff().prefix(size)) }
    }

    /// The message of the error about a TIFF, or nil.
    private func complaint(_ file: Data) throws -> String? {
        let directory = try #require(TIFFDirectory(file))
        do {
            try directory.check(ImageDecodingOptions())
            return nil
        } catch {
            #expect(error.code == .tooLarge)
            return error.message
        }
    }

    @Test(arguments: [false, true])
    func refusesTIFFValuesLargerThanFile(isBigEndian: Bool) throws {
        func tiff(_ sharing: [(tag: UInt16, type: UInt16, count: UInt32)]) -> Data {
            Pictures.tiff(isBigEndian: isBigEndian, sharing: sharing, [UInt8](repeating: 65, count: 1000))
        }
        let types: [(UInt16, UInt32)] = [(1, 1000), (2, 1000), (7, 1000), (3, 500), (4, 250), (5, 125), (12, 125)]
        for (type, count) in types {
            #expect(failure(tiff([(65_000, type, count)])) == nil)
            let twice = tiff([(65_000, type, count), (65_001, type, count)])
            #expect(failure(twice) == .tooLarge)
            let expected = "the values of the image's directory are larger than the file of \(twice.count) bytes"
            #expect(try complaint(twice) == expected)
        }
        // Two resolutions may share their bytes. What is beyond the end of the file isn't read.
        #expect(failure(tiff([(282, 5, 1), (283, 5, 1)])) == nil)
        #expect(failure(tiff([(65_000, 1, 100_000), (65_001, 16, .max)])) == nil)
        #expect(failure(tiff((60_000..<61_000).map { (UInt16($0), 1, 1000) })) == .tooLarge)
        // libtiff reads the directory of a second image, too.
        let one = UInt32(Pictures.tiff().count)
        let first = Pictures.tiff(isBigEndian: isBigEndian, next: one + 12)
        for (count, expected) in [(1, nil), (100, .tooLarge)] as [(UInt16, SessionError.Code?)] {
            let entries: [(tag: UInt16, type: UInt16, count: UInt32)] = (0..<count).map { (60_000 + $0, 1, 1000) }
            let shared = [UInt8](repeating: 65, count: 1000)
            let second = Pictures.tiff(isBigEndian: isBigEndian, sharing: entries, shared, offset: one)
            #expect(failure(first + second) == expected)
        }
    }

    @Test func limitsTIFFTilesAndStripsByDepth() throws {
        let deep: [(tag: UInt16, type: UInt16, value: UInt32)] = [(258, 3, 16), (277, 3, 8)]
        let (tiles, strips) = (
            "the tiles of the image have more than 200000000 bytes",
            "the strips of the image have more than 200000000 bytes"
        )
        let tile: [(tag: UInt16, type: UInt16, value: UInt32)] = [(322, 4, 7000), (323, 4, 7000)]
        #expect(try complaint(Pictures.tiff(tile)) == nil)
        #expect(try complaint(Pictures.tiff(tile + deep)) == tiles)
        let size: [(tag: UInt16, type: UInt16, value: UInt32)] = [(256, 3, 7000), (257, 3, 7000)]
        for rows: UInt32 in [7000, .max] {
            let strip = size + [(278, 4, rows)]
            // Four samples of 8 bits, as the image itself.
            #expect(try complaint(Pictures.tiff(strip + [(277, 3, 4)])) == nil)
            #expect(try complaint(Pictures.tiff(strip + deep)) == strips)
        }
        #expect(try complaint(Pictures.tiff(size + deep + [(278, 3, 16)])) == nil)
        // One number of bits for each sample, behind the directory.
        let bits = [UInt8](repeating: 16, count: 16)
        let apart = Pictures.tiff(tile + [(277, 3, 8)], sharing: [(258, 3, 8)], bits)
        #expect(try #require(TIFFDirectory(apart)).bitsPerSample == 16 << 8 | 16)
        #expect(try complaint(apart) == tiles)
        #expect(try complaint(Pictures.tiff(tile + [(277, 3, 8)])) == tiles)
    }

    @Test func checksSizeAndFramesOfWebPBeforeDecoding() throws {
        func webP(_ tag: String, _ content: [UInt8], frames: Int = 0) -> Data {
            let animation = String(repeating: "ANMF\0\0\0\0", count: frames)
            return Data("RIFF\0\0\0\0WEBP".utf8) + Data(tag.utf8) + Data([10, 0, 0, 0]) + Data(content)
                + Data(animation.utf8)
        }
        let extended: [UInt8] = [0x02, 0, 0, 0, 0x9F, 0x0F, 0, 0x9F, 0x0F, 0]
        let files = [
            webP("VP8X", extended, frames: 3), webP("VP8L", [0x2F, 0x9F, 0xCF, 0xE7, 0x03, 0, 0]),
            webP("VP8 ", [0, 0, 0, 0x9D, 1, 0x2A, 0xA0, 0x4F, 0xA0, 0x4F]),
        ]
        for (file, count) in zip(files, [3, 0, 0]) {
            let frames = try #require(WebPFrames(file, limit: 1000))
            #expect((frames.width, frames.height, frames.count) == (4000, 4000, count))
            #expect(failure(file) { $0.maximumPixelCount = 15_999_999 } == .tooLarge)
        }
        // All of them are decoded.
        #expect(failure(webP("VP8X", extended, frames: 4)) == .tooLarge)
        #expect(failure(webP("VP8X", extended, frames: 3)) { $0.maximumFrameCount = 2 } == .tooLarge)
        #expect(WebPFrames(webP("VP8X", extended, frames: 30), limit: 9)?.count == 10)
        #expect(failure(webP("ICCP", extended)) == .serialization)
        #expect(failure(Data("RIFF\0\0\0\0WEBP".utf8)) == .serialization)
    }

    @Test func feedsGIFWithTinyBlocksInSmallPieces() {
        let comment = Data([0x21, 0xFE]) + Data((0..<2 << 20).flatMap { _ in [1, 1] as [UInt8] }) + Data([0])
        let before = Pictures.gifHead() + comment + Pictures.gifFrame() + comment + Data([0x3B])
        let gif = GIFFrames(before, limit: 9)
        #expect(gif.all.count == 1)
        before.withUnsafeBytes { bytes in
            var at = 0
            while at < bytes.count {
                let end = gif.pieceEnd(from: at, in: bytes)
                #expect(end - at <= 16 << 10 + 256)
                at = end
            }
        }
        let pixels = Data((0..<5000).flatMap { _ in [1, 1] as [UInt8] })
        var frame = Pictures.gifFrame()
        frame.insert(contentsOf: pixels, at: frame.endIndex - 1)
        #expect(failure(Pictures.gifHead() + frame + Data([0x3B])) == .tooLarge)
        #expect(failure(Pictures.gifHead() + Pictures.gifFrame() + frame + Data([0x3B])) == nil)
    }

    @Test func feedsFirstGIFFrameInFewPieces() {
        let file = Pictures.gifHead() + Pictures.gifFrame(extraBytes: 8 << 20) + Pictures.gifFrame(extraBytes: 2 << 20)
        let gif = GIFFrames(file, limit: 9)
        #expect(gif.all.count == 2)
        var pieces: [Range<Int>] = []
        file.withUnsafeBytes { bytes in
            while pieces.last?.upperBound != bytes.count {
                let start = pieces.last?.upperBound ?? 0
                pieces.append(start..<gif.pieceEnd(from: start, in: bytes))
            }
        }
        let (first, second) = (pieces.filter { $0.lowerBound < 8 << 20 }, pieces.filter { $0.lowerBound > 9 << 20 })
        #expect(first.count < 40 && first.allSatisfy { $0.count <= 1 << 20 + 256 })
        #expect(!second.isEmpty && second.allSatisfy { $0.count <= 16 << 10 + 256 })
    }

    @Test(arguments: [0, 1, 2, 255, 256])
    func gifExtensionMayEndAtPieceBoundary(shift: Int) throws {
        let head = Pictures.gifHead() + Data([0x21, 0xFF, 11]) + Data("XMP DataXMP".utf8)
        // The block of size 0 is the first byte of a piece, or `shift` bytes before it.
        var blocks = Data()
        var left = 16 << 10 - shift - head.count
        while left > 0 {
            // Two bytes are the shortest block.
            let size = left == 257 ? 255 : min(256, left)
            blocks += Pictures.blocks(of: size - 1)
            left -= size
        }
        let file = head + blocks + Data([0]) + Pictures.gifFrame() + Pictures.gifFrame() + Data([0x3B])
        #expect(try decoder.decodeFrames(file, options: ImageDecodingOptions()).count == 2)
    }

    @Test func decodingEndsWhenTaskIsCancelled() async throws {
        let files = [Pictures.gif(frames: 3), try Pictures.image(40, 40).data(as: .png)]
        for file in files {
            let task = Task { () -> SessionError.Code? in
                withUnsafeCurrentTask { $0?.cancel() }
                return code { try SystemImageDecoder().decode(file, options: ImageDecodingOptions()) }
            }
            #expect(await task.value == .cancelled)
        }
    }

    @Test func refusesTooManyFrames() throws {
        #expect(failure(Pictures.gif(frames: 5000)) == .tooLarge)
        #expect(
            code {
                try decoder.decodeFrames(Pictures.gif(frames: 5000), options: ImageDecodingOptions())
            } == .tooLarge)
        var options = ImageDecodingOptions()
        options.maximumPixelCount = 20_000
        #expect(
            code {
                try decoder.decodeFrames(Pictures.gif(frames: 3, width: 100, height: 100), options: options)
            } == .tooLarge)
        #expect(
            try decoder.decode(Pictures.gif(frames: 3, width: 100, height: 100), options: options).pixelWidth == 100)
    }

    @Test func failsForTruncatedFiles() throws {
        let files = [
            try Pictures.image(40, 40).data(as: .png), try Pictures.image(40, 40).data(as: .jpeg(quality: 80)),
            Pictures.bmp(width: 40, height: 40, bytes: 4800), Pictures.gif(frames: 1),
        ]
        for file in files {
            #expect(failure(file) == nil)
            for size in stride(from: 0, to: file.count - 20, by: 37) {
                if let code = failure(Data(file.prefix(size))) {
                    #expect(code == .serialization)
                } else {
                    Issue.record("\(size) of \(file.count) bytes were taken for an image")
                }
            }
        }
    }

    @Test(arguments: Bitmaps.all)
    func truncatedBitmapsAreErrors(_ bitmap: Bitmaps.File) throws {
        #expect(failure(bitmap.data) == nil)
        for size in 0..<bitmap.data.count where failure(bitmap.data.prefix(size)) != .serialization {
            Issue.record("\(size) of \(bitmap.data.count) bytes were taken for an image")
            break
        }
    }

    @Test func offsetInTheHeader() {
        var file = Pictures.bmp(width: 40, height: 40, bytes: 4800)
        file.replaceSubrange(10..<14, with: [0, 0, 0, 0])
        #expect(failure(file.prefix(file.count - 20)) == .serialization)
    }

    @Test func pngWithoutItsLastRows() throws {
        #expect(failure(Pictures.png(height: 3, rows: 3)) == nil)
        for rows in 0..<3 { #expect(failure(Pictures.png(height: 3, rows: rows)) == .serialization) }
    }

    @Test func failsForJPEGTruncatedAfterThumbnail() throws {
        let thumbnail = try Pictures.image(8, 8).data(as: .jpeg(quality: 50))
        var file = try Pictures.image(60, 60).data(as: .jpeg(quality: 90))
        let size = thumbnail.count + 8
        file.insert(
            contentsOf: [0xFF, 0xE1, UInt8(size >> 8), UInt8(size & 0xFF)] + Data("Exif\0\0".utf8) + thumbnail,
            at: file.startIndex + 2)
        #expect(try decode(file).pixelWidth == 60)
        #expect(failure(Data(file.prefix(file.count - 300))) == .serialization)
    }

    @Test(arguments: [Image.FileFormat.png, .jpeg(quality: 90)])
    func ignoresBytesAfterEndOfFile(format: Image.FileFormat) throws {
        let file = try Pictures.image(30, 30).data(as: format)
        for size in [1, 1000, 100_000] { #expect(failure(file + Data(count: size)) == nil) }
    }

    @Test func damagedFilesDecodeOrFail() throws {
        let files = [
            try Pictures.image(20, 20).data(as: .png), try Pictures.image(20, 20).data(as: .jpeg(quality: 80)),
            Pictures.bmp(width: 20, height: 20, bytes: 1200), Pictures.gif(frames: 4),
        ]
        for file in files {
            for at in file.indices where at % 3 == 0 {
                var damaged = file
                damaged[at] ^= UInt8(truncatingIfNeeded: 1 << at % 8 | 0x55)
                _ = failure(damaged) { $0.maximumPixelCount = 1_000_000 }
                var options = ImageDecodingOptions()
                options.maximumPixelCount = 1_000_000
                _ = try? decoder.decodeFrames(damaged, options: options)
            }
        }
    }

    @Test func failsForMislabelledFiles() throws {
        var file = try Pictures.image(8, 8).data(as: .png)
        file.replaceSubrange(0..<8, with: [0xFF, 0xD8, 0xFF, 0xE0, 0, 0x10, 0x4A, 0x46])
        #expect(failure(file) == .serialization)
        #expect(failure(Data("GIF89a".utf8) + file) != nil)
        #expect(failure(Data("BM".utf8) + Data(count: 200)) == .serialization)
    }
}
