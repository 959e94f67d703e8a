import AFTestServer
import Dispatch
import FoundationEssentials
import SwiftAF
import Synchronization
import Testing

@testable import SwiftAFImage

/// Counts what a cache is asked.
private final class PromptedCache: ImageRequestCache {
    private let inner = AutoPurgingImageCache()
    private let keeps: Bool
    let asked = Atomic(0)
    let added = Atomic(0)

    init(keeps: Bool) {
        self.keeps = keeps
    }

    func shouldCache(_ image: Image, for request: HTTPRequest, additionalIdentifier: String?) -> Bool {
        asked.add(1, ordering: .relaxed)
        return keeps
    }

    func add(_ image: Image, identifier: String) {
        added.add(1, ordering: .relaxed)
        inner.add(image, identifier: identifier)
    }

    func removeImage(identifier: String) -> Bool { inner.removeImage(identifier: identifier) }
    func removeAllImages() -> Bool { inner.removeAllImages() }
    func image(identifier: String) -> Image? { inner.image(identifier: identifier) }
}

/// Calls a function between a lookup and its return.
private final class SlowCache: ImageRequestCache {
    private let inner = AutoPurgingImageCache()
    private let hook = Locked<(@Sendable () -> Void)?>(nil)

    func onNextLookup(_ call: @escaping @Sendable () -> Void) { hook.withLock { $0 = call } }

    func add(_ image: Image, identifier: String) { inner.add(image, identifier: identifier) }
    func removeImage(identifier: String) -> Bool { inner.removeImage(identifier: identifier) }
    func removeAllImages() -> Bool { inner.removeAllImages() }

    func image(identifier: String) -> Image? {
        let image = inner.image(identifier: identifier)
        hook.exchange(nil)?()
        return image
    }
}

/// AFNetworking's tests of its image downloader, and what they leave out.
@Suite(.timeLimit(.minutes(10)))
struct ImageDownloaderTests {
    private let serializer = ImageResponseSerializer(decoder: TextDecoder())
    private let queue = DispatchQueue(label: "completions")
    private let request = HTTPRequest("http://h/a.png")

    private func downloader(
        _ fetcher: any ImageFetching = ScriptedFetcher(), active: Int = 4,
        prioritization: ImageDownloadPrioritization = .fifo,
        cache: (any ImageRequestCache)? = AutoPurgingImageCache()
    ) -> ImageDownloader {
        ImageDownloader(
            fetcher: fetcher, responseSerializer: serializer, downloadPrioritization: prioritization,
            maximumActiveDownloads: active, imageCache: cache, completionQueue: queue)
    }

    /// The results of downloads, in the order they came.
    private final class Results: Sendable {
        private let state = Locked<[(name: String, result: Result<DownloadedImage, SessionError>)]>([])
        private let group = DispatchGroup()

        func expect(_ name: String) -> ImageDownloader.Completion {
            group.enter()
            return { result in
                self.state.withLock { $0.append((name, result)) }
                self.group.leave()
            }
        }

        func all() async -> [(name: String, result: Result<DownloadedImage, SessionError>)] {
            await withCheckedContinuation { continuation in
                group.notify(queue: .global()) { continuation.resume() }
            }
            return state.withLock { $0 }
        }
    }

    @Test func defaultDownloaderLoadsFourImagesInOrder() {
        #expect(ImageDownloader.default === ImageDownloader.default)
        #expect(ImageDownloader.default.maximumActiveDownloads == 4)
        #expect(ImageDownloader.default.downloadPrioritization == .fifo)
        #expect(ImageDownloader.default.imageCache is AutoPurgingImageCache)
    }

    @Test func returnsCachedImageWithoutResponseAndReceipt() async throws {
        let downloader = downloader()
        let first = try await downloader.image(for: request)
        #expect(first.image.pixelWidth == 4 && first.response?.status == 200)
        let second = try await downloader.image(for: request)
        #expect(second.response == nil && second.image.isIdentical(to: first.image))
        let results = Results()
        #expect(downloader.download(request, completion: results.expect("cached")) == nil)
        let result = try #require(await results.all().first?.result.get())
        #expect(result.response == nil && result.image.isIdentical(to: first.image))
    }

