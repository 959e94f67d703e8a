import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

/// Notes what goes over the wire, or only says that it wants none of it.
private struct TraceNotes: EventMonitor {
    var tracesWire = true
    let traces = Recorder<WireTrace>()
    let ends = Recorder<Bool>()

    func requestTraced(_ request: MonitoredRequest, _ trace: WireTrace) { traces.record(trace) }
    func requestFinished(_ request: MonitoredRequest, with result: RequestResult) { ends.record(true) }
}

@Suite(.timeLimit(.minutes(10)))
struct WireTraceTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
        server.route("/from", .redirect(to: "/to"))
        server.route("/to", .respond(200, headers: ["Set-Cookie": "s3cret=1"], body: Data("body".utf8)))
    }

    private func run(_ monitors: [any EventMonitor], until notes: TraceNotes) async throws {
        let manager = HTTPSessionManager()
        manager.eventMonitors = monitors
        let request = HTTPRequest(server.urlString("/from"), headers: ["Cookie": "s3cret"])
        _ = try await manager.response(for: request)
        await notes.ends.wait()
    }

    @Test func reportsBytesConnectionsAndHopsInOrder() async throws {
        let notes = TraceNotes()
        try await run([notes], until: notes)
        let traces = notes.traces.values
        guard case .connection(let connection)? = traces.first?.event else {
            Issue.record("the first is no connection")
            return
        }
        #expect(connection == .init(address: "127.0.0.1", port: server.port))
        let heads = traces.filter { if case .requestHead = $0.event { true } else { false } }
        #expect(heads.map(\.hop) == [0, 1])
        let text = traces.map { trace in
            switch trace.event {
            case .connection: ""
            case .requestHead(let bytes), .responseLine(let bytes): String(decoding: bytes, as: UTF8.self)
            }
        }.joined()
        #expect(text.contains("GET /from HTTP/1.1\r\n") && text.contains("\r\n\r\nHTTP/1.1 302 Found\r\n"))
        #expect(text.contains("Set-Cookie: <hidden>\r\n") && text.contains("\r\nCookie: <hidden>\r\n"))
        #expect(!text.contains("s3cret") && !text.contains("body"))
    }

    @Test func reportsOnlyToMonitorsThatWantIt() async throws {
        let wanting = TraceNotes()
        let other = TraceNotes(tracesWire: false)
        try await run([other, wanting], until: wanting)
        #expect(!wanting.traces.values.isEmpty)
        #expect(other.traces.values.isEmpty)
    }
}
