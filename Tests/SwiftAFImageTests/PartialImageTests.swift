import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFImage

/// An image is as wide as its file has KiB, and so is what has come of it.
private struct KiBDecoder: ImageDecoding {
    var failsAfter = Int.max

    static func image(_ count: Int) throws -> Image {
        guard let image = Image(pixelWidth: count >> 10, pixelHeight: 1, fill: { _ in }) else {
            throw SessionError(.serialization, message: "less than a KiB")
        }
        return image
    }

    func decode(_ data: Data, options: ImageDecodingOptions) throws -> Image {
        try Self.image(data.count)
    }

    func makeProgressiveDecoder(options: ImageDecodingOptions) -> (any ProgressiveImageDecoding)? {
        Progressive(failsAfter)
    }

    private final class Progressive: ProgressiveImageDecoding {
        private let failsAfter: Int
        private var count = 0

        init(_ failsAfter: Int) {
            self.failsAfter = failsAfter
        }

        func append(_ bytes: Data) throws {
            count += bytes.count
            if count > failsAfter { throw SessionError(.serialization, message: "damaged") }
        }

        func image() throws -> Image? { try KiBDecoder.image(count) }
    }
}

@Suite(.timeLimit(.minutes(10)))
final class PartialImageTests {
    private let server: TestServer
    private let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        let part = Data(count: 20 << 10)
        server.route(
            "/photo",
            [
                .chunkedHead(headers: ["Content-Type": "image/png"]), .chunk(part), .stall(at: "first"), .chunk(part),
                .stall(at: "second"), .lastChunk(),
            ])
        server.route("/missing", .respond(404, headers: ["Content-Type": "image/png"], body: part))
    }

    private func downloader(_ decoder: any ImageDecoding = KiBDecoder()) -> ImageDownloader {
        ImageDownloader(manager: manager, responseSerializer: ImageResponseSerializer(decoder: decoder))
    }

    @Test func yieldsPartialImagesBeforeCompleteOne() async throws {
        let downloader = downloader()
        var widths: [Int] = []
        for try await downloaded in downloader.images(for: HTTPRequest("photo")) {
            widths.append(downloaded.image.pixelWidth)
            #expect(downloaded.isComplete == (widths.count == 3))
            #expect(downloaded.response?.status == 200)
            server.open(widths.count == 1 ? "first" : "second")
        }
        #expect(widths.count == 3 && widths.last == 40)
        #expect(widths == widths.sorted() && (16...20).contains(widths.first ?? 0))
        // Only the whole is cached.
        for try await again in downloader.images(for: HTTPRequest("photo")) {
            #expect(again.isComplete && again.response == nil && again.image.pixelWidth == 40)
        }
    }

    @Test func appliesProcessorsToPartialImages() async throws {
        var widths: [Int] = []
        let processors = [ResizeProcessor(width: 5, height: 1)]
        for try await downloaded in downloader().images(for: HTTPRequest("photo"), processors: processors) {
            widths.append(downloaded.image.pixelWidth)
            server.open(widths.count == 1 ? "first" : "second")
        }
        #expect(widths == [5, 5, 5])
    }

    @Test func mergedRequestReceivesCompleteImage() async throws {
        let downloader = downloader()
        async let whole = downloader.image(for: HTTPRequest("photo"))
        while downloader.waitingCount < 1 { await Task.yield() }
        server.open("first")
        server.open("second")
        var last: DownloadedImage?
        for try await downloaded in downloader.images(for: HTTPRequest("photo")) { last = downloaded }
        #expect(try await whole.image.isIdentical(to: try #require(last).image))
    }

    @Test(arguments: [TextOrNot.none, .fails])
    fileprivate func loadsWholeImageWithoutProgressiveDecoder(kind: TextOrNot) async throws {
        server.open("first")
        server.open("second")
        server.route("/text", .respond(200, headers: ["Content-Type": "image/png"], body: Data("7x3".utf8)))
        let downloader = downloader(kind == .none ? TextDecoder() : KiBDecoder(failsAfter: 0))
        var images: [DownloadedImage] = []
        for try await downloaded in downloader.images(for: HTTPRequest(kind == .none ? "text" : "photo")) {
            images.append(downloaded)
        }
        #expect(images.map(\.isComplete) == [true])
        #expect(images.first?.image.pixelWidth == (kind == .none ? 7 : 40))
    }

    fileprivate enum TextOrNot: Sendable {
        case none, fails
    }

    @Test(arguments: [true, false])
    func failureEndsImageSequence(isStatus: Bool) async {
        var request = HTTPRequest(isStatus ? "missing" : "photo")
        if !isStatus { request.limits.maximumBodySize = 10 }
        let images = downloader().images(for: request)
        server.open("first")
        server.open("second")
        let failed = await code { for try await _ in images {} }
        #expect(failed == (isStatus ? .status : .tooLarge))
    }

    @Test(arguments: [true, false])
    func retriesTruncatedBodyIfPolicyAllows(hasPolicy: Bool) async throws {
        var policy = RetryPolicy(maximumRetries: 1)
        policy.baseDelay = .zero
        if hasPolicy { manager.interceptors = [policy] }
        let headers: Script.Headers = ["Content-Type": "image/png"]
        server.route("/cut", times: 1, .truncated(headers: headers, body: Data(count: 20 << 10), promising: 30 << 10))
        server.route("/cut", .respond(headers: headers, body: Data(count: 30 << 10)))
        var widths: [Int] = []
        let failed = await code {
            for try await downloaded in downloader().images(for: HTTPRequest("cut")) where downloaded.isComplete {
                widths.append(downloaded.image.pixelWidth)
            }
        }
        #expect(failed == (hasPolicy ? nil : .truncated))
        #expect(widths == (hasPolicy ? [30] : []))
        #expect(server.requests.count == (hasPolicy ? 2 : 1))
    }

    @Test func endingSequenceEarlyCancelsDownload() async throws {
        let downloader = downloader()
        for try await _ in downloader.images(for: HTTPRequest("photo")) { break }
        while downloader.counts.active > 0 { await Task.yield() }
        #expect(downloader.waitingCount == 0)
        server.open("first")
        server.open("second")
    }

    @Test func slowReceiverGetsOnlyNewestPartialImage() throws {
        let jobs = Locked<[@Sendable () -> Void]>([])
        let seen = Locked<[Int]>([])
        let receiver = ImageReceiver(
            on: { job in jobs.withLock { $0.append(job) } },
            partial: { downloaded in seen.withLock { $0.append(downloaded.image.pixelWidth) } },
            { _ in seen.withLock { $0.append(0) } })
        func show(_ widths: ClosedRange<Int>) {
            for width in widths {
                receiver.show(DownloadedImage(image: Pictures.image(width, 1), response: nil, isComplete: false))
            }
        }
        func work() {
            for job in jobs.withLock({ jobs in
                defer { jobs = [] }
                return jobs
            }) { job() }
        }
        show(1...100)
        #expect(jobs.withLock { $0.count } == 1)
        work()
        show(101...102)
        receiver.call(.failure(SessionError(.cancelled)))
        show(103...103)
        work()
        show(104...104)
        #expect(jobs.withLock { $0.isEmpty })
        #expect(seen.withLock { $0 } == [100, 103, 0])
    }

    @Test func limitsNumberOfPreviews() throws {
        let decoder = try #require(KiBDecoder().makeProgressiveDecoder(options: ImageDecodingOptions()))
        let preview = ProgressivePreview(decoder)
        var count = 0
        for _ in 0..<10_240 where preview.append(Data(count: 1024)) != nil { count += 1 }
        #expect((10...40).contains(count))
    }

    @Test func previewIntervalGrowsWithPixelCount() {
        func interval(_ received: Int, _ pixelCount: Int) -> Int {
            ProgressivePreview.interval(received: received, pixelCount: pixelCount)
        }
        #expect(interval(16 << 10, 0) == 16 << 10)
        #expect(interval(16 << 10, 64 * 64) == 16 << 10)
        #expect(interval(16 << 10, 50_000_000) == 3_125_000)
        #expect(interval(40_000_000, 50_000_000) == 10_000_000)
        // A whole body of the default limit: its copies take less than 64 bytes for each received one.
        var (received, copies) = (16 << 10, 0)
        while received <= 64 << 20 {
            copies += 1
            received += interval(received, 50_000_000)
        }
        #expect((2...15).contains(copies))
    }

    @Test func smallFileWithManyPixelsHasFewPreviews() throws {
        final class Large: ProgressiveImageDecoding {
            private let picture = Pictures.image(2000, 1000)

            func append(_ bytes: Data) {}
            func image() -> Image? { picture }
        }
        let preview = ProgressivePreview(Large())
        var count = 0
        for _ in 0..<500 where preview.append(Data(count: 1024)) != nil { count += 1 }
        #expect(count == 4)
    }

    @MainActor
    @Test(arguments: [true, false])
    func viewShowsPartialImagesOnRequest(showsPartialImages: Bool) async {
        let view = RecordingImageView(downloader())
        view.setImage(for: HTTPRequest("photo"), showsPartialImages: showsPartialImages)
        if showsPartialImages { await view.shown.wait() }
        server.open("first")
        if showsPartialImages { await view.shown.wait(for: 2) }
        server.open("second")
        await view.shown.wait(for: showsPartialImages ? 3 : 1)
        #expect(view.widths.count == (showsPartialImages ? 3 : 1) && view.widths.last == 40)
    }

    @MainActor
    @Test func viewShowsNothingOfCancelledImage() async {
        server.route("/other", .respond(200, headers: ["Content-Type": "image/png"], body: Data(count: 3 << 10)))
        let view = RecordingImageView(downloader())
        view.setImage(for: HTTPRequest("photo"), showsPartialImages: true)
        await view.shown.wait()
        view.setImage(from: "other")
        server.open("first")
        server.open("second")
        await view.shown.wait(for: 2)
        #expect(view.widths.last == 3 && view.widths.count == 2)
    }
}

