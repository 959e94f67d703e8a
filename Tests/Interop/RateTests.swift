import Foundation
import SwiftAF
import Testing

extension Interop {
    /// Limits of bytes per second, over HTTP/2 too: there a limited transfer must leave its connection to others.
    @Suite struct Rates {
        let servers: RealServers
        let manager: HTTPSessionManager

        init() async throws {
            servers = try await RealServers.shared
            manager = servers.manager()
        }

        static let listeners = [Nginx.Listener.plain, .http2, .tls]

        private func request(
            _ method: HTTPMethod, _ path: String, _ listener: Nginx.Listener, body: HTTPBody = .none
        ) -> HTTPRequest {
            var request = HTTPRequest(method, servers.nginx.url(path, listener), body: body)
            if listener == .http2 { request.httpVersion = .http2PriorKnowledge }
            return request
        }

        /// All but two pieces of an eighth of a second each have been paid for at the end.
        private func least(_ size: Int, _ rate: Int) -> Duration {
            .seconds(Double(size) / Double(rate) - 0.25)
        }

        @Test(arguments: listeners)
        func answersComeSlowly(_ listener: Nginx.Listener) async throws {
            var slow = request(.get, "/files/medium.bin", listener)
            slow.rateLimit.receiveBytesPerSecond = 1 << 20
            let start = ContinuousClock.now
            let answer = try await manager.response(for: slow)
            #expect(answer.body == Payload.medium)
            #expect(ContinuousClock.now - start >= least(Payload.medium.count, 1 << 20))
        }

        @Test(arguments: listeners)
        func bodiesGoSlowly(_ listener: Nginx.Listener) async throws {
            let name = UUID().uuidString
            var slow = request(.put, "/dav/\(name)", listener, body: .data(Payload.medium))
            slow.rateLimit.sendBytesPerSecond = 1 << 20
            let start = ContinuousClock.now
            #expect(try await manager.response(for: slow).status == 201)
            #expect(ContinuousClock.now - start >= least(Payload.medium.count, 1 << 20))
            defer { servers.nginx.forget(name) }
            #expect(try servers.nginx.uploaded(name) == Payload.medium)
        }

        /// Half a megabyte at a byte per second is not done when the neighbours are.
        @Test func neighboursOfAConnectionAreNotHeldUp() async throws {
            var slow = request(.get, "/files/medium.bin", .tls)
            slow.rateLimit.receiveBytesPerSecond = 1
            let task = Task { try await manager.response(for: slow) }
            for _ in 0..<8 {
                let answer = try await manager.response(for: request(.get, "/files/small.bin", .tls))
                #expect(answer.body == Payload.small)
            }
            task.cancel()
            await #expect(throws: (any Error).self) { try await task.value }
        }
    }
}
