// A client of a REST API: reads, creates, changes and deletes.
//
//     swift run rest-client http://127.0.0.1:8080/
import SwiftAF

struct User: Codable, Sendable {
    var id: Int?
    var name: String
}

let manager = HTTPSessionManager(baseURL: CommandLine.arguments.dropFirst().first ?? "http://127.0.0.1:8080/")
manager.timeouts.total = .seconds(10)

do {
    let users: [User] = try await manager.get("users", parameters: ["limit": 10])
    print("all:", users.map(\.name).joined(separator: ", "))

    var user: User = try await manager.post("users", json: User(name: "Grace"))
    print("created:", user.id ?? 0, user.name)

    user.name = "Grace Hopper"
    let changed: User = try await manager.put("users/\(user.id ?? 0)", json: user)
    print("changed:", changed.name)

    try await manager.delete("users/\(user.id ?? 0)")
    print("deleted")

    let missing: User = try await manager.get("users/99")
    print(missing.name)
} catch {
    // What the server says about a failure is in its body.
    print("failed:", error.status ?? 0, error.problem?.title ?? error.message)
}
