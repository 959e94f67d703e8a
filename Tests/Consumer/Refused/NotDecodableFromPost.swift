import SwiftAF

struct Opaque: Sendable {}

func f(_ manager: HTTPSessionManager, name: String) async throws {
    let made: Opaque = try await manager.post("u", json: ["name": name])  // error: requires that 'Opaque' conform
    print(made)
}
