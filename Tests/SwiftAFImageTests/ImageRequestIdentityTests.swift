import AFTestServer
import Dispatch
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFImage

/// Which requests for images share a download, a cached image, and the request that is sent.
@Suite(.timeLimit(.minutes(10)))
struct ImageRequestIdentityTests {
    private let post = HTTPRequest(.post, "http://h/a.png")

    /// Records what it is asked for, and in which context; waits for the gate.
    private final class Fetcher: ImageFetching {
        struct Call {
            let request: HTTPRequest
            let trace: TracePosition?
            let priority: TaskPriority
        }

        let gate = Gate()
        private let record = Locked<[Call]>([])

        var calls: [Call] { record.withLock { $0 } }

        func fetch(_ request: HTTPRequest) async throws(SessionError) -> Response<Data> {
            let call = Call(request: request, trace: TraceContext.current, priority: Task.currentPriority)
            record.withLock { $0.append(call) }
            await gate.pass()
            if Task.isCancelled { throw SessionError(.cancelled) }
            let response = HTTPResponse(status: 200, headers: ["Content-Type": "image/png"], url: request.url)
            return Response(head: response, body: Data("4x2".utf8))
        }
    }

    private let fetcher = Fetcher()
    private let cache = AutoPurgingImageCache()

    private func downloader(active: Int = 4) -> ImageDownloader {
        ImageDownloader(
            fetcher: fetcher, responseSerializer: ImageResponseSerializer(decoder: TextDecoder()),
            maximumActiveDownloads: active, imageCache: cache, completionQueue: DispatchQueue(label: "completions"))
    }

    private func request(_ change: (inout HTTPRequest) -> Void) -> HTTPRequest {
        var request = post
        change(&request)
        return request
    }

    private func key(_ change: (inout HTTPRequest) -> Void = { _ in }) -> String {
        ImageCacheKey.identifier(for: request(change))
    }

    @Test func relativeURLsDependOnBaseURLOfDownloader() async throws {
        let cache = AutoPurgingImageCache()
        let serializer = ImageResponseSerializer(decoder: TextDecoder())
        for width in [3, 5] {
            let server = try TestServer()
            server.route(
                "/logo", .respond(200, headers: ["Content-Type": "image/png"], body: Data("\(width)x1".utf8)))
            let downloader = ImageDownloader(
                manager: HTTPSessionManager(baseURL: server.urlString("/")), responseSerializer: serializer,
                imageCache: cache)
            for url in ["logo", "/logo", server.urlString("/logo")] {
                #expect(try await downloader.image(for: url).image.pixelWidth == width)
            }
            #expect(server.requests.count == 1)
        }
    }

    @Test func urlTextAndRequestIdentifySameImage() throws {
        let url = "https://h/a.jpg"
        let own = HTTPRequest(imageAt: url)
        #expect(own.headers["Accept"] == "image/*")
        let typed = try #require(URL(string: url))
        for request in [HTTPRequest(imageOf: url), HTTPRequest(imageOf: typed), HTTPRequest(imageOf: own)] {
            #expect(ImageCacheKey.identifier(for: request) == ImageCacheKey.identifier(for: own))
        }
        let plain = HTTPRequest(url)
        #expect(HTTPRequest(imageOf: plain).headers["Accept"] == "image/*")
        #expect(ImageCacheKey.identifier(for: plain) == ImageCacheKey.identifier(for: own))
    }

