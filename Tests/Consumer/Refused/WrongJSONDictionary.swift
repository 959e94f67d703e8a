import SwiftAF

func f(_ manager: HTTPSessionManager, fields: [String: Any]) async throws {
    try await manager.post("users", json: fields)  // error: to expected argument type 'Parameters'
}
