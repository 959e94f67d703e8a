import SwiftAF

func f(_ manager: HTTPSessionManager, name: String) async throws {
    try await manager.post("users", params: ["name": name])  // error: extra argument 'params' in call
}
