import SwiftAF

func f(_ manager: HTTPSessionManager) async throws {
    try manager.delete("users/7")  // error: expression is 'async' but is not marked with 'await'
}
