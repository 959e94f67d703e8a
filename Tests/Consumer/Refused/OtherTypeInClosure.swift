import SwiftAF

func f(_ manager: HTTPSessionManager) {
    manager.get("users/7", success: { (_, user: User) in print(user.name) }, failure: nil)  // error: cannot convert value of type
}
