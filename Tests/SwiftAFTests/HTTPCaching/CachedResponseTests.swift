import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

/// Responses of the HTTP cache as values, and the handler that decides what is stored.
@Suite struct CachedResponseTests {
    private let server: TestServer
    private let cache: HTTPCache
    private let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        cache = try HTTPCache()
        server.route(
            "/fresh", .respond(200, headers: ["Cache-Control": "max-age=1000", "X-A": "1"], body: Data("fresh".utf8)))
        var configuration = SessionConfiguration.default
        configuration.cache = cache
        manager = HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
    }

    private func response(_ body: String, _ headers: HTTPHeaders = ["Cache-Control": "max-age=60"]) -> CachedResponse {
        CachedResponse(head: HTTPResponse(status: 200, headers: headers, url: ""), body: Data(body.utf8))
    }

    private var request: HTTPRequest { HTTPRequest(server.urlString("/fresh")) }

    @Test func receivedResponseIsLookedUp() async throws {
        #expect(try await cache.cachedResponse(for: request) == nil)
        _ = try await manager.response(for: request)
        let stored = try #require(try await cache.cachedResponse(for: request))
        #expect(stored.body == Data("fresh".utf8) && stored.head.status == 200 && stored.head.headers["X-A"] == "1")
        #expect(stored.lifetime == .seconds(1000) && stored.isFresh && abs(stored.date.timeIntervalSinceNow) < 900)
        #expect(cache.statistics.hits == 0)
    }

    @Test func storedResponseAnswersRequests() async throws {
        try await cache.store(response("mine", ["Cache-Control": "max-age=60", "X-B": "2"]), for: request)
        let answer = try await manager.response(for: request)
        #expect(answer.cacheStatus == .hit && answer.body == Data("mine".utf8) && answer.headers["X-B"] == "2")
        #expect(server.requests.isEmpty)
    }

    @Test func credentialsAndPartitionsAreKeptApart() async throws {
        var mine = request
        mine.credential = Credential(user: "u", password: "p")
        try await cache.store(response("mine"), for: mine)
        #expect(try await cache.cachedResponse(for: mine)?.body == Data("mine".utf8))
        #expect(try await cache.cachedResponse(for: request) == nil)
        try await cache.store(response("other"), for: request, partition: "p")
        #expect(try await cache.cachedResponse(for: request) == nil)
        #expect(try await cache.cachedResponse(for: request, partition: "p")?.body == Data("other".utf8))
    }

    @Test(arguments: [
        ["Cache-Control": "no-store"], ["X-A": "neither lifetime nor validator"],
        ["Cache-Control": "max-age=1", "Content-Length": "5"], ["Cache-Control": "max-age=1\r\nX: 1"],
    ])
    func refusesToStore(headers: [String: String]) async throws {
        let refused = response("mine", HTTPHeaders(headers.map { ($0.key, $0.value) }))
        let error = await #expect(throws: SessionError.self) { try await cache.store(refused, for: request) }
        #expect(error?.code == .invalidInput && cache.statistics.count == 0)
    }

    @Test(arguments: [Date.distantPast, Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 1)])
    func responseOfLongAgoIsNotFresh(date: Date) async throws {
        var old = response("mine", ["Cache-Control": "max-age=1000", "ETag": "\"1\""])
        old.date = date
        try await cache.store(old, for: request)
        let stored = try #require(try await cache.cachedResponse(for: request))
        #expect(!stored.isFresh && stored.date == Date(timeIntervalSince1970: 1))
        #expect(stored.age > .seconds(50 * 365 * 86_400))
    }

    @Test(arguments: [0, -1])
    func refusesToOpenWithoutMemoryAndFolder(capacity: Int) {
        let error = #expect(throws: SessionError.self) { try HTTPCache(memoryCapacity: capacity) }
        #expect(
            error?.code == .invalidInput
                && error?.message.hasSuffix("no folder, and \(capacity) bytes of memory") == true)
    }

    @Test func refusesInvalidRequests() async throws {
        for url in ["relative", "http://a\0b/", ""] {
            await #expect(throws: SessionError.self) { try await cache.cachedResponse(for: HTTPRequest(url)) }
            await #expect(throws: SessionError.self) { try await cache.store(response(""), for: HTTPRequest(url)) }
        }
        await #expect(throws: SessionError.self) { try await cache.cachedResponse(for: request, partition: "a\nb") }
        let large = CachedResponse(
            head: response("").head, body: Data(count: 2 << 20), isDecoded: true, date: Date())
        let error = await #expect(throws: SessionError.self) { try await cache.store(large, for: request) }
        #expect(error?.code == .tooLarge)
    }

    @Test func listsAndVerifiesWhatIsStored() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "cache-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let cache = try HTTPCache(directory: folder.path)
        for number in 0..<3 {
            let request = HTTPRequest("http://a.test/\(number)")
            try await cache.store(response("body \(number)"), for: request, partition: "p")
        }
        let entries = try await cache.entries().sorted { $0.url < $1.url }
        #expect(entries.map(\.url) == ["http://a.test/0", "http://a.test/1", "http://a.test/2"])
        #expect(entries.allSatisfy { $0.bodySize == 6 && $0.partition == "p" && $0.isFresh && $0.isOnDisk })
        let verification = try await cache.verify()
        #expect(verification.validCount == 3 && verification.bodySize == 18 && verification.damagedCount == 0)
        #expect(try await self.cache.verify().validCount == 0)
    }

    @Test func handlerPreventsCachingOfResponse() async throws {
        manager.cachingHandler = { _ in .refuse }
        for _ in 0..<2 { #expect(try await manager.response(for: request).cacheStatus == .server) }
        #expect(cache.statistics.count == 0 && cache.statistics.refused == 2)
    }

    @Test func handlerEditsTheStoredFields() async throws {
        manager.cachingHandler = { response in
            var headers = response.headers
            headers["X-A"] = nil
            headers["X-Stored"] = response.url
            return .storeWithHeaders(headers)
        }
        #expect(try await manager.response(for: request).headers["X-A"] == "1")
        let again = try await manager.response(for: request)
        #expect(again.cacheStatus == .hit && again.headers["X-A"] == nil)
        #expect(again.headers["X-Stored"] == request.url)
    }

    @Test func handlerWithInvalidFieldsStoresNothing() async throws {
        manager.cachingHandler = { _ in .storeWithHeaders(["Cache-Control": "max-age=1\r\nX: 1"]) }
        _ = try await manager.response(for: request)
        #expect(cache.statistics.count == 0)
    }

    @Test func handlerThatStoresChangesNothing() async throws {
        manager.cachingHandler = { _ in .store }
        _ = try await manager.response(for: request)
        #expect(try await manager.response(for: request).headers["X-A"] == "1")
        #expect(cache.statistics.hits == 1)
    }
}
