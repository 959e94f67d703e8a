import SwiftAF

struct Opaque: Sendable {}

func f(_ manager: HTTPSessionManager) async throws {
    let value: Opaque = try await manager.get("users/7")  // error: requires that 'Opaque' conform to 'Decodable'
    print(value)
}
