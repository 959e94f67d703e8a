import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct ManagerRequestTests {
    private struct User: Codable, Equatable, Sendable {
        var name: String
        var born: Int
    }

    private let server: TestServer
    private let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
    }

    @Test func getDecodesJSONAndSendsQueryParameters() async throws {
        server.route("GET /users", .json(#"{"name":"Ada","born":1815}"#))
        let user: User = try await manager.get("users", parameters: ["id": 7, "q": "a b"])
        #expect(user == User(name: "Ada", born: 1815))
        #expect(server.requests[0].target == "/users?id=7&q=a%20b")
        #expect(server.requests[0]["User-Agent"] == DefaultHeaders.all["User-Agent"])
        #expect(server.requests[0]["Accept-Language"] != nil)
    }

    @Test func getReturnsJSONTextAndData() async throws {
        server.route("GET /json", .json(#"[1,"2",null]"#))
        server.route("GET /text", .text("héllo"))
        let json: JSONValue = try await manager.get("json")
        #expect(json == [1, "2", nil])
        let text = try await manager.get("text", as: String.self)
        #expect(text == "héllo")
        let data = try await manager.get("text", as: Data.self)
        #expect(data == Data("héllo".utf8))
    }

    @Test func postSendsFormOrJSON() async throws {
        server.route("POST /form", .json("{}"))
        server.route("POST /json", .json("{}"))
        _ = try await manager.post("form", parameters: ["a": 1, "b": "x y"], as: JSONValue.self)
        #expect(server.requests[0].bodyText == "a=1&b=x%20y")
        #expect(server.requests[0]["Content-Type"] == "application/x-www-form-urlencoded")
        manager.requestSerializer = JSONRequestSerializer()
        _ = try await manager.post("json", parameters: .encodable(User(name: "Ada", born: 1815)), as: JSONValue.self)
        let sent = try JSONValue(parsing: server.requests[1].body)
        #expect(sent["name"]?.string == "Ada")
        #expect(server.requests[1]["Content-Type"] == "application/json")
    }

    @Test(arguments: [HTTPMethod.put, .patch, .delete, "PURGE", "lower"])
    func everyVerbSendsItsMethod(method: HTTPMethod) async throws {
        let echo = try await manager.request(method, "thing").json()
        #expect(echo["method"]?.string == method.rawValue)
    }

    @Test func headReturnsResponseHead() async throws {
        server.route("HEAD /thing", .respond(200, headers: ["X-Size": "12"]))
        let response = try await manager.head("thing")
        #expect(response.headers["X-Size"] == "12")
    }

    @Test func refusedStatusFailsWithResponseAndBody() async throws {
        server.route(
            "GET /missing",
            .respond(
                404, headers: ["Content-Type": "application/json"],
                body: Data(#"{"why":"gone"}"#.utf8)))
        let error = await #expect(throws: SessionError.self) { try await manager.get("missing", as: User.self) }
        #expect(error?.code == .status)
        #expect(error?.status == 404)
        #expect(try error?.decodeBody(as: [String: String].self) == ["why": "gone"])
        let response = try await manager.response(.get, "missing")
        #expect(response.status == 404)
        #expect(try response.value(as: JSONValue.self, validation: .any)["why"] == "gone")
    }

    @Test func requestPostsOnceAndReusesConnection() async throws {
        for _ in 0..<10 { _ = try await manager.response(.get, "thing") }
        let statistics = try #require(manager.statistics)
        #expect(statistics.tasks == 10)
        #expect(statistics.posts == 10)
        #expect(statistics.events == 10)
        #expect(statistics.connections == 1)
    }

    @Test func serializerTimeoutsOverrideManagersTimeouts() throws {
        var serializer = HTTPRequestSerializer()
        serializer.timeouts.total = .seconds(10)
        manager.requestSerializer = serializer
        manager.timeouts.connect = .seconds(5)
        let made = try manager.makeRequest(.get, "x")
        #expect(made.timeouts == HTTPRequest.Timeouts(total: .seconds(10)))
        let sent = try manager.prepare(made, manager.snapshot).http.timeouts
        #expect(sent == HTTPRequest.Timeouts(connect: .seconds(5), idle: .seconds(60), total: .seconds(10)))
    }

    @Test func decoderDeterminesAcceptableContentTypes() async throws {
        let user = User(name: "Ada", born: 1815)
        let type = "application/x-plist"
        server.route("/plist", .respond(headers: ["Content-Type": type], body: try PropertyListEncoder().encode(user)))
        server.route("/json", .json("{}"))
        manager.decoder = PropertyListDecoder()
        #expect(try await manager.get("plist", as: User.self) == user)
        let error = await #expect(throws: SessionError.self) { try await manager.get("json", as: User.self) }
        #expect(error?.code == .contentType && error?.message.contains(type) == true)
        #expect(try await manager.get("json", as: JSONValue.self) == [:])
    }

    @Test func unsetTimeoutsInheritAndZeroDisables() throws {
        var configuration = SessionConfiguration.default
        configuration.timeouts = .init(total: .seconds(9))
        let manager = HTTPSessionManager(baseURL: "http://h/", configuration: configuration)
        manager.timeouts = .init(connect: .zero)
        let request = try manager.prepare(HTTPRequest("x"), manager.snapshot)
        request.withRequest(body: nil) { core in
            #expect(core.pointee.timeouts.connect_ms == 0)
            #expect(core.pointee.timeouts.idle_ms == 60_000)
            #expect(core.pointee.timeouts.total_ms == 9000)
        }
    }

    @Test func concurrentHeaderUpdatesAreAllKept() async {
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                group.addTask { [manager] in manager.updateHeaders { $0["X-\(number)"] = "1" } }
            }
        }
        for number in 0..<100 { #expect(manager.headers["X-\(number)"] == "1") }
    }

    @Test func changingHeadersMayChangeOtherSettings() {
        var calls = 0
        manager.updateHeaders { headers in
            calls += 1
            // Lets the test end that shows no limit.
            guard calls < 10 else { return }
            headers["X"] = "1"
            manager.timeouts.total = .seconds(5)
        }
        #expect(calls == 1)
        #expect(manager.headers["X"] == "1" && manager.timeouts.total == .seconds(5))
    }

    @Test func suppressedDefaultsAreNotSent() async throws {
        server.route("/x", .respond())
        manager.headers.suppressDefault("User-Agent")
        manager.headers.suppressDefault("Accept")
        try await manager.get("x")
        let request = try #require(server.requests.last)
        #expect(request["User-Agent"] == nil && request["Accept"] == nil)
    }

    @Test func refusesUnknownHTTPVersions() async throws {
        let unknown = HTTPVersionPreference(rawValue: "http4")
        let error = await #expect(throws: SessionError.self) {
            try await manager.get("x", configure: { $0.httpVersion = unknown })
        }
        #expect(error?.code == .unsupported && error?.message.contains("http4") == true)
        var configuration = SessionConfiguration()
        configuration.httpVersion = unknown
        let session = HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
        let refusal = await #expect(throws: SessionError.self) { try await session.get("x") }
        #expect(refusal?.code == .unsupported)
        #expect(server.requests.isEmpty)
    }

    @Test func unstartedTasksLeaveRegistryEmpty() {
        for _ in 0..<3 {
            _ = manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { _, _, _ in }
        }
        #expect(manager.registry.isEmpty)
    }
}