    @Test func requestKeepsItsOwnAcceptField() {
        let webp = request { $0.headers["accept"] = "image/webp" }
        let none = request { $0.headers.suppressDefault("Accept") }
        for request in [webp, none] { #expect(HTTPRequest(imageOf: request).headers == request.headers) }
        #expect(Set([post, webp, none].map { ImageCacheKey.identifier(for: $0) }).count == 3)
    }

    @Test func urlAndRequestForItShareDownloadAndCachedImage() async throws {
        let downloader = downloader()
        let url = "http://h/a.png"
        await ends(of: 3) { end in
            downloader.download(url, completion: end)
            downloader.download(HTTPRequest(url), completion: end)
            downloader.download(HTTPRequest(imageAt: url), completion: end)
        }
        #expect(fetcher.calls.map { $0.request.headers["Accept"] } == ["image/*"])
        for request in [HTTPRequest(url), HTTPRequest(imageAt: url)] {
            #expect(cache.image(for: request, additionalIdentifier: nil) != nil)
            #expect(try await downloader.image(for: request).response == nil)
        }
        #expect(fetcher.calls.count == 1)
        #expect(downloader.prefetch([url]).isEmpty && downloader.prefetch([HTTPRequest(url)]).isEmpty)
        cache.removeImage(for: HTTPRequest(url), additionalIdentifier: nil)
        #expect(try await downloader.image(for: url).response != nil)
    }

    @MainActor
    @Test func viewShowsTheImageThatWasPrefetchedWithARequest() async throws {
        let view = RecordingImageView(downloader())
        fetcher.gate.open()
        _ = try await view.imageDownloader.image(for: HTTPRequest("http://h/a.png"))
        view.setImage(from: "http://h/a.png")
        view.setImage(for: HTTPRequest("http://h/a.png"))
        #expect(view.widths == [4, 4])
        #expect(fetcher.calls.count == 1)
    }

    /// Waits for downloads that are begun in `begin` with the closure it gets.
    private func ends(of count: Int, _ begin: (@escaping ImageDownloader.Completion) async -> Void) async {
        let (ends, end) = AsyncStream<Void>.makeStream()
        await begin { _ in end.yield() }
        fetcher.gate.open()
        var left = count
        for await _ in ends {
            left -= 1
            if left == 0 { return }
        }
    }

    // MARK: Keys

    @Test func keyIsMadeOfCredentialSocketAndBody() {
        let users = [("a", "b"), ("ab", ""), ("b", "a")].map { Credential(user: $0, password: $1) }
        let credentials =
            users + [
                Credential(bearerToken: "a"), .fromURL(), .currentProcess,
                Credential(user: "a", password: "b", schemes: .basic),
            ]
        let bodies: [HTTPBody] = [.text(""), .text("a"), .text("b"), .text("a\n"), .json(encoding: "a")]
        let sockets = ["", "/run/a", "/run/b", "/run/a\nBody"]
        var keys = credentials.map { credential in key { $0.credential = credential } }
        keys += bodies.map { body in key { $0.body = body } }
        keys += sockets.map { socket in key { $0.unixSocket = socket } }
        keys.append(key())
        #expect(Set(keys).count == keys.count)
        #expect(key { $0.body = .text("a") } == key { $0.body = .data(Data("a".utf8)) })
        #expect(key { $0.credential = users[0] } == key { $0.credential = users[0] })
    }

    @Test func keyIsMadeOfAllHeaderFields() {
        let fields: [[(String, String)]] = [
            [], [("X-Auth-Token", "alice")], [("X-Auth-Token", "bob")], [("X-API-Key", "alice")],
            [("X-A", "1"), ("X-A", "2")], [("X-A", "2"), ("X-A", "1")], [("X-A", "1, 2")], [("X-A", "")],
            [("X-A", "1\n3 1 x-b: 2")], [("X-A", "1"), ("X-B", "2")],
        ]
        var keys = fields.map { fields in key { $0.headers = HTTPHeaders(fields) } }
        keys.append(key { $0.headers.suppressDefault("Accept") })
        #expect(Set(keys).count == keys.count)
        // What means the same to a server.
        #expect(key { $0.headers = ["A": "1", "B": "2"] } == key { $0.headers = ["b": "2", "a": "1"] })
        #expect(key { $0.headers = ["traceparent": "00-1", "X-Request-ID": "7"] } == key())
    }

    @Test func distinguishesProcessorsThatContainTheSeparator() {
        struct Named: ImageProcessing {
            let identifier: String
            func process(_ image: Image) -> Image { image }
        }
        func key(_ names: String...) -> String {
            downloader().key(of: post, names.map { Named(identifier: $0) })
        }
        let keys = [
            key("a|b", "c"), key("a", "b|c"), key("a", "b", "c"), key("a|b|c"), key("a\\", "b"), key("a\\|b"), key("a"),
            key("a|\u{301}b"), key("a", "\u{301}b"),
            key(),
        ]
        #expect(Set(keys).count == keys.count)
        #expect(key("a") == ImageCacheKey.identifier(for: post, additionalIdentifier: "a"))
    }

    @Test func longBodiesHaveAnotherIdentifierEachTime() {
        for (size, isConstant) in [(16 << 10, true), (16 << 10 + 1, false)] {
            let request = request { $0.body = .data(Data(count: size)) }
            let identifiers = (0..<2).map { _ in ImageCacheKey.identifier(for: request) }
            #expect((identifiers[0] == identifiers[1]) == isConstant)
        }
    }

    // MARK: Downloads

    @Test func differentBodiesAndUsersAreDownloadedAndCachedApart() async {
        let downloader = downloader()
        let requests = [
            request { $0.body = .text("a") }, request { $0.body = .text("b") },
            request { $0.credential = Credential(user: "a", password: "p") },
            request { $0.credential = Credential(user: "b", password: "p") },
        ]
        await ends(of: 5) { end in
            for request in requests + [requests[0]] { downloader.download(request, completion: end) }
        }
        #expect(fetcher.calls.count == 4)
        for request in requests { #expect(cache.image(for: request, additionalIdentifier: nil) != nil) }
        await ends(of: 4) { end in
            for request in requests { #expect(downloader.download(request, completion: end) == nil) }
        }
        #expect(fetcher.calls.count == 4)
    }

    @Test func requestsWithBodiesThatAreNotInMemoryAreNeitherMergedNorCached() async throws {
        let downloader = downloader()
        let file = request { $0.body = .file("/no/file") }
        await ends(of: 3) { end in
            for _ in 0..<2 { downloader.download(file, completion: end) }
            if let receipt = downloader.download(file, completion: end) { downloader.cancel(receipt) }
        }
        #expect(try await downloader.image(for: file).response != nil)
        #expect(fetcher.calls.count == 4 || fetcher.calls.count == 3)
        #expect(cache.memoryUsage == 0)
        while !downloader.isAtRest { await Task.yield() }
    }

    @MainActor
    @Test func viewShowsTheImageOfARequestWithAFile() async {
        let view = RecordingImageView(downloader())
        view.setImage(for: request { $0.body = .file("/no/file") })
        view.setImage(for: request { $0.body = .file("/no/file") })
        fetcher.gate.open()
        await view.shown.wait()
        #expect(view.widths == [4])
    }

    @Test func differentUsersByAFieldOfTheirOwnAreDownloadedAndCachedApart() async {
        let downloader = downloader()
        let users = ["alice", "bob"].map { name in request { $0.headers["X-Auth-Token"] = name } }
        await ends(of: 2) { end in
            for user in users { downloader.download(user, completion: end) }
        }
        #expect(Set(fetcher.calls.map { $0.request.headers["X-Auth-Token"] }) == ["alice", "bob"])
        cache.removeImage(for: users[0], additionalIdentifier: nil)
        #expect(cache.image(for: users[0], additionalIdentifier: nil) == nil)
        #expect(cache.image(for: users[1], additionalIdentifier: nil) != nil)
    }

    @Test func differentCachePoliciesAreDownloadedApartAndCachedTogether() async {
        let downloader = downloader()
        let fresh = request { $0.cachePolicy = .reloadIgnoringLocalCacheData }
        await ends(of: 4) { end in
            for _ in 0..<2 {
                downloader.download(request { $0.cachePolicy = .returnCacheDataElseLoad }, completion: end)
                downloader.download(fresh, completion: end)
            }
        }
        #expect(
            Set(fetcher.calls.map { $0.request.cachePolicy })
                == [.returnCacheDataElseLoad, .reloadIgnoringLocalCacheData])
        #expect(fetcher.calls.count == 2)
        #expect(downloader.cachedImage(for: post, processors: []) != nil)
    }

    @MainActor
    @Test func viewJoinsNoRequestOfAnotherCachePolicyOrDownloader() async {
        let view = RecordingImageView(downloader())
        view.setImage(for: post)
        view.setImage(for: request { $0.cachePolicy = .reloadIgnoringLocalCacheData })
        #expect(view.imageDownloader.waitingCount == 1)
        let former = view.imageDownloader
        view.imageLoads.downloader = downloader()
        view.setImage(for: request { $0.cachePolicy = .reloadIgnoringLocalCacheData })
        #expect((former.waitingCount, view.imageDownloader.waitingCount) == (0, 1))
        fetcher.gate.open()
        await view.shown.wait()
        #expect(view.widths == [4])
    }

    @Test func waitingRequestIsSentAsItsFirstRequesterMadeIt() async {
        let downloader = downloader(active: 1)
        let others = (1...2).map { seconds in request { $0.timeouts.idle = .seconds(seconds) } }
        await ends(of: 3) { end in
            downloader.download(HTTPRequest("http://h/before"), completion: end)
            for other in others { downloader.download(other, completion: end) }
        }
        #expect(fetcher.calls.map { $0.request.timeouts.idle } == [nil, .seconds(1)])
    }

    @Test func requestAfterACancelledOneIsSentAsItIs() async throws {
        let downloader = downloader(active: 1)
        let others = (1...2).map { seconds in request { $0.timeouts.idle = .seconds(seconds) } }
        await ends(of: 2) { end in
            if let receipt = downloader.download(others[0], completion: end) {
                // So that it has been sent.
                while fetcher.calls.isEmpty { await Task.yield() }
                downloader.cancel(receipt)
            }
            downloader.download(others[1], completion: end)
        }
        #expect(fetcher.calls.map { $0.request.timeouts.idle } == [.seconds(1), .seconds(2)])
    }

    @Test func eachDownloadRunsInTheContextOfItsRequester() async throws {
        let downloader = downloader(active: 1)
        let traces = try (1...3).map { number in
            try #require(TracePosition(traceparent: "00-0000000000000000000000000000000\(number)-00000000000000aa-01"))
        }
        let priorities: [TaskPriority] = [.high, .background, .medium]
        await ends(of: 4) { end in
            for (number, (trace, priority)) in zip(traces, priorities).enumerated() {
                // Waiting for the task itself would raise its priority.
                await withCheckedContinuation { continuation in
                    Task.detached(priority: priority) {
                        TraceContext.$current.withValue(trace) {
                            _ = downloader.download(HTTPRequest("http://h/\(number)"), completion: end)
                        }
                        continuation.resume()
                    }
                }
            }
            downloader.download(HTTPRequest("http://h/last"), completion: end)
        }
        #expect(fetcher.calls.map(\.trace) == traces + [nil])
        #expect(fetcher.calls.prefix(3).map(\.priority) == priorities)
    }
}
