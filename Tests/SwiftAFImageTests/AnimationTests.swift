import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFImage

@Suite struct AnimationClockTests {
    private func clock(_ milliseconds: [Int], plays: Int? = nil) -> AnimationClock {
        let image = Pictures.image(1, 1)
        return AnimationClock(
            ImageAnimation(
                milliseconds.map { ImageFrame(image: image, duration: .milliseconds($0)) }, playCount: plays))
    }

    @Test func repeatsFramesForTheirDurationsEndlessly() {
        var clock = clock([50, 30, 20])
        #expect(clock.start(at: .seconds(5)) == .milliseconds(50))
        var now = Duration.seconds(5), wait = Duration.milliseconds(50)
        for round in 0..<1000 {
            #expect(clock.frame == round % 3)
            now += wait
            guard let next = clock.advance(at: now) else {
                Issue.record("it has ended")
                return
            }
            #expect(next == .milliseconds([30, 20, 50][round % 3]))
            wait = next
        }
    }

    @Test(arguments: [1, 2, 7])
    func stopsAtLastFrameAfterPlayCount(count: Int) {
        var clock = clock([20, 40], plays: count)
        #expect(clock.start(at: .zero) == .milliseconds(20))
        var frames = [clock.frame]
        for _ in 1..<2 * count {
            #expect(clock.advance(at: .zero) != nil)
            frames.append(clock.frame)
        }
        #expect(frames == (0..<2 * count).map { $0 % 2 })
        #expect(clock.advance(at: .zero) == nil)
        #expect(clock.start(at: .zero) == nil)
        #expect(clock.frame == 1)
    }

    @Test func clampsFrameDurations() {
        var clock = clock([0, 19, 20, -5, Int.max / 1_000_000])
        let expected: [Duration] = [100, 100, 20, 100, 86_400_000].map { .milliseconds($0) }
        var waits = [clock.start(at: .zero)]
        for at in 1..<expected.count { waits.append(clock.advance(at: expected[..<at].reduce(.zero, +))) }
        #expect(waits == expected)
    }

    @Test func lateTimerShortensOrDelaysNextFrame() {
        var clock = clock([100, 100])
        #expect(clock.start(at: .zero) == .milliseconds(100))
        #expect(clock.advance(at: .milliseconds(130)) == .milliseconds(70))
        #expect(clock.advance(at: .milliseconds(200)) == .milliseconds(100))
        #expect(clock.advance(at: .milliseconds(400)) == .milliseconds(100))
        // Early by the resolution of a timer.
        #expect(clock.advance(at: .milliseconds(499)) == .milliseconds(101))
    }

    @Test func restartsInterruptedFrameFromItsBeginning() {
        var clock = clock([50, 50, 50])
        #expect(clock.advance(at: .zero) == nil)
        _ = clock.start(at: .zero)
        _ = clock.advance(at: .milliseconds(50))
        clock.rest()
        #expect(clock.advance(at: .seconds(9)) == nil)
        #expect(clock.frame == 1)
        #expect(clock.start(at: .seconds(10)) == .milliseconds(50))
        #expect(clock.frame == 1)
    }

    @Test(arguments: [0, 1])
    func animationOfFewerThanTwoFramesNeverStarts(count: Int) {
        var clock = clock([Int](repeating: 50, count: count))
        #expect(clock.start(at: .zero) == nil)
        #expect(clock.advance(at: .zero) == nil)
        #expect(clock.frame == 0)
    }
}

@Suite struct AnimatedImageTests {
    private static func animation(_ widths: [Int]) -> ImageAnimation {
        ImageAnimation(widths.map { ImageFrame(image: Pictures.image($0, 8), duration: .seconds($0)) }, playCount: 3)
    }

    @Test func imageIsFirstFrameAndCostsAllFrames() throws {
        let image = try #require(Image(Self.animation([16, 16, 16])))
        #expect((image.pixelWidth, image.byteCount, image.cost) == (16, 512, 1536))
        #expect(image.isIdentical(to: try #require(image.animation?.frames.first?.image)))
        #expect(image.withPixels { $0.count } == 512)
        #expect(image != Pictures.image(16, 8))
        #expect(Image(ImageAnimation([])) == nil)
        let still = try #require(Image(Self.animation([16])))
        #expect(still == Pictures.image(16, 8))
        #expect(still.cost == 512)
        #expect(ImageAnimation([], playCount: -1).playCount == 1)
    }

    @Test func changesScaleOfAllFrames() throws {
        let image = try #require(Image(Self.animation([16, 16]))).withScale(2)
        #expect(image.scale == 2)
        #expect(image.animation?.frames.map(\.image.scale) == [2, 2])
        #expect(image.animation?.playCount == 3)
    }

    @Test func cacheCountsBytesOfAllFrames() throws {
        let image = try #require(Image(Self.animation([16, 16])))
        let cache = AutoPurgingImageCache(memoryCapacity: 1023, preferredMemoryUsageAfterPurge: 1023)
        cache.add(image, identifier: "too large")
        #expect(cache.memoryUsage == 0)
        let larger = AutoPurgingImageCache(memoryCapacity: 1024, preferredMemoryUsageAfterPurge: 1024)
        larger.add(image, identifier: "as large")
        #expect(larger.memoryUsage == 1024)
    }

    private struct Decoder: ImageDecoding {
        func decode(_ data: Data, options: ImageDecodingOptions) -> Image { Pictures.image(4, 2) }
        func decodeAnimation(_ data: Data, options: ImageDecodingOptions) -> ImageAnimation? {
            AnimatedImageTests.animation([64, 32])
        }
    }

    @Test func downloaderProcessesAndCachesEveryFrame() async throws {
        let cache = AutoPurgingImageCache()
        let downloader = ImageDownloader(
            fetcher: ScriptedFetcher(), responseSerializer: ImageResponseSerializer(decoder: Decoder()),
            imageCache: cache)
        let image = try await downloader.image(
            for: HTTPRequest("http://h/a.gif"), processors: [ResizeProcessor(width: 16, height: 16)]
        ).image
        #expect(image.animation?.frames.map(\.image.pixelWidth) == [16, 16])
        #expect(image.animation?.frames.map(\.duration) == [.seconds(64), .seconds(32)])
        #expect(image.animation?.playCount == 3)
        #expect(cache.memoryUsage == image.cost)
        #expect(image.cost == 16 * 4 * (2 + 4))
    }
}
