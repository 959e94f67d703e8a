import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFImage

struct ImageTests {
    @Test func imageReportsSizeScaleAndCost() throws {
        let image = Pictures.image(850, 300)
        #expect(image.byteCount == 1_020_000)
        #expect(image.bytesPerRow == 3400)
        let twice = image.withScale(2)
        #expect(twice.size == (425, 150))
        #expect(twice.byteCount == image.byteCount)
        #expect(twice.isIdentical(to: image) && twice != image)
        #expect(image == Pictures.image(850, 300) && !image.isIdentical(to: Pictures.image(850, 300)))
        #expect(image.withScale(0).scale == 1 && image.withScale(.nan).scale == 1)
        #expect(image.description == "Image(850 × 300 pixels, scale 1.0)")
    }

    @Test(arguments: [(0, 1), (1, 0), (-1, 1), (65_536, 1), (65_535, 65_535)])
    func refusesImpossibleImageSizes(width: Int, height: Int) {
        #expect(Image(pixelWidth: width, pixelHeight: height, fill: { _ in }) == nil)
    }

    @Test func rethrowsErrorOfPixelClosure() {
        #expect(throws: SessionError.self) {
            try Image(pixelWidth: 1, pixelHeight: 1) { _ in throw SessionError(.unknown) }
        }
    }

    @Test func decodedSizeRespectsLimits() throws {
        var options = ImageDecodingOptions()
        options.maximumPixelCount = 1000
        options.maximumDimension = 100
        #expect(try options.decodedSize(ofWidth: 100, height: 10) == (100, 10))
        #expect(code { try options.decodedSize(ofWidth: 100, height: 11) } == .tooLarge)
        #expect(code { try options.decodedSize(ofWidth: 101, height: 1) } == .tooLarge)
        #expect(code { try options.decodedSize(ofWidth: .max, height: .max) } == .tooLarge)
        #expect(code { try options.decodedSize(ofWidth: 100, height: 10, frames: 2) } == .tooLarge)
        let limits: [(width: Int, height: Int, frames: Int, message: String)] = [
            (101, 1, 1, "the image has 101 × 1 pixels: a side may have at most 100 (maximumDimension)"),
            (100, 11, 1, "the image has 100 × 11 pixels: at most 1000 are accepted (maximumPixelCount)"),
            (100, 10, 2, "the image has 2 frames of 100 × 10 pixels: at most 1000 are accepted (maximumPixelCount)"),
        ]
        for (width, height, frames, message) in limits {
            let error = #expect(throws: SessionError.self) {
                try options.decodedSize(ofWidth: width, height: height, frames: frames)
            }
            #expect(error?.message == message)
        }
        #expect(code { try options.decodedSize(ofWidth: 0, height: 10) } == .serialization)
        options.maximumPixelSize = 30
        #expect(try options.decodedSize(ofWidth: 60, height: 10) == (30, 5))
        #expect(try options.decodedSize(ofWidth: 1, height: 90) == (1, 30))
        #expect(try options.decodedSize(ofWidth: 30, height: 30) == (30, 30))
    }

    @Test func resizingKeepsProportionsAndTransparency() throws {
        let checks = Image(pixelWidth: 4, pixelHeight: 2) { pixels in
            for at in 0..<8 {
                let isRed = at % 2 == 0
                pixels[at * 4] = isRed ? 200 : 0
                pixels[at * 4 + 1] = isRed ? 0 : 99
                pixels[at * 4 + 3] = isRed ? 255 : 0
            }
        }
        let half = try ResizeProcessor(width: 2, height: 9).process(try #require(checks))
        #expect((half.pixelWidth, half.pixelHeight) == (2, 1))
        // What can't be seen has no colour to add.
        #expect(half.withPixels { Array($0) } == [200, 0, 0, 128, 200, 0, 0, 128])
        #expect(try ResizeProcessor(width: 4, height: 2).process(half).isIdentical(to: half))
        let dot = try ResizeProcessor(width: 0, height: 0).process(Pictures.image(50, 3))
        #expect((dot.pixelWidth, dot.pixelHeight) == (1, 1))
    }

    @Test func processorsHaveShortNames() {
        let processors: [any ImageProcessing] = [
            .resize(width: 20, height: 10), .scale(2), .roundCorners(radius: 3),
        ]
        let types: [any ImageProcessing] = [
            ResizeProcessor(width: 20, height: 10), ScaleProcessor(scale: 2), RoundCornersProcessor(radius: 3),
        ]
        #expect(processors.map(\.identifier) == types.map(\.identifier))
    }

    @Test func decoderHasDefaultLimits() throws {
        let decoder: any ImageDecoding = TextDecoder()
        #expect(try decoder.decode(Data("4x2".utf8)).size == (4, 2))
    }

    @Test func scaleChangesSizeWithoutChangingPixels() throws {
        let image = Pictures.image(20, 10)
        let scaled = try ScaleProcessor(scale: 2).process(image)
        #expect(scaled.size == (10, 5) && scaled == image.withScale(2))
        #expect(ScaleProcessor(scale: 2).identifier != ScaleProcessor(scale: 1.5).identifier)
    }

    @Test func roundCornersClearsOnlyCorners() throws {
        let image = Pictures.image(20, 20)
        let rounded = try RoundCornersProcessor(radius: 5).process(image)
        rounded.withPixels { pixels in
            #expect(pixels[3] == 0)
            #expect(pixels[19 * 4 + 3] == 0)
            #expect(pixels[pixels.count - 1] == 0)
            #expect(pixels[(10 * 20 + 10) * 4 + 3] == 255)
            #expect(pixels[10 * 4 + 3] == 255)
        }
        #expect(try RoundCornersProcessor(radius: 0).process(image).isIdentical(to: image))
        #expect(try RoundCornersProcessor(radius: .max).process(image).pixelWidth == 20)
    }
}

