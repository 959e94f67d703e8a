import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite struct PrewarmTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
        server.route("/x", .text("done"))
    }

    @Test func theNextRequestUsesThePrewarmedConnection() async throws {
        let manager = HTTPSessionManager(baseURL: server.urlString("/"))
        try await manager.prewarm("/")
        #expect(await server.wait(for: .connections(1)))
        #expect(server.connections.count == 1 && server.requests.isEmpty)
        let response = try await manager.response(.get, "x")
        #expect(response.metrics.hops.map(\.isReused) == [true])
        #expect(server.connections.count == 1)
    }

    @Test func interceptorsAndMonitorsAreNotAsked() async throws {
        let manager = HTTPSessionManager(baseURL: server.urlString("/"))
        let archive = HARRecorder()
        manager.eventMonitors = [archive]
        manager.interceptors = [Interceptor(adapt: { _, _ in throw SessionError(.authentication) })]
        try await manager.prewarm("x", connections: 3)
        await manager.flushMonitors()
        #expect(archive.document["log"]?["entries"]?.array?.isEmpty == true)
        #expect(await server.wait(for: .connections(1)))
        #expect((1...3).contains(server.connections.count))
    }

    @Test func errorsAreThoseOfARequest() async throws {
        let manager = HTTPSessionManager()
        for (url, code) in [
            ("http://127.0.0.1:1/", SessionError.Code.connect), ("no url", .invalidInput),
            ("http://name.invalid./", .dns),
        ] {
            await #expect { try await manager.prewarm(url) } throws: { ($0 as? SessionError)?.code == code }
        }
        manager.invalidate(cancellingTasks: true)
        await #expect { try await manager.prewarm(server.urlString("/")) } throws: {
            ($0 as? SessionError)?.code == .closed
        }
    }

    @Test func aConnectionClosesAfterItsRequests() async throws {
        var configuration = SessionConfiguration()
        configuration.maximumRequestsPerConnection = 2
        configuration.maximumConnectionAge = .seconds(3600)
        let manager = HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
        var reuses: [Bool] = []
        for _ in 0..<4 { reuses += try await manager.response(.get, "x").metrics.hops.map(\.isReused) }
        #expect(reuses == [false, true, false, true])
    }
}
