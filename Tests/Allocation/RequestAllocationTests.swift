import AFTestServer
import CAllocationCount
import Dispatch
import FoundationEssentials
import SwiftAF
import Testing

/// Allocations per request on a connection that is open, in all threads of the client, held to the numbers in
/// `Tests/Thresholds/requests.json`. libcurl's are among them. Nothing else may run beside it: `Scripts/test` gives it
/// a process of its own, and sets `AF_TESTS_ALONE`.
@Suite(.enabled(if: allocation_count_works() && isAlone), .serialized)
struct RequestAllocationTests {
    private static let rounds = 2000

    struct User: Codable, Sendable { var id: Int; var name: String }

    let server: TestServer
    let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        server.route("GET /users/7", .json(#"{"id": 7, "name": "Ada"}"#))
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        manager.completionQueue = DispatchQueue(label: "allocations")
    }

    @Test func allocationsAreCounted() {
        #expect(allocation_count_of_one() == 1)
    }

    @Test func limitsAllocationsOfDataRequest() async throws {
        let request = HTTPRequest("users/7")
        try await expect("bytes") { _ = try await manager.response(for: request) }
    }

    @Test func limitsAllocationsOfJSONValueRequest() async throws {
        try await expect("JSONValue") { _ = try await manager.get("users/7", as: JSONValue.self) }
    }

    @Test func limitsAllocationsOfDecodedRequest() async throws {
        try await expect("typed") { _ = try await manager.get("users/7", as: User.self) }
    }

    @Test func limitsAllocationsOfRequestWithClosures() async throws {
        try await expect("closure") {
            await withCheckedContinuation { continuation in
                manager.get(
                    "users/7", with: .value(User.self), success: { _, _ in continuation.resume() },
                    failure: { _, error in
                        Issue.record(error); continuation.resume()
                    })
            }
        }
    }

    @Test func limitsAllocationsWithRetryPolicy() async throws {
        manager.interceptors = [RetryPolicy(maximumRetries: 3)]
        try await expect("retry policy") { _ = try await manager.get("users/7", as: User.self) }
    }

    @Test func limitsAllocationsWithEventMonitor() async throws {
        manager.eventMonitors = [Silent()]
        try await expect("event monitor") { _ = try await manager.get("users/7", as: User.self) }
    }

    @Test func settingsOfRequest() async throws {
        try await expect("settings") {
            var request = HTTPRequest("users/7")
            request.priority = 1
            request.allowsRetries = false
            request.reportsTrust = true
            request.timeouts.total = .seconds(1)
            withExtendedLifetime(request) {}
        }
    }

    private struct Silent: EventMonitor {}

    private func expect(_ name: String, _ request: @escaping @Sendable () async throws -> Void) async throws {
        // Detached, because each new task would copy the task-local values of the testing library.
        let counted = try await Task.detached {
            // The first runs connect, and make what is made once.
            for _ in 0..<20 { try await request() }
            let before = allocation_count_of_client()
            for _ in 0..<Self.rounds { try await request() }
            return Double(allocation_count_of_client() - before) / Double(Self.rounds)
        }.value
        let threshold = try AllocationThresholds.threshold(of: name, in: "requests")
        #expect(counted <= threshold, "\(name), in a \(AllocationThresholds.configuration) build")
    }
}

private let isAlone = ProcessInfo.processInfo.environment["AF_TESTS_ALONE"] == "1"
