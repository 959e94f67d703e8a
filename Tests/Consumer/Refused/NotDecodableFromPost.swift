import SwiftAF

struct Opaque: Sendable {}

func f(_ manager: HTTPSessionManager, name: String, age: Int) async throws {
    let made: Opaque = try await manager.post("u", json: ["name": name, "age": age])  // error: requires that 'Opaque' conform
    print(made)
}