struct ImageResponseSerializerTests {
    private func response(_ type: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, headers: ["Content-Type": type], url: "http://h/a")
    }

    @Test func decodesImageOfAcceptableTypeAtScale() throws {
        var serializer = ImageResponseSerializer(decoder: TextDecoder())
        serializer.imageScale = 2
        let copy = serializer
        let image = try copy.serialize(response("image/png"), body: Data("4x2".utf8))
        #expect(image.size == (2, 1))
        #expect(copy.validation == serializer.validation && copy.imageScale == 2)
        #expect(
            code {
                try serializer.serialize(response("text/html"), body: Data("4x2".utf8))
            } == .contentType)
        #expect(
            code {
                try serializer.serialize(response("image/png", status: 404), body: Data("4x2".utf8))
            } == .status)
    }

    @Test(arguments: ["image/png", "text/html"], ["", "<html>", "4x2"])
    func reportsRefusedStatusForEveryBody(type: String, body: String) throws {
        let response = response(type, status: 404)
        let bytes = Data(body.utf8)
        let serializer = ImageResponseSerializer(decoder: TextDecoder())
        let file = ImageFileResponseSerializer(decoder: TextDecoder())
        let isImage = type == "image/png" && body == "4x2"
        let error = #expect(throws: SessionError.self) { try serializer.serialize(response, body: bytes) }
        #expect(error?.code == .status && error?.response?.status == 404 && error?.body == bytes)
        #expect((error?.parsedBody as? Image)?.pixelWidth == (isImage ? 4 : nil))
        // The type of a body is refused, too, but not that of no body.
        #expect(error?.contains(.contentType) == (type == "text/html" && !body.isEmpty))
        #expect(code { try file.serialize(response, body: bytes) } == .status)
        let result = serializer.result(for: response, body: bytes)
        #expect((result.error as? SessionError)?.code == .status && (result.value != nil) == isImage)
        #expect((file.result(for: response, body: bytes).error as? SessionError)?.code == .status)
    }

    @Test func damagedImageIsAnErrorWithItsResponse() throws {
        let serializer = ImageResponseSerializer(decoder: TextDecoder())
        for body in [Data(), Data("?".utf8)] {
            let result = serializer.result(for: response("image/png"), body: body)
            let error = try #require(result.error as? SessionError)
            #expect(error.code == .serialization && error.status == 200 && error.body == body && result.value == nil)
        }
    }

    @Test(arguments: ["", "<html>"])
    func failsForUndecodableBody(body: String) {
        for decoder: any ImageDecoding in [TextDecoder(), SystemImageDecoder()] {
            do {
                let serializer = ImageResponseSerializer(decoder: decoder)
                let image = try serializer.serialize(response("image/png"), body: Data(body.utf8))
                Issue.record("decoded: \(image)")
            } catch {
                let error = error as? SessionError
                #expect(
                    error?.code == .serialization || (error?.code == .unsupported && !SystemImageDecoder.isAvailable))
            }
        }
    }
}

