import SwiftAF

func f(_ manager: HTTPSessionManager) {
    manager.get("users/7", success: { _, user in print(user.email) }, failure: nil)  // error: has no member 'email'
}
