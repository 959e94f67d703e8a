import SwiftAF

struct Item: Codable, Sendable, Equatable {
    var id: Int?
    var title: String
    var isDone = false
}

struct TaskClient: Sendable {
    let manager: HTTPSessionManager

    init(baseURL: String, token: String) {
        manager = HTTPSessionManager(baseURL: baseURL)
        manager.headers.authorization = .bearer(token)
    }

    func items() async throws(SessionError) -> [Item] {
        try await manager.get("tasks")
    }

    func add(_ item: Item) async throws(SessionError) -> Item {
        try await manager.post("tasks", json: item)
    }

    func remove(_ id: Int) async throws(SessionError) {
        try await manager.delete("tasks/\(id)")
    }
}
