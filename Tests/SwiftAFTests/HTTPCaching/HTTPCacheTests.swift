import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

/// The HTTP cache, as far as it crosses into Swift. Its rules and its store are tested in C.
@Suite struct HTTPCacheTests {
    private let server: TestServer
    private let cache: HTTPCache

    init() throws {
        server = try TestServer()
        cache = try HTTPCache()
        server.route("/fresh", .respond(200, headers: ["Cache-Control": "max-age=1000"], body: Data("fresh".utf8)))
        server.route(
            "/stale", .respond(200, headers: ["Cache-Control": "max-age=0", "ETag": "\"1\""], body: Data("stale".utf8)))
        server.route("/never", .respond(200, headers: ["Cache-Control": "no-store"], body: Data("never".utf8)))
        server.route(
            "/moved",
            .respond(301, headers: ["Cache-Control": "max-age=1000", "Location": "/fresh"]))
    }

    private func manager(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> HTTPSessionManager {
        var configuration = SessionConfiguration.default
        configuration.cache = cache
        change(&configuration)
        return HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
    }

    private func request(_ path: String, _ policy: HTTPRequest.CachePolicy? = nil) -> HTTPRequest {
        var request = HTTPRequest(server.urlString(path))
        request.hints.cachePolicy = policy
        return request
    }

    @Test func freshResponseIsUsedAgain() async throws {
        let manager = manager()
        let first = try await manager.response(for: request("/fresh"))
        #expect(first.cacheStatus == .server && !first.cacheStatus.isFromCache)
        let second = try await manager.response(for: request("/fresh"))
        #expect(second.cacheStatus == .hit && second.cacheStatus.isFromCache)
        #expect(second.body == first.body && second.status == 200)
        #expect(second.headers["Age"] != nil)
        #expect(server.requests.count == 1)
        let statistics = cache.statistics
        #expect(statistics.count == 1 && statistics.hits == 1 && statistics.misses == 1 && statistics.stored == 1)
        #expect(cache.currentMemoryUsage > 0 && cache.currentDiskUsage == 0)
    }

    @Test func sessionWithoutCacheAsksAgain() async throws {
        let manager = HTTPSessionManager()
        for _ in 0..<2 {
            #expect(try await manager.response(for: request("/fresh")).cacheStatus == .server)
        }
        #expect(server.requests.count == 2)
    }

    @Test func otherSessionSharesTheCacheUnlessItHasAnotherPartition() async throws {
        _ = try await manager().response(for: request("/fresh"))
        #expect(try await manager().response(for: request("/fresh")).cacheStatus == .hit)
        let apart = manager { $0.cachePartition = "someone else" }
        #expect(try await apart.response(for: request("/fresh")).cacheStatus == .server)
        #expect(try await apart.response(for: request("/fresh")).cacheStatus == .hit)
    }

    @Test func policiesAreObeyed() async throws {
        let manager = manager()
        func status(_ path: String, _ policy: HTTPRequest.CachePolicy) async throws -> CacheStatus {
            try await manager.response(for: request(path, policy)).cacheStatus
        }
        let missing = try await manager.response(for: request("/stale", .returnCacheDataDontLoad))
        #expect(missing.status == 504 && missing.cacheStatus == .missing)
        #expect(server.requests.count == 0)
        #expect(try await status("/stale", .returnCacheDataElseLoad) == .server)
        #expect(try await status("/stale", .returnCacheDataElseLoad) == .stale)
        #expect(try await status("/stale", .returnCacheDataDontLoad) == .stale)
        #expect(server.requests.count == 1)
        #expect(try await status("/stale", .reloadIgnoringLocalCacheData) == .server)
        #expect(try await status("/stale", .reloadIgnoringLocalAndRemoteCacheData) == .server)
        #expect(server.requests.count == 3 && server.requests.last?["If-None-Match"] == nil)
        #expect(try await status("/fresh", .bypassCache) == .server)
        #expect(try await status("/fresh", .useProtocolCachePolicy) == .server)
        #expect(try await status("/fresh", .useProtocolCachePolicy) == .hit)
    }

    @Test func onlyThePolicyForRemoteCachesSendsNoCache() async throws {
        for manager in [manager(), HTTPSessionManager()] {
            for policy in [.reloadIgnoringLocalCacheData, .bypassCache, .useProtocolCachePolicy]
                as [HTTPRequest.CachePolicy]
            {
                _ = try await manager.response(for: request("/never", policy))
                #expect(server.requests.last?["Cache-Control"] == nil && server.requests.last?["Pragma"] == nil)
            }
            var request = request("/never", .reloadIgnoringLocalAndRemoteCacheData)
            _ = try await manager.response(for: request)
            #expect(
                server.requests.last?["Cache-Control"] == "no-cache" && server.requests.last?["Pragma"] == "no-cache")
            request.headers["Cache-Control"] = "max-age=5"
            request.headers.suppressDefault("Pragma")
            _ = try await manager.response(for: request)
            #expect(server.requests.last?["Cache-Control"] == "max-age=5" && server.requests.last?["Pragma"] == nil)
        }
    }

