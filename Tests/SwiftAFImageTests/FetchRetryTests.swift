import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFImage

/// Fetches that pass the body on while it arrives are retried as others are, also after the head.
@Suite(.timeLimit(.minutes(10)))
struct FetchRetryTests {
    private let server: TestServer
    private let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        server.route("/cut", .text("whole"))
        server.route("/cut", times: 1, .truncated(body: "part", promising: 10))
        server.route("/always", .truncated(body: "part", promising: 10))
    }

    private final class Interceptor: RequestInterceptor {
        let decision: RetryDecision
        let attempts = Locked<[RequestAttempt]>([])

        init(decision: RetryDecision) {
            self.decision = decision
        }

        func adapt(_ request: HTTPRequest, for attempt: RequestAttempt) async throws -> HTTPRequest {
            attempts.withLock { $0.append(attempt) }
            var request = request
            request.headers["X-Attempt"] = "\(attempt.number)"
            return request
        }

        func retry(_ request: HTTPRequest, after outcome: AttemptOutcome) async -> RetryDecision {
            outcome.error?.code == .truncated ? decision : .doNotRetry
        }
    }

    private final class Monitor: EventMonitor {
        let events = Locked<[String]>([])

        func requestSent(_ request: MonitoredRequest, as sent: HTTPRequest, attempt: Int) {
            events.withLock { $0.append("sent \(attempt)") }
        }

        func requestRetried(_ request: MonitoredRequest, after outcome: AttemptOutcome, delay: Duration) {
            events.withLock { $0.append("retried \(outcome.status ?? 0)") }
        }

        func requestFinished(_ request: MonitoredRequest, with result: RequestResult) {
            events.withLock { $0.append("finished \(result.response?.status ?? 0)") }
        }
    }

    private func fetch(_ path: String, _ receiving: (HTTPResponse, Data) -> Void = { _, _ in }) async throws -> String {
        let response = try await SessionFetcher(manager).fetch(HTTPRequest(path), receiving: receiving)
        return String(decoding: response.body, as: UTF8.self)
    }

    private func immediatePolicy(_ retries: Int) -> RetryPolicy {
        var policy = RetryPolicy(maximumRetries: retries)
        policy.baseDelay = .zero
        return policy
    }

    @Test func retriesAsOftenAsThePolicySays() async {
        manager.interceptors = [immediatePolicy(2)]
        #expect(await code { try await fetch("always") } == .truncated)
        #expect(server.requests.count == 3)
    }

    @Test func adaptsTheRequestOfEachAttempt() async throws {
        let interceptor = Interceptor(decision: .retry)
        manager.interceptors = [interceptor]
        #expect(try await fetch("cut") == "whole")
        #expect(server.requests.map { $0["X-Attempt"] } == ["1", "2"])
        #expect(Set(interceptor.attempts.withLock { $0 }.map(\.requestID)).count == 1)
    }

    @Test func failsWithTheErrorOfAnInterceptor() async throws {
        struct Refused: Error {}
        manager.interceptors = [Interceptor(decision: .fail(Refused()))]
        let error = await #expect(throws: SessionError.self) { try await fetch("cut") }
        #expect(error?.code == .interceptor && error?.underlying is Refused)
    }

    @Test func reportsEachRetry() async throws {
        let monitor = Monitor()
        manager.eventMonitors = [monitor]
        manager.interceptors = [immediatePolicy(1)]
        #expect(try await fetch("cut") == "whole")
        await manager.flushMonitors()
        #expect(monitor.events.withLock { $0 } == ["sent 1", "retried 200", "sent 2", "finished 200"])
    }

    @Test func usesTheInterceptorsOfTheBeginning() async throws {
        server.route("/later", .text("whole"))
        server.route(
            "/later", times: 1,
            [.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npart"), .stall(at: "cut"), .close])
        manager.interceptors = [immediatePolicy(1)]
        async let text = fetch("later")
        try #require(await server.wait(for: .stalled(at: "cut")))
        manager.interceptors = []
        server.open("cut")
        #expect(try await text == "whole")
    }

    @Test func passesOnOnlyOneAttemptThatSucceeds() async throws {
        server.route(
            "/busy", answers: [.text("busy", status: 503), .truncated(body: "part", promising: 9), .text("whole")])
        manager.interceptors = [immediatePolicy(2)]
        var pieces = ""
        let text = try await fetch("busy") { head, piece in
            #expect(head.status == 200)
            pieces += String(decoding: piece, as: UTF8.self)
        }
        #expect(text == "whole" && pieces == "part")
    }

    @Test func hasTheMetricsAndTheBodyOfTheWholeTransfer() async throws {
        let whole = try await SessionFetcher(manager).fetch(HTTPRequest("echo"), receiving: { _, _ in })
        #expect(whole.head.metrics.hops.last?.bytesReceived == Int64(whole.body.count))
        let error = await #expect(throws: SessionError.self) { try await fetch("cut") }
        #expect(error?.body == Data("part".utf8))
    }

    @Test func endsWhenItsTaskIsCancelled() async throws {
        server.route("/slow", [.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npart"), .stall(at: "never")])
        let fetching = Task { try await fetch("slow") }
        try #require(await server.wait(for: .stalled(at: "never")))
        fetching.cancel()
        #expect(await code { try await fetching.value } == .cancelled)
        #expect(await server.wait(for: .closes(1)))
    }

    @Test func limitsTheBodyAsTheSessionSays() async throws {
        var configuration = SessionConfiguration()
        configuration.limits.maximumBodySize = 3
        let manager = HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
        let failed = await code { try await SessionFetcher(manager).fetch(HTTPRequest("cut"), receiving: { _, _ in }) }
        #expect(failed == .tooLarge)
    }
}
