import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct SendingTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
    }

    private func manager(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> HTTPSessionManager {
        var configuration = SessionConfiguration()
        change(&configuration)
        return HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
    }

    /// The rest of a body of 20,000 bytes can't follow before the first piece is paid for.
    private static let least = Duration.milliseconds(100)

    private func upload(_ manager: HTTPSessionManager, _ limit: HTTPRequest.RateLimit) async throws -> Duration {
        var request = HTTPRequest(.put, "x", body: .data(Data(repeating: 7, count: 20_000)))
        request.rateLimit = limit
        let start = ContinuousClock.now
        #expect(try await manager.response(for: request).status == 200)
        #expect(server.requests.last?.bodyLength == 20_000)
        return ContinuousClock.now - start
    }

    @Test func requestRateOverridesSessionRate() async throws {
        let slow = manager { $0.rateLimit = .init(bytesPerSecond: 100_000) }
        #expect(try await upload(slow, .init()) >= Self.least)
        #expect(try await upload(manager(), .init(sendBytesPerSecond: 100_000)) >= Self.least)
        // An hour, if the session's own rate counted.
        let crawling = manager { $0.rateLimit = .init(sendBytesPerSecond: 5, receiveBytesPerSecond: 1) }
        _ = try await upload(crawling, .init(sendBytesPerSecond: 0, receiveBytesPerSecond: 0))
    }

    @Test func requestExpectationOverridesSessionExpectation() async throws {
        let shy = manager { $0.continueExpectation = .always }
        for expectation in [nil, HTTPRequest.ContinueExpectation.never, .automatic, .always] {
            var request = HTTPRequest(.put, "x", body: .text("body"))
            request.continueExpectation = expectation
            _ = try await shy.response(for: request)
        }
        _ = try await manager().response(for: HTTPRequest(.put, "x", body: .text("body")))
        #expect(server.requests.map { $0["Expect"] } == ["100-continue", nil, nil, "100-continue", nil])
        #expect(server.requests.allSatisfy { $0.body == Data("body".utf8) })
    }
}
