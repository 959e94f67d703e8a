import SwiftAF

struct Opaque: Sendable {}

func f(_ manager: HTTPSessionManager) async throws {
    let value: Opaque = try await manager.get("users/7")  // error: no exact matches in call to instance method 'get'
    print(value)
}

// note: candidate requires that 'Opaque' conform to 'Decodable'
