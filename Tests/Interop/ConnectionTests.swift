import Foundation
import SwiftAF
import Testing

extension Interop {
    /// How many connections are made, and that none of their ends loses a request.
    @Suite struct Connections {
        let servers: RealServers
        let manager: HTTPSessionManager

        init() async throws {
            servers = try await RealServers.shared
            manager = servers.manager()
        }

        private func small(_ listener: Nginx.Listener) -> HTTPRequest {
            HTTPRequest(servers.nginx.url("/small", listener))
        }

        @Test func oneAfterTheOtherShareOne() async throws {
            var connections: Set<String> = []
            for index in 0..<50 {
                let response = try await manager.response(for: small(.plain))
                connections.insert(response.connection)
                #expect(response.metrics.hops.last?.isReused == (index > 0))
                #expect(response.head.version == .http1_1)
            }
            #expect(connections.count == 1)
        }

        @Test func manyAtOnceShareAsManyAsAreAllowed() async throws {
            let responses = try await manager.responses(for: small(.plain), count: 200)
            let most = try #require(manager.configuration.maximumConnectionsPerHost)
            #expect(Set(responses.map(\.connection)).count <= most)
        }

        @Test func sharesConnectionsOverHTTP2() async throws {
            // 100 from nothing: more are not sent before the server has said how many it takes. Then 200.
            let first = try await manager.responses(for: small(.tls), count: 100)
            let second = try await manager.responses(for: small(.tls), count: 200)
            let responses = first + second
            #expect(responses.allSatisfy { $0.head.version == .http2 && $0.protocol == "HTTP/2.0" })
            #expect(responses.allSatisfy { $0.body == Data("small".utf8) })
            #expect(Set(responses.map(\.connection)).count <= manager.maximumHTTP2Connections)
        }

        @Test func aNarrowHTTP2ServerAnswersThemAll() async throws {
            let responses = try await manager.responses(for: small(.narrow), count: 200)
            #expect(responses.allSatisfy { $0.head.version == .http2 && $0.body == Data("small".utf8) })
            // What is sent before the server has said how many it takes is refused, and libcurl gives up the
            // connection: others take the place of those, so that there are never more at once.
            let most = try #require(manager.configuration.maximumConnectionsPerHost)
            #expect(Set(responses.map(\.connection)).count <= 2 * most)
        }

        @Test func priorKnowledgeSavesNegotiation() async throws {
            var request = small(.http2)
            request.httpVersion = .http2PriorKnowledge
            for _ in 0..<3 {
                let responses = try await manager.responses(for: request, count: 50)
                #expect(responses.allSatisfy { $0.head.version == .http2 && $0.protocol == "HTTP/2.0" })
                #expect(responses.allSatisfy { $0.body == Data("small".utf8) })
            }
        }

        @Test func managersShareNone() async throws {
            let other = servers.manager()
            let first = try await manager.response(for: small(.plain))
            let second = try await other.response(for: small(.plain))
            #expect(first.connection != second.connection)
        }

        @Test func reconnectsToServerThatClosesAfterEachResponse() async throws {
            var connections: Set<String> = []
            for _ in 0..<20 {
                let response = try await manager.response(for: HTTPRequest(servers.nginx.url("/close")))
                #expect(response.headers["Connection"] == "close")
                #expect(try response.text() == "closing")
                connections.insert(response.connection)
            }
            #expect(connections.count == 20)
        }

        @Test func aServerThatClosesAfterThreeLosesNone() async throws {
            var connections: Set<String> = []
            for _ in 0..<200 {
                connections.insert(try await manager.response(for: small(.threeRequests)).connection)
            }
            #expect(connections.count == 67)
            let atOnce = try await manager.responses(for: small(.threeRequests), count: 200)
            #expect(atOnce.allSatisfy { $0.status == 200 })
        }

        @Test(arguments: ["GET", "PUT"] as [HTTPMethod])
        func aServerThatClosesIdleConnectionsLosesNone(_ method: HTTPMethod) async throws {
            var request = small(.impatient)
            request.method = method
            if method == "PUT" { request.body = .text("a body that can be sent again") }
            for _ in 0..<200 {
                #expect(try await manager.response(for: request).status == 200)
            }
        }

        @Test func aReloadLosesNone() async throws {
            let nginx = try Nginx(
                authority: servers.authority, httpbinPort: servers.httpbin.port, webSocketPort: servers.webSockets.port)
            for listener in [Nginx.Listener.plain, .tls] {
                let request = HTTPRequest(nginx.url("/small", listener))
                var worker = try await manager.response(for: request).worker
                for _ in 0..<5 {
                    try nginx.reload()
                    worker = try await nextWorker(after: worker, request)
                }
            }
        }

        /// Asks until another process answers; every answer on the way must be one.
        private func nextWorker(after worker: String, _ request: HTTPRequest) async throws -> String {
            while true {
                let responses = try await manager.responses(for: request, count: 4)
                #expect(responses.allSatisfy { $0.status == 200 })
                if let next = responses.first(where: { $0.worker != worker }) { return next.worker }
            }
        }

        @Test func aServerThatClosesWithoutAnAnswerIsAnError() async throws {
            for listener in [Nginx.Listener.plain, .tls12] {
                let error = try await sessionError {
                    try await manager.response(for: HTTPRequest(servers.nginx.url("/abrupt", listener)))
                }
                #expect(error.code == .connectionLost)
                #expect(error.response == nil)
            }
        }

        @Test func aPortWithoutServerIsAnError() async throws {
            let closed = try ListeningSocket(isOpen: false)
            let error = try await sessionError {
                try await manager.response(for: HTTPRequest("http://127.0.0.1:\(closed.port)/"))
            }
            #expect(error.code == .connect)
            #expect(error.systemError == ECONNREFUSED)
        }
    }
}
