import AFTestServer
import FoundationEssentials
import SwiftAF
import SwiftAFImage

extension Demo {
    /// The step doesn't depend on timing, so the numbers of merged requests that it prints are certain.
    static let images = Step(
        title: "Images, each fetched once",
        code: "try await ImageDownloader.default.image(for: request)"
    ) { demo in
        let response = Script.respond(200, headers: ["Content-Type": PixmapDecoder.contentType], body: pixmap(64, 48))
        demo.server.route("GET /photo", [.stall(at: "photo"), response])
        let downloader = ImageDownloader(
            responseSerializer: ImageResponseSerializer(
                validation: ResponseValidation(acceptableContentTypes: [PixmapDecoder.contentType]),
                decoder: PixmapDecoder()),
            completionQueue: .global())
        let before = demo.server.statistics.requests
        let request = demo.request("/photo")
        let (results, ending) = AsyncStream<Result<DownloadedImage, SessionError>>.makeStream()
        for _ in 0..<20 { downloader.download(request) { ending.yield($0) } }
        demo.server.open("photo")
        var images: [Image] = []
        for await result in results.prefix(20) { images.append(try result.get().image) }
        try expect(images.allSatisfy { $0.isIdentical(to: images[0]) }, "there was more than one image")
        try expect(demo.server.statistics.requests == before + 1, "it was fetched more than once")
        let again = try await downloader.image(for: request)
        try expect(again.response == nil && again.image.isIdentical(to: images[0]), "it was not in the cache")
        try expect(demo.server.statistics.requests == before + 1, "it was fetched although it was in the cache")
        let usage = (downloader.imageCache as? AutoPurgingImageCache)?.memoryUsage ?? 0
        return [
            "20 requests at once: 1 download, 1 image of \(images[0].pixelWidth) × \(images[0].pixelHeight) pixels for all",
            "requested again: from the cache, which holds \(Format.bytes(Int64(usage))); no request",
        ]
    }

    private static func pixmap(_ width: Int, _ height: Int) -> Data {
        var file = Data("P6 \(width) \(height) 255\n".utf8)
        for at in 0..<width * height {
            file += [UInt8(at % width * 255 / width), UInt8(at / width * 255 / height), 128]
        }
        return file
    }
}
