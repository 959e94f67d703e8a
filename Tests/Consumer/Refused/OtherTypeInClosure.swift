import SwiftAF

func f(_ manager: HTTPSessionManager) {
    manager.get("u", success: { (_, user: User) in print(user) }, failure: nil)  // error: cannot convert value
}
