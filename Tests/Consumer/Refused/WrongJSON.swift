import SwiftAF

struct Opaque: Sendable {}

func f(_ manager: HTTPSessionManager) async throws {
    try await manager.post("users", json: Opaque())  // error: does not conform to expected type 'Encodable'
}
