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
        manager.interceptors = [RetryPolicy(maximumRetries: 3)]
    }

    func items() async throws(SessionError) -> [Item] {
        try await manager.get("tasks")
    }

    func add(_ item: Item) async throws(SessionError) -> Item {
        try await manager.post("tasks", json: item)
    }

    /// Returns false if the task was gone already.
    func remove(_ id: Int) async throws(SessionError) -> Bool {
        do {
            try await manager.delete("tasks/\(id)")
            return true
        } catch {
            guard error.status == 404 else { throw error }
            return false
        }
    }
}
