import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

/// What the arguments of `stream` change.
@Suite(.timeLimit(.minutes(10)))
struct StreamCallTests {
    private let server: TestServer
    private let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        server.route("/log", .text("one\ntwo\n"))
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        manager.headers["X-A"] = "manager"
    }

    @Test func takesParametersHeadersAndConfiguration() async throws {
        let response = try await manager.stream(
            "log", parameters: ["page": 2], headers: ["X-A": "call", "X-B": "1"],
            configure: { $0.headers[.referer] = "http://h/" })
        var lines: [String] = []
        for try await line in try await response.validated().lines { lines.append(line) }
        #expect(lines == ["one", "two"])
        let request = try #require(server.requests.first)
        #expect(request.target == "/log?page=2" && request["X-A"] == "call" && request["X-B"] == "1")
        #expect(request["Referer"] == "http://h/")
    }

    @Test func keepsTheRequestThatIsGiven() async throws {
        let request = HTTPRequest(.post, "log", headers: ["X-A": "request"], body: .json(["a": 1, "b": "c"]))
        _ = try await manager.stream(request).collect(upTo: 100)
        _ = try await manager.stream(request, headers: ["X-B": "1"]).collect(upTo: 100)
        #expect(server.requests.map(\.bodyText) == [#"{"a":1,"b":"c"}"#, #"{"a":1,"b":"c"}"#])
        #expect(server.requests.map { $0["X-A"] } == ["request", "request"])
        #expect(server.requests.map { $0["X-B"] } == [nil, "1"])
    }

    @Test func refusesParametersBesideABody() async throws {
        manager.requestSerializer = JSONRequestSerializer()
        let request = HTTPRequest(.post, "log", body: .text("x"))
        let error = await #expect(throws: SessionError.self) {
            _ = try await manager.stream(request, parameters: ["a": 1])
        }
        #expect(error?.code == .invalidInput)
    }
}