@Suite(.enabled(if: SystemImageDecoder.isAvailable))
struct SystemProgressiveDecoderTests {
    private func progressive(
        _ change: (inout ImageDecodingOptions) -> Void = { _ in }
    ) throws -> any ProgressiveImageDecoding {
        var options = ImageDecodingOptions()
        change(&options)
        return try #require(SystemImageDecoder().makeProgressiveDecoder(options: options))
    }

    @Test(arguments: ["png", "jpeg", "bmp"])
    func previewsFullSizePNGJPEGAndBMP(type: String) throws {
        let picture = Pictures.image(64, 64)
        let file =
            switch type {
            case "png": try picture.data(as: .png)
            case "jpeg": try picture.data(as: .jpeg(quality: 90))
            default: Pictures.bmp(width: 64, height: 64, bytes: 64 * 64 * 3)
            }
        let decoder = try progressive()
        var sizes: Set<Int> = []
        for at in stride(from: 0, to: file.count, by: 7) {
            try decoder.append(file.subdata(in: at..<min(file.count, at + 7)))
            if let image = try decoder.image() { sizes.insert(image.pixelWidth * image.pixelHeight) }
        }
        #expect(sizes == [64 * 64])
        #expect(try decoder.image() == SystemImageDecoder().decode(file, options: ImageDecodingOptions()))
    }

