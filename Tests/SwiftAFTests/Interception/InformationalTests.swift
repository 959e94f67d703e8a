import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite struct InformationalTests {
    private let server: TestServer
    private let manager: HTTPSessionManager
    private let seen = Recorder<InformationalResponse>()

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
    }

    private final class Monitor: EventMonitor {
        let events = Recorder<String>()

        func informationalResponseReceived(_ request: MonitoredRequest, _ response: InformationalResponse) {
            events.record("\(response.status)")
        }

        func responseReceived(_ request: MonitoredRequest, _ response: HTTPResponse) {
            events.record("\(response.status)")
        }
    }

    private static func hint(_ number: Int) -> Script {
        .interim(103, headers: ["Link": "</\(number).css>; rel=preload"])
    }

    @Test func reports103WithItsFieldsToManagerRequestAndMonitor() async throws {
        server.route("/x", [Self.hint(1), .interim(102), Self.hint(2), .text("done")])
        let (seen, own, monitor) = (seen, Recorder<Int>(), Monitor())
        manager.informationalHandler = { seen.record($0) }
        manager.eventMonitors = [monitor]
        var request = HTTPRequest("x")
        request.informationalHandler = { own.record($0.status) }
        let response = try await manager.response(for: request)
        #expect(try response.text() == "done")
        #expect(seen.values.map(\.status) == [103, 102, 103])
        #expect(
            seen.values.map { $0.headers["Link"] } == ["</1.css>; rel=preload", nil, "</2.css>; rel=preload"])
        #expect(own.values == [103, 102, 103])
        await manager.flushMonitors()
        #expect(monitor.events.values == ["103", "102", "103", "200"])
    }

    @Test func reportsThoseOfRedirectsDownloadsAndStreams() async throws {
        server.route("/moved", [Self.hint(1), .redirect(to: "/x")])
        server.route("/x", [Self.hint(2), .text("done")])
        let seen = seen
        manager.informationalHandler = { seen.record($0) }
        let folder = try TestFolder()
        try await manager.download(HTTPRequest("moved"), to: folder.file("film"))
        #expect(seen.values.count == 2)
        let stream = try await manager.stream(HTTPRequest("x"))
        #expect(try await stream.collect(upTo: 100) == Data("done".utf8))
        #expect(seen.values.count == 3)
    }

    @Test func acceptsAsManyAsTheLimitAndNoMore() async throws {
        let seen = seen
        manager.informationalHandler = { seen.record($0) }
        let hints = (1...17).map(Self.hint)
        server.route("/many", Script(Array(hints[..<16]) + [.text("done")]))
        server.route("/more", Script(hints + [.text("done")]))
        #expect(try await manager.response(.get, "many").status == 200)
        #expect(seen.values.count == 16)
        await #expect { _ = try await manager.response(.get, "more") } throws: {
            ($0 as? SessionError)?.code == .tooLarge
        }
        #expect(seen.values.count == 32)
    }
}