    @Test func requestThatIgnoresCachesReachesServer() async throws {
        let fetcher = ScriptedFetcher()
        let downloader = downloader(fetcher)
        _ = try await downloader.image(for: request)
        var fresh = request
        fresh.hints.cachePolicy = .reloadIgnoringLocalCacheData
        #expect(try await downloader.image(for: fresh).response != nil)
        #expect(fetcher.snapshot.fetched.count == 2)
    }

    @Test(arguments: [true, false])
    func cacheDecidesWhichImagesAreStored(keeps: Bool) async throws {
        let fetcher = ScriptedFetcher()
        let cache = PromptedCache(keeps: keeps)
        let downloader = downloader(fetcher, cache: cache)
        let first = try await downloader.image(for: request)
        let second = try await downloader.image(for: request)
        #expect(first.image.isIdentical(to: second.image) == keeps)
        #expect(cache.asked.load(ordering: .relaxed) == (keeps ? 1 : 2))
        #expect(cache.added.load(ordering: .relaxed) == (keeps ? 1 : 0))
    }

    /// The download of an image may end after another request hasn't found it in the cache, and before that request
    /// joins the download.
    @Test func requestAtTheEndOfADownloadUsesItsImage() async throws {
        let gate = Gate()
        let fetcher = ScriptedFetcher(gate: gate)
        let cache = SlowCache()
        let downloader = downloader(fetcher, cache: cache)
        let first = Results(), second = Results()
        let hasEnded = DispatchSemaphore(value: 0)
        downloader.download(request, completion: first.expect("first"))
        while fetcher.snapshot.fetched.isEmpty { await Task.yield() }
        cache.onNextLookup {
            gate.open()
            hasEnded.wait()
        }
        let complete = second.expect("second")
        DispatchQueue.global().async { [request] in downloader.download(request, completion: complete) }
        let image = try #require(await first.all().first?.result.get())
        hasEnded.signal()
        let same = try #require(await second.all().first?.result.get())
        #expect(same.image.isIdentical(to: image.image) && same.response == nil)
        #expect(fetcher.snapshot.fetched.count == 1)
    }

    @Test func concurrentRequestsShareDownloadInOrder() async throws {
        let gate = Gate()
        let fetcher = ScriptedFetcher(gate: gate)
        let downloader = downloader(fetcher)
        let results = Results()
        let ids = [UUID(), UUID(), UUID()]
        let receipts = ids.map { downloader.download(request, receiptID: $0, completion: results.expect("\($0)")) }
        #expect(receipts.map { $0?.id } == ids)
        gate.open()
        let all = await results.all()
        #expect(all.map(\.name) == ids.map { "\($0)" })
        let images = try all.map { try $0.result.get().image }
        #expect(images.allSatisfy { $0.isIdentical(to: images[0]) })
        #expect(fetcher.snapshot.fetched.count == 1)
    }

    @Test func requestsWithDifferentHeadersAreNotMerged() async throws {
        let gate = Gate()
        let fetcher = ScriptedFetcher(gate: gate)
        let downloader = downloader(fetcher)
        let results = Results()
        var authorized = request
        authorized.headers["Authorization"] = "Bearer a"
        downloader.download(request, completion: results.expect("plain"))
        downloader.download(authorized, completion: results.expect("authorized"))
        gate.open()
        #expect(await results.all().count == 2)
        #expect(fetcher.snapshot.fetched.count == 2)
    }

    @Test func cancellingOneRequestLeavesMergedOneRunning() async throws {
        let gate = Gate()
        let downloader = downloader(ScriptedFetcher(gate: gate))
        let results = Results()
        let first = try #require(downloader.download(request, completion: results.expect("first")))
        downloader.download(request, completion: results.expect("second"))
        downloader.cancel(first)
        downloader.cancel(first)
        gate.open()
        let all = await results.all()
        #expect(all.map(\.name) == ["first", "second"])
        let error = #expect(throws: SessionError.self) { try all[0].result.get() }
        #expect(error?.code == .cancelled && error?.message == "the image request was cancelled")
        #expect(try all[1].result.get().image.pixelWidth == 4)
    }