    @Test(arguments: [32, 64, 100])
    func downscaledImageHasNoPreviews(maximum: Int) throws {
        let picture = Pictures.image(64, 64)
        let files = [
            try picture.data(as: .png), try picture.data(as: .jpeg(quality: 90)),
            Pictures.bmp(width: 64, height: 64, bytes: 64 * 64 * 3),
        ]
        for file in files {
            let decoder = try progressive { $0.maximumPixelSize = maximum }
            var count = 0
            for at in stride(from: 0, to: file.count, by: 7) {
                try decoder.append(file.subdata(in: at..<min(file.count, at + 7)))
                if try decoder.image() != nil { count += 1 }
            }
            #expect((count == 0) == (maximum < 64))
        }
    }

    @Test func missingPartOfPreviewIsBlank() throws {
        for format in [Image.FileFormat.png, .jpeg(quality: 90)] {
            let file = try Pictures.image(300, 300).data(as: format)
            let decoder = try progressive()
            try decoder.append(Data(file.prefix(file.count / 4)))
            let image = try #require(try decoder.image())
            image.withPixels { pixels in
                let last = pixels[(pixels.count - image.bytesPerRow)...]
                for (index, byte) in last.enumerated() {
                    #expect(byte == (index % 4 == 3 && !image.hasAlpha ? 255 : 0))
                }
            }
        }
    }

