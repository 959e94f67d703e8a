// Logs in with a form, keeps the cookies in a file, and uses them for the next requests.
//
//     swift run login http://127.0.0.1:8080/ ada secret cookies.txt
import Glibc
import SwiftAF

let arguments = CommandLine.arguments
guard arguments.count == 5 else {
    print("usage: login URL USER PASSWORD COOKIES")
    exit(2)
}

var configuration = SessionConfiguration()
// Cookies are secrets: the file is for its owner only, and belongs in a folder that others can't write to.
let cookies = try CookieStorage(path: arguments[4])
configuration.cookieStorage = cookies
let manager = HTTPSessionManager(baseURL: arguments[1], configuration: configuration)

try await manager.post("login", body: .form(["name": arguments[2], "password": arguments[3]]))
print("cookies:", try cookies.cookies(for: arguments[1]).map(\.name).joined(separator: ", "))

let profile: JSONValue = try await manager.get("profile")
print("hello,", profile["name"]?.string ?? "stranger")
try cookies.save()
