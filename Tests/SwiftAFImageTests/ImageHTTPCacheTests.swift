import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFImage

/// The HTTP cache below the downloader: which requests reach the server.
@Suite struct ImageHTTPCacheTests {
    private let server: TestServer
    private let cache: HTTPCache
    private let request: HTTPRequest

    init() throws {
        server = try TestServer()
        cache = try HTTPCache()
        request = HTTPRequest(server.urlString("/a.png"))
        server.route(
            "/a.png",
            .respond(
                200, headers: ["Cache-Control": "max-age=1000", "Content-Type": "image/png"], body: Data("8x6".utf8)))
    }

    private func downloader(images: (any ImageRequestCache)? = AutoPurgingImageCache()) -> ImageDownloader {
        var configuration = SessionConfiguration.default
        configuration.cache = cache
        return ImageDownloader(
            manager: HTTPSessionManager(configuration: configuration),
            responseSerializer: ImageResponseSerializer(decoder: TextDecoder()), imageCache: images)
    }

    private func request(_ policy: HTTPRequest.CachePolicy) -> HTTPRequest {
        var request = request
        request.hints.cachePolicy = policy
        return request
    }

    @Test func originalIsFoundAgainForOtherSizes() async throws {
        let downloader = downloader()
        #expect(try await downloader.image(for: request).response?.cacheStatus == .server)
        let small = try await downloader.image(
            for: request, processors: [ResizeProcessor(width: 4, height: 3)])
        #expect(small.response?.cacheStatus == .hit && small.image.pixelWidth == 4)
        #expect(try await downloader.image(for: request).response == nil)
        #expect(server.requests.count == 1)
    }

    @Test func originalIsFoundAgainByAnotherDownloader() async throws {
        _ = try await downloader().image(for: request)
        let again = try await downloader().image(for: request)
        #expect(again.response?.cacheStatus == .hit && again.image.pixelWidth == 8)
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [
        HTTPRequest.CachePolicy.reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData,
    ])
    func reloadingIgnoresBothCaches(policy: HTTPRequest.CachePolicy) async throws {
        let downloader = downloader()
        _ = try await downloader.image(for: request)
        #expect(try await downloader.image(for: request(policy)).response?.cacheStatus == .server)
        #expect(server.requests.count == 2)
    }

    @Test func cacheOnlyUsesWhatIsStoredAndElseFails() async throws {
        let downloader = downloader(images: nil)
        let code = await code { try await downloader.image(for: request(.returnCacheDataDontLoad)) }
        #expect(code != nil && server.requests.isEmpty)
        _ = try await downloader.image(for: request)
        let stored = try await downloader.image(for: request(.returnCacheDataDontLoad))
        #expect(stored.response?.cacheStatus == .hit && server.requests.count == 1)
    }

    @Test func defaultSessionHasTheCapacitiesOfAFNetworking() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "cache-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let environment = ["XDG_CACHE_HOME": folder.path, "HOME": "/nonexistent"]
        let cache = try #require(ImageDownloader.makeCache(environment: environment, program: "viewer"))
        #expect(cache.memoryCapacity == 20 << 20 && cache.diskCapacity == 150 << 20)
        #expect(FileManager.default.fileExists(atPath: folder.appending(path: "viewer/images/1").path))
    }

    @Test func folderThatCannotBeMadeLeavesMemory() throws {
        for environment in [["HOME": "/dev/null"], ["XDG_CACHE_HOME": "/proc/nowhere"], [:]] {
            let cache = try #require(ImageDownloader.makeCache(environment: environment, program: "viewer"))
            #expect(cache.memoryCapacity == 20 << 20 && cache.diskCapacity == 0)
        }
    }
}