    @Test func otherFormatsHaveNoPreviews() throws {
        for data in [Pictures.gif(frames: 300), Data("<html>and more of it".utf8), Data([1])] {
            let decoder = try progressive()
            try decoder.append(data)
            try decoder.append(data)
            #expect(try decoder.image() == nil)
        }
    }

    @Test func refusesPreviewsBeyondLimits() throws {
        let decoder = try progressive()
        #expect(code { try decoder.append(Pictures.pngHead(width: 100_000, height: 100_000)) } == .tooLarge)
        let small = try progressive { $0.maximumPixelCount = 10 }
        let file = try Pictures.image(40, 40).data(as: .png)
        #expect(code { try small.append(file) } == .tooLarge)
        #expect(code { try progressive().append(Pictures.jpeg(scans: 101)) } == .tooLarge)
        #expect(
            code { try progressive().append(Data([0x89] + "PNG\r\n\u{1A}\n".utf8) + Data(count: 100)) }
                == .serialization)
    }
}

extension SystemProgressiveDecoderTests {
    @Test(arguments: [1, 2, 3, 7, 64])
    func structuralLimitsHoldForPiecesOfAnySize(size: Int) throws {
        func append(_ file: Data, to decoder: any ProgressiveImageDecoding) throws {
            for at in stride(from: 0, to: file.count, by: size) {
                try decoder.append(file.subdata(in: at..<min(file.count, at + size)))
            }
        }
        let (enough, tooMany) = (try progressive(), try progressive())
        try append(Pictures.jpeg(scans: 100), to: enough)
        #expect(try enough.image()?.pixelWidth == 8)
        #expect(code { try append(Pictures.jpeg(scans: 101), to: tooMany) } == .tooLarge)
        let decoder = try progressive()
        // libpng would refuse text before the head.
        let texts = ["tEXt", "zTXt", "iTXt"].map { (name: $0, content: [UInt8](repeating: 65, count: 500)) }
        try append(Pictures.png(first: texts, before: texts, behind: texts), to: decoder)
        #expect(try decoder.image()?.withPixels { Array($0) } == [1, 2, 3, 255])
    }
}

@Suite struct ImageFileTests {
    private let response = HTTPResponse(status: 200, headers: ["Content-Type": "image/gif"], url: "http://h/a")

    @Test func decodesFileOnFirstAccess() throws {
        let serializer = ImageFileResponseSerializer(decoder: TextDecoder())
        let file = try serializer.serialize(response, body: Data("4x2".utf8))
        #expect(try file.image().pixelWidth == 4)
        #expect(try file.frames().map(\.image.pixelHeight) == [2])
        let damaged = try serializer.serialize(response, body: Data("nothing".utf8))
        #expect(code { try damaged.image() } == .serialization)
        #expect(code { try serializer.serialize(response, body: Data()) } == .serialization)
        let page = HTTPResponse(status: 200, headers: ["Content-Type": "text/html"], url: "http://h/a")
        #expect(code { try serializer.serialize(page, body: Data("4x2".utf8)) } == .contentType)
    }

    @Test(.enabled(if: SystemImageDecoder.isAvailable))
    func decodesFirstFrameOrAllFrames() throws {
        let file = try ImageFileResponseSerializer().serialize(response, body: Pictures.gif(frames: 3))
        #expect(try file.frames().count == 3)
        #expect(try file.image().pixelWidth == 1)
    }
}
