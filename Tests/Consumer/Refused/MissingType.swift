import SwiftAF

func f(_ manager: HTTPSessionManager) async throws {
    let user = try await manager.get("users/7")
    print(user.email)  // error: value of type 'Response<Data>' has no member 'email'
}
