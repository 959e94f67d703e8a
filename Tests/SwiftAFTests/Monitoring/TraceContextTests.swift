import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite struct TraceContextTests {
    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    private let server: TestServer
    private let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        server.route("/x", .text("done"))
    }

    @Test(arguments: [
        (parent, true), ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", false),
        (" \(parent)\t", true), ("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03-later", true),
    ])
    func parsesTraceparentAndMakesChild(text: String, isSampled: Bool) throws {
        let position = try #require(TracePosition(traceparent: text, tracestate: "a=1"))
        #expect(position.traceID == "0af7651916cd43dd8448eb211c80319c")
        #expect(position.spanID == "b7ad6b7169203331")
        #expect(position.isSampled == isSampled)
        #expect(position.tracestate == "a=1")
        #expect(
            position.traceparent == "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-\(isSampled ? "01" : "00")")
        let child = position.makeChild()
        #expect(child.traceID == position.traceID && child.spanID != position.spanID)
        #expect(child.tracestate == "a=1" && child.isSampled == isSampled)
    }

    @Test(arguments: [
        "", "-", "00", "00---", "00-0-0-0", "\(parent)-later", "ff\(parent.dropFirst(2))", "\(parent)0",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-é1",
    ])
    func refusesInvalidTraceparent(text: String) {
        #expect(TracePosition(traceparent: text) == nil)
    }

    @Test func dropsAnEmptyOrLongTracestate() {
        for state in ["", String(repeating: "a", count: 513)] {
            #expect(TracePosition(traceparent: Self.parent, tracestate: state)?.tracestate == nil)
        }
    }

    @Test func aRequestContinuesTheCurrentTrace() async throws {
        let spans = Recorder<RequestSpan>()
        manager.interceptors = [TraceContext { spans.record($0) }]
        let parent = try #require(TracePosition(traceparent: Self.parent, tracestate: "a=1"))
        try await TraceContext.$current.withValue(parent) {
            _ = try await manager.response(.get, "x", parameters: ["secret": 1])
        }
        let sent = try #require(server.requests.first)
        let position = try #require(TracePosition(traceparent: sent["traceparent"] ?? ""))
        #expect(position.traceID == parent.traceID && position.spanID != parent.spanID)
        #expect(sent["tracestate"] == "a=1")
        let span = try #require(spans.values.first)
        #expect(span.position.spanID == position.spanID && span.parent == parent && span.name == "GET")
        #expect(span.end >= span.start && span.error == nil && span.metrics.hops.count == 1)
        #expect(span.attributes["url.full"] == server.urlString("/x") + "?…")
        #expect(span.attributes["http.response.status_code"] == "200")
        #expect(span.attributes["network.protocol.version"] == "1.1")
        #expect(span.attributes["network.peer.address"] == "127.0.0.1")
        #expect(span.attributes["server.address"] == "127.0.0.1")
        #expect(span.attributes["server.port"] == span.attributes["network.peer.port"])
        #expect(span.attributes["error.type"] == nil && span.attributes["http.request.resend_count"] == nil)
    }

    @Test func attemptsShareATraceAndRequestsDoNot() async throws {
        server.route("/x", times: 1, .text("busy", status: 503))
        server.route("/lost", .reset)
        let spans = Recorder<RequestSpan>()
        manager.interceptors = [
            Interceptor(retry: { _, outcome in outcome.attempt.number < 2 ? .retry : .doNotRetry }),
            TraceContext(samples: false) { spans.record($0) },
        ]
        _ = try await manager.response(.get, "x")
        _ = try? await manager.response(.get, "lost")
        #expect(spans.values.map { $0.attributes["error.type"] } == ["503", nil, "connectionLost", "connectionLost"])
        #expect(spans.values.map { $0.attributes["http.request.resend_count"] } == [nil, "1", nil, "1"])
        #expect(spans.values.allSatisfy { $0.parent == nil && !$0.position.isSampled })
        let traces = spans.values.map(\.position.traceID)
        #expect(traces[0] == traces[1] && traces[2] == traces[3] && traces[0] != traces[2])
        #expect(Set(spans.values.map(\.position.spanID)).count == 4)
        #expect(spans.values.last?.error?.code == .connectionLost)
        let sent = server.requests.compactMap { $0["traceparent"] }
        #expect(Array(sent.prefix(2)) == spans.values.prefix(2).map(\.position.traceparent))
    }

    @Test func aRequestWithItsOwnTraceparentIsNotChanged() async throws {
        let spans = Recorder<RequestSpan>()
        manager.interceptors = [TraceContext { spans.record($0) }]
        _ = try await manager.response(.get, "x", headers: ["traceparent": "mine"])
        #expect(server.requests.first?["traceparent"] == "mine")
        #expect(spans.values.isEmpty)
    }

    private final class Monitor: EventMonitor {
        let seen = Recorder<TracePosition?>()

        func requestSent(_ request: MonitoredRequest, as sent: HTTPRequest, attempt: Int) {
            seen.record(sent.headers["traceparent"].flatMap { TracePosition(traceparent: $0) })
        }
    }

    @Test func monitorsSeeTheSpanOfWhatIsSent() async throws {
        let (spans, monitor) = (Recorder<RequestSpan>(), Monitor())
        manager.interceptors = [TraceContext { spans.record($0) }]
        manager.eventMonitors = [monitor]
        _ = try await manager.response(.get, "x")
        await manager.flushMonitors()
        #expect(monitor.seen.values == spans.values.map(\.position))
    }
}
