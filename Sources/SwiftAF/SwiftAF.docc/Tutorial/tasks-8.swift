import AFTestServer
import SwiftAF
import Testing

@testable import Program

@Suite struct TaskClientTests {
    @Test func readsTheList() async throws {
        let server = try TestServer()
        server.route("GET /tasks", .json(#"[{"id": 1, "title": "Write", "isDone": true}]"#))

        let client = TaskClient(baseURL: server.urlString("/"), token: "secret")

        #expect(try await client.items() == [Item(id: 1, title: "Write", isDone: true)])
    }

    @Test func sendsTheTokenAndTheTask() async throws {
        let server = try TestServer()
        server.route("POST /tasks", .json(#"{"id": 2, "title": "Test", "isDone": false}"#, status: 201))

        let client = TaskClient(baseURL: server.urlString("/"), token: "secret")
        let item = try await client.add(Item(title: "Test"))

        #expect(item.id == 2)
        #expect(server.requests.first?["Authorization"] == "Bearer secret")
        #expect(server.requests.first?.bodyText == #"{"title":"Test","isDone":false}"#)
    }
}
