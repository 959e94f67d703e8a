import Foundation
import SwiftAF

// The same calls where state is isolated: closures use it without copies.

@MainActor
final class Screen {
    private let manager = HTTPSessionManager(baseURL: "https://api.example.org/v1/")
    private var users: [User] = []
    private var limit: Duration = .seconds(5)
    private var title = "photo"

    func load() async throws {
        users = try await manager.get("users", parameters: ["count": users.count])
        let user: User = try await manager.get("users/7", configure: { $0.timeouts.total = self.limit })
        users.append(user)
        try await manager.delete("users/\(user.id)") { $0.timeouts.total = self.limit }
    }

    func loadOnTheNetworkThread() async throws {
        let manager = manager
        users = try await withTaskExecutorPreference(manager.taskExecutor) { try await manager.get("users") }
        title = "\(users.count)"
    }

    func keep(_ cookies: CookieStorage, in folder: URL) async throws {
        try cookies.save(to: folder.appending(path: title))
        let form = HTTPRequest(.post, "photos", body: .multipart { try $0.append(self.title, name: "title") })
        let stored = try await form.writeMultipart(to: folder.appending(path: "form"))
        title = stored.url
    }

    func upload(_ jpeg: Data) async throws {
        let photo: User = try await manager.post(
            "photos",
            body: .multipart { form in
                try form.append(self.title, name: "title")
                try form.append(jpeg, name: "image", fileName: "a.jpg", mediaType: "image/jpeg")
            })
        users.append(photo)
        try await manager.post("tags", body: .multipart { try $0.append("x", name: "tag") })
    }

    func listen() async throws {
        let socket = try await manager.webSocket("feed") { $0.timeouts.total = self.limit }
        try await socket.send(title)
        if let first = try await socket.receive(as: User.self) { users.append(first) }
        for try await message in socket {
            guard case .text(let text) = message else { continue }
            title = text
        }
        try await socket.close(reason: title)
    }

    func refresh() {
        Task {
            do {
                users = try await manager.get("users")
            } catch {
                title = "\(error.asSessionError?.status ?? 0)"
            }
        }
        manager.get("users", with: .value([User].self), configure: { $0.timeouts.total = self.limit }) { _, users in
            Task { @MainActor in self.users = users }
        } failure: { _, error in
            print(error)
        }
    }
}

actor Store {
    private let manager: HTTPSessionManager
    private var users: [Int: User] = [:]
    private var limit: Duration = .seconds(5)

    init(manager: HTTPSessionManager) {
        self.manager = manager
    }

    func loadOnTheNetworkThread(_ ids: [Int]) async throws {
        try await withTaskExecutorPreference(manager.taskExecutor) {
            for id in ids { users[id] = try await manager.get("users/\(id)") }
        }
    }

    func user(_ id: Int) async throws(SessionError) -> User {
        if let known = users[id] { return known }
        let user: User = try await manager.get("users/\(id)", configure: { $0.timeouts.total = self.limit })
        users[id] = user
        return user
    }

    func follow() async throws {
        let socket = try await manager.webSocket(
            "users", protocols: ["v1"], configure: { $0.timeouts.total = self.limit })
        try await socket.send(json: Array(users.values))
        for try await message in socket {
            let user = try message.value(as: User.self)
            users[user.id] = user
        }
    }

    func save() async throws {
        try await manager.put("users", json: Array(users.values))
        try await manager.post(
            "export",
            body: .multipart { form in
                for user in self.users.values { try form.append(user.name, name: "name") }
            })
        try await manager.download("users.csv", to: "/tmp/users.csv")
    }
}
