import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFImage

/// AFUIImageViewTests and AFUIButtonTests of AFNetworking, and what they leave out.
@MainActor
@Suite(.timeLimit(.minutes(10)))
struct ImageDisplayingTests {
    /// What was told to the closures of one call.
    private struct Told {
        var request: HTTPRequest
        var response: HTTPResponse?
        var image: Image?
        var error: SessionError?
    }

    private let placeholder = Pictures.image(9, 9)

    private func downloader(_ fetcher: any ImageFetching) -> ImageDownloader {
        ImageDownloader(fetcher: fetcher, responseSerializer: ImageResponseSerializer(decoder: TextDecoder()))
    }

    /// A view whose images are as wide as their URLs are told to be.
    private func view(_ gate: Gate? = nil, status: Int = 200) -> RecordingImageView {
        RecordingImageView(downloader(ScriptedFetcher(gate: gate, status: status)))
    }

    private func success(_ told: Happenings<Told>) -> ImageSuccess {
        { told.add(Told(request: $0, response: $1, image: $2)) }
    }

    private func failure(_ told: Happenings<Told>) -> ImageFailure {
        { told.add(Told(request: $0, response: $1, error: $2)) }
    }

    // MARK: Pictures

    @Test func showsImageFromURL() async throws {
        let server = try TestServer()
        server.route("/a", .respond(200, headers: ["Content-Type": "image/png"], body: Data("7x3".utf8)))
        let view = RecordingImageView(downloader(SessionFetcher(HTTPSessionManager())))
        view.setImage(from: server.url("/a"))
        #expect(view.widths == [])
        await view.shown.wait()
        #expect(view.widths == [7])
        #expect(server.requests.first?["Accept"] == "image/*")
    }

    @Test func repeatedRequestJoinsRunningDownload() async throws {
        let gate = Gate()
        let fetcher = ScriptedFetcher(gate: gate)
        let view = RecordingImageView(downloader(fetcher))
        let told = Happenings<Told>()
        let request = HTTPRequest("http://h/a")
        view.setImage(for: request, placeholder: placeholder)
        view.setImage(for: request, placeholder: placeholder, success: success(told))
        view.setImage(for: request, placeholder: placeholder, success: success(told))
        gate.open()
        await told.wait(for: 2)
        #expect(view.widths == [9, 4])
        #expect(fetcher.snapshot.fetched.count == 1)
        #expect(!view.imageLoads.isLoading(.image))
    }

    @Test func repeatedRequestShowsItsNewPlaceholder() async throws {
        let gate = Gate()
        let view = view(gate)
        let url = "http://h/a"
        let other = Pictures.image(8, 8)
        view.setImage(from: url)
        view.setImage(from: url, placeholder: placeholder)
        view.setImage(from: url, placeholder: placeholder)
        view.setImage(from: url, placeholder: other)
        view.setImage(from: url)
        view.setImage(from: url, clearsImage: true)
        view.setImage(from: url, clearsImage: true)
        #expect(view.widths == [9, 8, 0])
        gate.open()
        await view.shown.wait(for: 4)
        #expect(view.widths == [9, 8, 0, 4])
    }

    @Test(arguments: [404, 500])
    func keepsPlaceholderAfterFailure(status: Int) async throws {
        let view = view(status: status)
        let told = Happenings<Told>()
        view.setImage(for: HTTPRequest("http://h/a"), placeholder: placeholder, failure: failure(told))
        let failed = try #require(await told.wait().first)
        #expect(failed.error?.code == .status && failed.response?.status == status)
        #expect(view.shown.all.map(\.image) == [placeholder])
    }

    @Test func showsCachedImageImmediatelyWithoutPlaceholder() async throws {
        let view = view()
        let request = HTTPRequest("http://h/a")
        let downloaded = try await view.imageDownloader.image(for: request)
        let told = Happenings<Told>()
        view.setImage(for: request, placeholder: placeholder)
        view.setImage(for: request, placeholder: placeholder, success: success(told))
        #expect(view.shown.all.count == 1)
        #expect(view.shown.all.first?.image?.isIdentical(to: downloaded.image) == true)
        #expect(told.all.count == 1 && told.all[0].response == nil)
        #expect(told.all.first?.image?.isIdentical(to: downloaded.image) == true)
    }

    @Test func requestThatIgnoresCachesReachesServer() async throws {
        let view = view()
        var request = HTTPRequest("http://h/a")
        _ = try await view.imageDownloader.image(for: request)
        request.hints.cachePolicy = .reloadIgnoringLocalCacheData
        let told = Happenings<Told>()
        view.setImage(for: request, success: success(told))
        #expect(told.all.isEmpty)
        #expect(await told.wait().first?.response?.status == 200)
    }

    @Test func showsPrefetchedImageImmediately() async throws {
        let view = view()
        _ = try await view.imageDownloader.image(for: HTTPRequest(imageAt: "http://h/a"))
        view.setImage(from: "http://h/a")
        #expect(view.widths == [4])
    }

