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
}