    @Test func concurrentRequestsThatCollapseAskTheServerOnce() async throws {
        server.route(
            "/slow",
            [.stall(at: "gate"), .respond(200, headers: ["Cache-Control": "max-age=1000"], body: Data("s".utf8))])
        let manager = manager { $0.collapsesRequests = true }
        let request = request("/slow")
        let bodies = try await withThrowingTaskGroup(of: Data.self) { group in
            for _ in 0..<200 { group.addTask { try await manager.response(for: request).body } }
            #expect(await server.wait(for: .stalled(at: "gate")))
            server.open("gate")
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(bodies.count == 200 && bodies.allSatisfy { $0 == Data("s".utf8) })
        #expect(server.requests.count == 1)
    }

    @Test func requestDecidesWhetherItCollapses() async throws {
        server.route(
            "/slow",
            [.stall(at: "gate"), .respond(200, headers: ["Cache-Control": "max-age=1000"], body: Data("s".utf8))])
        let manager = manager { $0.collapsesRequests = true }
        var request = request("/slow")
        request.collapsesRequests = false
        let calls = (0..<2).map { _ in Task { [request] in try await manager.response(for: request).status } }
        #expect(await server.wait(for: .stalled(at: "gate", count: 2)))
        server.open("gate")
        for call in calls { #expect(try await call.value == 200) }
    }

    @Test func managerHasAPolicyForRequestsWithoutTheirOwn() async throws {
        let manager = manager()
        manager.cachePolicy = .returnCacheDataDontLoad
        #expect(try await manager.response(for: request("/fresh")).cacheStatus == .missing)
        #expect(try await manager.response(for: request("/fresh", .useProtocolCachePolicy)).cacheStatus == .server)
        #expect(try await manager.response(for: request("/fresh")).cacheStatus == .hit)
        manager.cachePolicy = .reloadIgnoringLocalCacheData
        #expect(try await manager.response(for: request("/fresh")).cacheStatus == .server)
        manager.cachePolicy = nil
        let folder = try TestFolder()
        let file = folder.file("news")
        #expect(try await manager.download(request("/fresh"), to: file).cacheStatus == .hit)
        #expect(server.requests.count == 2)
    }

    @Test func headOfAStreamSaysWhereItCameFrom() async throws {
        let manager = manager()
        let seen = Recorder<CacheStatus>()
        func status(_ path: String, _ policy: HTTPRequest.CachePolicy? = nil) async throws -> CacheStatus {
            var request = request(path, policy)
            request.responseHandler = { head in
                seen.record(head.cacheStatus)
                return .allow
            }
            let stream = try await manager.stream(request)
            for try await _ in stream.bytes {}
            return stream.cacheStatus
        }
        #expect(try await status("/fresh", .returnCacheDataDontLoad) == .missing)
        #expect(try await status("/fresh") == .server)
        #expect(try await status("/fresh") == .hit)
        #expect(seen.values == [.missing, .server, .hit])
        #expect(server.requests.count == 1)
    }

    @Test func staleResponseIsRevalidated() async throws {
        let manager = manager()
        server.route(
            "/checked", times: 1,
            .respond(200, headers: ["ETag": "\"1\"", "Cache-Control": "max-age=0"], body: Data("x".utf8)))
        server.route("/checked", .status(304, headers: ["ETag": "\"1\"", "Cache-Control": "max-age=0"]))
        _ = try await manager.response(for: request("/checked"))
        let again = try await manager.response(for: request("/checked"))
        #expect(again.cacheStatus == .revalidated && again.status == 200 && again.body == Data("x".utf8))
        #expect(server.requests.last?["If-None-Match"] == "\"1\"")
        #expect(cache.statistics.revalidated == 1)
    }

    @Test func redirectsComeFromTheCacheHopByHop() async throws {
        let manager = manager()
        _ = try await manager.response(for: request("/moved"))
        let again = try await manager.response(for: request("/moved"))
        #expect(again.metrics.hops.map(\.cacheStatus) == [.hit, .hit])
        #expect(server.requests.count == 2)
    }

    @Test func serializerSetsThePolicy() async throws {
        let manager = manager()
        var serializer = HTTPRequestSerializer()
        serializer.hints.cachePolicy = .returnCacheDataDontLoad
        manager.requestSerializer = serializer
        #expect(try await manager.response(.get, "/fresh").cacheStatus == .missing)
    }

    @Test func responsesAreRemoved() async throws {
        let manager = manager()
        for path in ["/fresh", "/stale", "/never"] { _ = try await manager.response(for: request(path)) }
        #expect(cache.statistics.count == 2 && cache.statistics.refused == 1)
        try cache.removeResponses(for: server.urlString("/stale"))
        #expect(cache.statistics.count == 1)
        cache.removeResponses(ofHost: "elsewhere.test")
        cache.removeResponses(since: Date(timeIntervalSinceNow: 100))
        #expect(cache.statistics.count == 1)
        cache.removeResponses(since: Date(timeIntervalSinceNow: -100))
        #expect(cache.statistics.count == 0)
        _ = try await manager.response(for: request("/fresh"))
        cache.removeResponses(ofHost: "127.0.0.1")
        #expect(cache.statistics.count == 0)
        _ = try await manager.response(for: request("/fresh"))
        cache.removeAllResponses()
        #expect(cache.statistics.count == 0 && cache.currentMemoryUsage == 0)
        #expect(throws: SessionError.self) { try cache.removeResponses(for: "no url") }
        #expect(throws: SessionError.self) { try cache.removeResponses(for: "http://a/", partition: "a\nb") }
    }

    @Test func capacitiesCanBeChanged() async throws {
        let manager = manager()
        #expect(cache.memoryCapacity == 20 << 20 && cache.diskCapacity == 0)
        #expect("\(CacheStatus.hit)" == "hit")
        _ = try await manager.response(for: request("/fresh"))
        cache.memoryCapacity = 0
        #expect(cache.statistics.count == 0 && cache.memoryCapacity == 0)
        _ = try await manager.response(for: request("/fresh"))
        #expect(try await manager.response(for: request("/fresh")).cacheStatus == .server)
    }

    @Test func capacitiesSetByTwoTasksAreBothKept() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "cache-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let cache = try HTTPCache(directory: folder)
        for round in 1...1000 {
            async let memory: Void = { cache.memoryCapacity = round << 20 }()
            async let disk: Void = { cache.diskCapacity = round << 20 }()
            _ = await (memory, disk)
            #expect(cache.memoryCapacity == round << 20 && cache.diskCapacity == round << 20)
        }
    }

    @Test func responsesSurviveOnDisk() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "cache-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        for round in 0..<2 {
            let cache = try HTTPCache(memoryCapacity: 0, diskCapacity: 10 << 20, directory: folder.path)
            let response = try await manager { $0.cache = cache }.response(for: request("/fresh"))
            #expect(response.body == Data("fresh".utf8))
            #expect(response.cacheStatus == (round == 0 ? .server : .hit))
            await cache.flush()
            #expect(cache.currentDiskUsage > 0 && cache.diskCapacity == 10 << 20)
        }
        #expect(server.requests.count == 1)
        #expect(throws: SessionError.self) { try HTTPCache(directory: "/dev/null/cache") }
        #expect(throws: SessionError.self) { try HTTPCache(directory: "a\0b") }
        let page = try #require(URL(string: "http://h/cache"))
        let error = #expect(throws: SessionError.self) { try HTTPCache(directory: page) }
        #expect(error?.message == "the URL of a cache doesn't begin with file://")
    }
}