    @Test func imageFromURLIsProcessed() async throws {
        let view = view()
        view.setImage(from: "http://h/a", processors: [.resize(width: 2, height: 2)])
        await view.shown.wait()
        view.setImage(from: URL(string: "http://h/a"), processors: [.resize(width: 2, height: 2)])
        #expect(view.widths == [2, 2])
    }

    @Test(arguments: [ImageSlot.image, .background, .background(.selected)])
    func loadsAgainDirectlyAfterCancellation(slot: ImageSlot) async throws {
        let view = view()
        let told = Happenings<Told>()
        let request = HTTPRequest("http://h/a")
        view.setImage(for: request, in: slot, success: success(told), failure: failure(told))
        view.cancelImageDownload(in: slot)
        #expect(!view.imageLoads.isLoading(slot))
        view.setImage(for: request, in: slot, success: success(told), failure: failure(told))
        await told.wait()
        view.setImage(from: "http://h/other", in: slot)
        await view.shown.wait()
        // Neither closure of the first call was called.
        #expect(told.all.count == 1 && told.all[0].error == nil)
    }

    /// Something that only the closures of a download hold.
    @MainActor
    private final class Presenter {
        private let view: RecordingImageView

        init(_ view: RecordingImageView) {
            self.view = view
        }

        isolated deinit {
            view.cancelImageDownload()
        }
    }

    @Test(arguments: [0, 1, 2])
    func objectsReleasedByClosuresMayUseView(way: Int) {
        let view = view(Gate())
        func start(_ presenter: Presenter) {
            view.setImage(for: HTTPRequest("http://h/a"), success: { _, _, _ in withExtendedLifetime(presenter) {} })
        }
        start(Presenter(view))
        switch way {
        case 0: view.cancelImageDownload()
        case 1: view.cancelImageDownloads()
        default: view.setImage(for: HTTPRequest("http://h/b"))
        }
        // The presenter has cancelled what was under way before the new image began.
        #expect(view.imageLoads.isLoading(.image) == (way == 2))
    }

    @Test(arguments: [true, false])
    func emptyURLShowsPlaceholderAndCancelsDownload(hasPlaceholder: Bool) async throws {
        let gate = Gate()
        let view = view(gate)
        view.setImage(from: "http://h/a")
        let told = Happenings<Told>()
        var request = HTTPRequest("")
        request.headers["X-Mark"] = "7"
        view.setImage(for: request, placeholder: hasPlaceholder ? placeholder : nil, failure: failure(told))
        #expect(told.all.count == 1)
        #expect(told.all.first?.request.headers["X-Mark"] == "7")
        #expect(told.all.first?.error?.code == .invalidInput && told.all.first?.response == nil)
        gate.open()
        view.setImage(from: "http://h/b")
        await view.shown.wait(for: 2)
        #expect(view.widths == [hasPlaceholder ? 9 : 0, 4])
    }

    @Test func nilURLClearsImage() {
        let view = view()
        view.setImage(from: nil)
        view.cancelImageDownload()
        view.cancelImageDownloads()
        #expect(view.widths == [0])
    }

    @Test func aMissingURLShowsThePlaceholder() {
        let view = view()
        view.setImage(from: URL(string: ""), placeholder: placeholder)
        view.setImage(from: nil as URL?)
        #expect(view.widths == [9, 0])
    }

    @Test(arguments: [true, false])
    func keepsCurrentImageUntilNextUnlessCleared(isCleared: Bool) async throws {
        let gate = Gate()
        let view = view(gate)
        view.setImage(from: "http://h/a", placeholder: placeholder)
        view.setImage(from: "http://h/bb", clearsImage: isCleared)
        #expect(view.widths == (isCleared ? [9, 0] : [9]))
        gate.open()
        await view.shown.wait(for: isCleared ? 3 : 2)
        #expect(view.widths == (isCleared ? [9, 0, 4] : [9, 4]))
        // A cached image is shown without a gap, and a placeholder is enough.
        view.setImage(from: "http://h/bb", clearsImage: true)
        view.setImage(from: "http://h/ccc", placeholder: placeholder, clearsImage: true)
        #expect(view.widths.suffix(2) == [4, 9])
        view.cancelImageDownloads()
    }

    @Test func failsForInvalidURLText() async throws {
        let view = RecordingImageView(downloader(SessionFetcher(HTTPSessionManager())))
        let told = Happenings<Told>()
        view.setImage(for: HTTPRequest("http://[::"), placeholder: placeholder, failure: failure(told))
        #expect(await told.wait().first?.error?.code == .invalidInput)
        #expect(view.widths == [9])
    }

    @Test func successClosureReceivesImageInsteadOfView() async throws {
        let view = view()
        let told = Happenings<Told>()
        view.setImage(for: HTTPRequest("http://h/a"), success: success(told))
        let succeeded = try #require(await told.wait().first)
        #expect(succeeded.image?.pixelWidth == 4 && succeeded.response?.status == 200)
        #expect(succeeded.request.url == "http://h/a")
        #expect(view.widths.isEmpty)
    }