    @Test func cancelledImageIsNotCachedAndCanBeReloaded() async throws {
        let gate = Gate()
        let cache = AutoPurgingImageCache()
        let downloader = downloader(ScriptedFetcher(gate: gate), cache: cache)
        let results = Results()
        let requests = (0..<6).map { HTTPRequest("http://h/\($0)") }
        for request in requests {
            if let receipt = downloader.download(request, completion: results.expect(request.url)) {
                downloader.cancel(receipt)
            }
        }
        let cancelled = await results.all()
        #expect(cancelled.count == 6)
        for (_, result) in cancelled { #expect(code { try result.get() } == .cancelled) }
        #expect(cache.memoryUsage == 0)
        gate.open()
        for request in requests { #expect(try await downloader.image(for: request).image.pixelWidth == 4) }
        #expect(downloader.counts == (0, 0))
    }

    /// Uses the downloader when it is released.
    private final class LastWish: ImageProcessing {
        let identifier = "last wish"
        private let wish: @Sendable () -> Void

        init(_ wish: @escaping @Sendable () -> Void) {
            self.wish = wish
        }

        func process(_ image: Image) -> Image { image }

        deinit {
            wish()
        }
    }

    @Test(arguments: [true, false])
    func objectsReleasedByDownloadMayUseDownloader(isCancelled: Bool) async throws {
        let gate = Gate()
        let downloader = downloader(ScriptedFetcher(gate: gate), active: 1)
        let running = downloader.prefetch([HTTPRequest("http://h/1")])
        let other = downloader.prefetch([HTTPRequest("http://h/2")])
        let (releases, release) = AsyncStream<Void>.makeStream()
        let receipts = downloader.prefetch(
            [HTTPRequest("http://h/3")],
            processors: [
                LastWish {
                    other.forEach(downloader.cancel)
                    release.finish()
                }
            ])
        #expect(downloader.counts == (1, 2))
        if isCancelled {
            receipts.forEach(downloader.cancel)
            #expect(downloader.counts == (1, 0))
        }
        gate.open()
        for await _ in releases {}
        withExtendedLifetime(running) {}
    }

    @Test func cancellingWithoutAReceiptDoesNothing() async throws {
        let downloader = downloader()
        _ = try await downloader.image(for: request)
        let results = Results()
        downloader.cancel(downloader.download(request, completion: results.expect("cached")))
        #expect(try await results.all().first?.result.get().image.pixelWidth == 4)
    }

    @Test func cancelledTaskCancelsItsImage() async throws {
        let gate = Gate()
        let downloader = downloader(ScriptedFetcher(gate: gate))
        let task = Task { try await downloader.image(for: request) }
        task.cancel()
        #expect(await code { try await task.value } == .cancelled)
        gate.open()
    }

    @Test(arguments: [404, 500])
    func failureReachesEveryMergedRequest(status: Int) async throws {
        let cache = AutoPurgingImageCache()
        let downloader = downloader(ScriptedFetcher(status: status), cache: cache)
        let results = Results()
        downloader.download(request, completion: results.expect("first"))
        downloader.download(request, completion: results.expect("second"))
        for (_, result) in await results.all() { #expect(code { try result.get() } == .status) }
        #expect(cache.memoryUsage == 0)
    }

    @Test func failsForInvalidURL() async throws {
        let downloader = ImageDownloader(responseSerializer: serializer, completionQueue: queue)
        #expect(await code { try await downloader.image(for: HTTPRequest("")) } == .invalidInput)
    }

    @Test func callsCompletionsOnTheirQueue() async throws {
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let downloader = downloader()
        let results = Results()
        let expected = results.expect("first")
        downloader.download(request) { result in
            #expect(DispatchQueue.getSpecific(key: key) == true)
            expected(result)
        }
        _ = await results.all()
    }

    @Test func cachesProcessedImageSeparately() async throws {
        let fetcher = ScriptedFetcher()
        let downloader = downloader(fetcher)
        let small = try await downloader.image(for: request, processors: [ResizeProcessor(width: 2, height: 2)])
        let whole = try await downloader.image(for: request)
        #expect((small.image.pixelWidth, whole.image.pixelWidth) == (2, 4))
        let again = try await downloader.image(for: request, processors: [ResizeProcessor(width: 2, height: 2)])
        #expect(again.image.isIdentical(to: small.image))
        #expect(fetcher.snapshot.fetched.count == 2)
    }

    @Test func prefetchedImagesLoadAfterRequestedOnes() async throws {
        let gate = Gate()
        let fetcher = ScriptedFetcher(gate: gate)
        let downloader = downloader(fetcher, active: 1)
        #expect(downloader.prefetch([HTTPRequest("http://h/1"), HTTPRequest("http://h/2")]).count == 2)
        let results = Results()
        downloader.download(request, completion: results.expect("asked"))
        downloader.download(HTTPRequest("http://h/2"), priority: -1, completion: results.expect("prefetched"))
        gate.open()
        #expect(await results.all().map(\.name) == ["asked", "prefetched"])
        #expect(fetcher.snapshot.fetched == ["http://h/1", request.url, "http://h/2"])
    }

    @Test func releasedDownloaderFinishesItsDownloads() async throws {
        let gate = Gate()
        let results = Results()
        downloader(ScriptedFetcher(gate: gate)).download(request, completion: results.expect("late"))
        gate.open()
        #expect(try await results.all().first?.result.get().image.pixelWidth == 4)
    }

    @Test func loadsImageThroughRedirect() async throws {
        let server = try TestServer()
        server.route("/a", .redirect(to: "/b"))
        server.route("/b", .respond(200, headers: ["Content-Type": "image/png"], body: Data("7x3".utf8)))
        let downloader = ImageDownloader(responseSerializer: serializer, completionQueue: queue)
        let image = try await downloader.image(for: HTTPRequest(server.urlString("/a")))
        #expect(image.image.pixelWidth == 7)
    }

    /// `AF_TEST_ROUNDS` sets the number of rounds: fewer under tools that make everything slow.
    @Test func equalRequestsShareOneDownloadUnderLoad() async throws {
        var random = SystemRandomNumberGenerator()
        let rounds = ProcessInfo.processInfo.environment["AF_TEST_ROUNDS"].flatMap { Int($0) } ?? 200
        var leftovers: [Weak] = []
        for round in 0..<rounds {
            let fetcher = ScriptedFetcher()
            let downloader = downloader(
                fetcher, prioritization: round % 2 == 0 ? .fifo : .lifo,
                cache: round % 4 < 2 ? nil : AutoPurgingImageCache())
            let storm = Storm(count: 500)
            let order = (0..<500).shuffled(using: &random)
            DispatchQueue.concurrentPerform(iterations: 2) { half in
                for number in order where number % 2 == half {
                    let receipt = downloader.download(
                        HTTPRequest("http://h/\(number % 50)"), completion: storm.completion(number))
                    guard number < 250, let receipt else { continue }
                    downloader.cancel(receipt)
                }
            }
            await storm.end()
            // Those that were given up may still have to end.
            while downloader.counts.active > 0 { await Task.yield() }
            #expect(downloader.isAtRest)
            if let cache = downloader.imageCache as? AutoPurgingImageCache {
                #expect(cache.memoryUsage <= 50 * 4 * 2 * 4)
            }
            leftovers.append(contentsOf: [Weak(downloader), Weak(fetcher), Weak(storm)])
            let record = fetcher.snapshot
            #expect(!record.twiceAtATime)
            #expect(record.peakActive <= 4)
            #expect(storm.calledOnceEach)
            #expect(storm.wrong == 0)
        }
        // The last steps of a task may come after all has been said; what leaks would keep this from ending.
        while leftovers.contains(where: { $0.object != nil }) { await Task.yield() }
    }

    private struct Weak {
        weak var object: AnyObject?

        init(_ object: AnyObject) {
            self.object = object
        }
    }

    /// Who was called how often, and with what.
    private final class Storm: Sendable {
        private struct State {
            var calls: [Int]
            var failures = 0
        }

        private let state: Locked<State>
        private let group = DispatchGroup()

        init(count: Int) {
            state = Locked(State(calls: [Int](repeating: 0, count: count)))
        }

        func completion(_ number: Int) -> ImageDownloader.Completion {
            group.enter()
            return { result in
                self.state.withLock { state in
                    state.calls[number] += 1
                    if case .failure(let error) = result, error.code != .cancelled || number >= 250 {
                        state.failures += 1
                    }
                }
                self.group.leave()
            }
        }

        func end() async {
            await withCheckedContinuation { continuation in
                group.notify(queue: .global()) { continuation.resume() }
            }
        }

        var calledOnceEach: Bool { state.withLock { $0.calls.allSatisfy { $0 == 1 } } }
        var wrong: Int { state.withLock { $0.failures } }
    }
}
