import Foundation
import SwiftAF
import Testing

extension Interop {
    /// Servers that take their time, and callers that don't have it.
    @Suite struct Waiting {
        let servers: RealServers
        let manager: HTTPSessionManager

        init() async throws {
            servers = try await RealServers.shared
            manager = servers.manager(servers.httpbin.origin)
        }

        @Test func aTotalLimitEndsTheWait() async throws {
            var request = HTTPRequest("/delay/10")
            request.timeouts.total = .milliseconds(200)
            let error = try await sessionError { try await manager.response(for: request) }
            #expect(error.code == .timeout)
            #expect(error.reason == .total)
        }

        @Test func anIdleLimitEndsTheWaitForTheHead() async throws {
            var request = HTTPRequest("/delay/10")
            request.timeouts.idle = .milliseconds(200)
            let error = try await sessionError { try await manager.response(for: request) }
            #expect(error.code == .timeout)
            #expect(error.reason == .idle)
        }

        @Test func anIdleLimitEndsTheWaitWithinABody() async throws {
            var request = HTTPRequest("/drip?numbytes=2&duration=60")
            request.timeouts.idle = .seconds(3)
            let error = try await sessionError { try await manager.response(for: request) }
            #expect(error.code == .timeout)
            #expect(error.reason == .idle)
            #expect(error.status == 200)
        }

        @Test func anIdleLimitDoesNotEndWhatMoves() async throws {
            var request = HTTPRequest("/drip?numbytes=12&duration=6")
            request.timeouts.idle = .seconds(4)
            #expect(try await manager.response(for: request).body.count == 12)
        }

        @Test func cancellingEndsTheWait() async throws {
            let waiting = Task { try await manager.response(for: HTTPRequest("/delay/3")) }
            waiting.cancel()
            #expect(try await sessionError { try await waiting.value }.code == .cancelled)
        }

        @Test func cancellingEndsABodyThatHasBegun() async throws {
            let (begun, signal) = AsyncStream.makeStream(of: Void.self)
            let waiting = Task {
                // Longer than any test takes, in pieces that let the server notice that the client is gone.
                let streamed = try await manager.stream(HTTPRequest("/drip?numbytes=6000&duration=3000"))
                var count = 0
                for try await piece in streamed.bytes {
                    count += piece.count
                    signal.yield()
                }
                return count
            }
            for await _ in begun { break }
            waiting.cancel()
            #expect(try await sessionError { try await waiting.value }.code == .cancelled)
        }
    }
}
