// Logs requests, and saves them as an HTTP archive (HAR) that browsers' developer tools open.
//
//     swift run archive http://127.0.0.1:8080/ /tmp/requests.har
import Foundation
import SwiftAF

let arguments = CommandLine.arguments
guard arguments.count == 3 else {
    print("usage: archive URL FILE")
    exit(2)
}

let archive = HARRecorder(maximumEntries: 500, maximumBodySize: 64 << 10)
let manager = HTTPSessionManager(baseURL: arguments[1])
manager.eventMonitors = [EventLogger(level: .headers), archive]
manager.headers.authorization = .bearer("secret")  // redacted in the log and in the archive

let users: [JSONValue] = try await manager.get("users")
print("users:", users.count)
try await manager.post("users", json: ["name": "Grace"])

// Monitors run on a queue of their own.
await manager.flushMonitors()
try archive.data().write(to: URL(fileURLWithPath: arguments[2]))
print("saved", arguments[2])