/// AFNetworking's tests of its image cache: an image of 850 × 300 pixels costs 1,020,000 bytes.
struct AutoPurgingImageCacheTests {
    private let cache = AutoPurgingImageCache()
    private let image = Pictures.image(850, 300)
    private let request = HTTPRequest("http://h/logo.png")

    @Test func findsAndRemovesImageByIdentifier() {
        cache.add(image, identifier: "logo")
        #expect(cache.image(identifier: "logo")?.isIdentical(to: image) == true)
        let other = Pictures.image(2, 2)
        cache.add(other, identifier: "logo")
        #expect(cache.image(identifier: "logo")?.isIdentical(to: other) == true)
        #expect(cache.removeImage(identifier: "logo"))
        #expect(!cache.removeImage(identifier: "logo"))
        #expect(cache.image(identifier: "logo") == nil)
    }

    @Test func findsImageOnlyByItsRequestAndIdentifier() {
        cache.add(image, for: request, additionalIdentifier: nil)
        cache.add(image, for: request, additionalIdentifier: "round")
        #expect(cache.image(for: request, additionalIdentifier: nil) != nil)
        #expect(cache.image(for: request, additionalIdentifier: "round") != nil)
        #expect(cache.image(for: request, additionalIdentifier: "square") == nil)
        #expect(cache.image(for: HTTPRequest("http://h/other.png"), additionalIdentifier: nil) == nil)
        #expect(cache.image(for: HTTPRequest("http://h/logo.pnground"), additionalIdentifier: nil) == nil)
        #expect(!cache.removeImage(for: request, additionalIdentifier: "square"))
        #expect(cache.removeImage(for: request, additionalIdentifier: nil))
        #expect(cache.image(for: request, additionalIdentifier: "round") != nil)
        #expect(cache.removeImage(for: request, additionalIdentifier: "round"))
        #expect(!cache.removeImage(for: request, additionalIdentifier: "round"))
    }

    @Test func findsNoImageWithoutItsIdentifier() {
        cache.add(image, for: request, additionalIdentifier: "round")
        #expect(cache.image(for: request, additionalIdentifier: nil) == nil)
        #expect(!cache.removeImage(for: request, additionalIdentifier: nil))
        #expect(cache.image(for: request, additionalIdentifier: "round") != nil)
    }

    @Test func keyIncludesMethodAndRelevantHeaders() {
        var keys = Set<String>()
        var authorized = request
        authorized.headers["Authorization"] = "Bearer a"
        var other = authorized
        other.headers["Authorization"] = "Bearer b"
        var webp = request
        webp.headers["Accept"] = "image/webp"
        for request in [request, authorized, other, webp, HTTPRequest(.post, "http://h/logo.png")] {
            keys.insert(ImageCacheKey.identifier(for: request))
        }
        #expect(keys.count == 5)
        var traced = HTTPRequest("http://h/logo.png#top")
        traced.headers["X-Request-ID"] = "7"
        #expect(ImageCacheKey.identifier(for: traced) == ImageCacheKey.identifier(for: request))
    }

    @Test func memoryUsageFollowsAddingReplacingAndRemoving() {
        #expect(cache.memoryCapacity == 100 << 20 && cache.preferredMemoryUsageAfterPurge == 60 << 20)
        #expect(cache.memoryUsage == 0)
        cache.add(image, identifier: "logo")
        #expect(cache.memoryUsage == 1_020_000)
        cache.add(image.withScale(2), identifier: "logo")
        #expect(cache.memoryUsage == 1_020_000)
        cache.removeImage(identifier: "logo")
        #expect(cache.memoryUsage == 0)
        #expect(!cache.removeAllImages())
        cache.add(image, identifier: "logo")
        #expect(cache.removeAllImages())
        #expect(cache.memoryUsage == 0)
    }