    @Test func showsOnlyLastRequestedImage() async throws {
        let fetcher = GatedFetcher()
        let view = RecordingImageView(downloader(fetcher))
        let told = Happenings<Told>()
        view.setImage(for: HTTPRequest("http://h/1"), success: success(told), failure: failure(told))
        // Somebody else wants the first one too, so that it comes although the view has given it up.
        async let first = view.imageDownloader.image(for: HTTPRequest("http://h/1"))
        while view.imageDownloader.waitingCount < 2 { await Task.yield() }
        view.setImage(for: HTTPRequest("http://h/22"))
        fetcher.open("http://h/22")
        await view.shown.wait()
        fetcher.open("http://h/1")
        #expect(try await first.image.pixelWidth == 10)
        view.setImage(from: "http://h/333", placeholder: placeholder)
        fetcher.open("http://h/333")
        await view.shown.wait(for: 3)
        #expect(view.widths == [11, 9, 12])
        #expect(told.all.isEmpty)
    }

    @Test func releasedViewCancelsItsDownloads() async throws {
        let fetcher = GatedFetcher()
        let downloader = downloader(fetcher)
        weak var gone: RecordingImageView?
        let told = Happenings<Told>()
        do {
            let view = RecordingImageView(downloader)
            view.setImage(for: HTTPRequest("http://h/1"), success: success(told), failure: failure(told))
            view.setImage(from: "http://h/2", in: .background)
            gone = view
        }
        #expect(gone == nil)
        #expect(downloader.waitingCount == 0)
        fetcher.open("http://h/1")
        fetcher.open("http://h/2")
        fetcher.open("http://h/3")
        _ = try await downloader.image(for: HTTPRequest("http://h/3"))
        #expect(told.all.isEmpty)
    }

    @Test func cachesProcessedImageSeparately() async throws {
        let view = view()
        view.setImage(for: HTTPRequest("http://h/a"), processors: [ResizeProcessor(width: 2, height: 2)])
        await view.shown.wait()
        view.setImage(for: HTTPRequest("http://h/a"), processors: [ResizeProcessor(width: 2, height: 2)])
        view.setImage(for: HTTPRequest("http://h/a"))
        await view.shown.wait(for: 3)
        #expect(view.widths == [2, 2, 4])
    }

    @Test func sharedDownloaderCanBeReplaced() async throws {
        let usual = ImageLoads.sharedDownloader
        #expect(usual === ImageDownloader.default)
        defer { ImageLoads.sharedDownloader = usual }
        let shared = downloader(ScriptedFetcher())
        ImageLoads.sharedDownloader = shared
        let view = RecordingImageView()
        #expect(view.imageDownloader === shared)
        view.setImage(from: "http://h/a")
        await view.shown.wait()
        #expect(view.widths == [4])
        let other = downloader(ScriptedFetcher())
        view.imageLoads.downloader = other
        #expect(view.imageDownloader === other)
    }

    // MARK: Buttons

    @Test func everySlotHasItsOwnImage() async throws {
        let fetcher = GatedFetcher()
        let button = RecordingImageView(downloader(fetcher))
        let slots = ImageSlot.Layer.allCases.flatMap { layer in
            ImageSlot.ControlState.allCases.map { ImageSlot(layer, $0) }
        }
        for (index, slot) in slots.enumerated() {
            let url = "http://h/" + String(repeating: "x", count: index)
            button.setImage(from: url, in: slot)
            fetcher.open(url)
        }
        let cancelled = ImageSlot.background(.highlighted)
        button.cancelImageDownload(in: cancelled)
        await button.shown.wait(for: slots.count - 1)
        let widths = Dictionary(uniqueKeysWithValues: button.shown.all.map { ($0.slot, $0.image?.pixelWidth ?? 0) })
        for (index, slot) in slots.enumerated() {
            #expect(widths[slot] == (slot == cancelled ? nil : 9 + index))
        }
    }

    @Test func setsOnlyBackgroundOfButton() async throws {
        let button = view()
        button.setImage(from: "http://h/a", in: .background)
        await button.shown.wait()
        #expect(button.shown.all.map(\.slot) == [.background])
        #expect(ImageSlot.background == .background(.normal) && ImageSlot.image == .image(.normal))
    }
}

/// Answers each URL, once it is opened, with an image as wide as the URL is long.
private final class GatedFetcher: ImageFetching {
    private let gates = Locked<[String: Gate]>([:])

    private func gate(_ url: String) -> Gate {
        gates.withLock { gates in
            let gate = gates[url] ?? Gate()
            gates[url] = gate
            return gate
        }
    }

    func open(_ url: String) {
        gate(url).open()
    }

    func fetch(_ request: HTTPRequest) async throws(SessionError) -> Response<Data> {
        await gate(request.url).pass()
        let response = HTTPResponse(status: 200, headers: ["Content-Type": "image/png"], url: request.url)
        return Response(head: response, body: Data("\(request.url.count)x1".utf8))
    }
}