    @Test(arguments: [false, true])
    func evictsLeastRecentlyUsedImagesBeyondCapacity(touchesFirst: Bool) {
        let cost = image.byteCount
        let cache = AutoPurgingImageCache(memoryCapacity: 10 * cost, preferredMemoryUsageAfterPurge: 6 * cost)
        for number in 1...10 {
            cache.add(image, identifier: "\(number)")
            #expect(cache.memoryUsage == number * cost)
        }
        if touchesFirst { #expect(cache.image(identifier: "1") != nil) }
        cache.add(image, identifier: "11")
        #expect(cache.memoryUsage == 6 * cost)
        let kept = (1...11).filter { cache.image(identifier: "\($0)") != nil }
        #expect(kept == (touchesFirst ? [1, 7, 8, 9, 10, 11] : [6, 7, 8, 9, 10, 11]))
    }

    @Test func tooLargeImageEvictsNoOthers() {
        let cache = AutoPurgingImageCache(memoryCapacity: 1000, preferredMemoryUsageAfterPurge: 600)
        cache.add(Pictures.image(10, 10), identifier: "small")
        cache.add(image, identifier: "large")
        #expect(cache.image(identifier: "large") == nil)
        #expect(cache.image(identifier: "small") != nil)
    }

    @Test func cachesEveryImageByDefault() {
        #expect(cache.shouldCache(image, for: request, additionalIdentifier: nil))
    }
}

@Suite struct ImageTypeTests {
    /// Segments with a thumbnail, compressed data with a stuffed byte and a restart, and an end.
    private let jpeg: [UInt8] =
        [0xFF, 0xD8, 0xFF, 0xE1, 0, 8, 0xFF, 0xD8, 1, 2, 0xFF, 0xD9] + [0xFF, 0xFF, 0xDB, 0, 3, 0xFF]
        + [0xFF, 0xDA, 0, 4, 1, 2] + [7, 0xFF, 0, 8, 0xFF, 0xD3, 9] + [0xFF, 0xC4, 0, 2, 0xFF, 0xDA, 0, 2, 5]
        + [0xFF, 0xD9]

    @Test func jpegIsWholeWithItsOwnEnd() {
        #expect(ImageType.jpeg.isWhole(Data(jpeg)))
        #expect(ImageType.jpeg.isWhole(Data(jpeg) + Data(repeating: 0xFF, count: 100_000)))
        for size in 0..<jpeg.count { #expect(!ImageType.jpeg.isWhole(Data(jpeg.prefix(size)))) }
        #expect(!ImageType.jpeg.isWhole(Data([0xFF, 0xD8, 0xFF, 0xE1, 0, 0, 0xFF])))
    }

    @Test(arguments: [1, 2, 3, 100]) func scansAreCountedInPieces(size: Int) {
        func count(_ file: [UInt8]) -> Int {
            var markers = JPEGMarkers()
            for at in stride(from: 0, to: file.count, by: size) {
                _ = file[at..<min(file.count, at + size)].withUnsafeBytes { markers.read($0) }
            }
            return markers.scanCount
        }
        #expect(count(jpeg) == 2)
        #expect(count(jpeg + jpeg) == 2)
        // Where data is to restart, libjpeg doesn't take what follows such a marker for its size.
        let hidden: [UInt8] = [0xFF, 2, 0xFF, 0xDA, 0, 2, 0xFF, 0xBF, 0xFF, 0xFF, 0xDA, 0, 2]
        #expect(count([0xFF, 0xD8] + hidden) == 2)
        // Nor is the content of a segment a scan.
        #expect(count([0xFF, 0xD8, 0xFF, 0xE0, 0, 6, 0xFF, 0xDA, 0, 2, 0xFF, 0xDA]) == 1)
    }

    @Test func pngIsWholeWithItsLastChunk() {
        var png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        png += [0, 0, 0, 4] + Array("IDATIEND".utf8) + [1, 2, 3, 4] + [0, 0, 0, 0]
        #expect(!ImageType.png.isWhole(Data(png)))
        png += Array("IEND".utf8)
        #expect(ImageType.png.isWhole(Data(png)))
        #expect(ImageType.png.isWhole(Data(png) + Data(count: 100_000)))
        #expect(!ImageType.png.isWhole(Data(png.prefix(8)) + Data(repeating: 0xFF, count: 10)))
    }
}
