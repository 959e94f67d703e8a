// Sends lines over a WebSocket while it prints what comes back.
//
//     swift run chat http://127.0.0.1:8080/ hello "how are you?"
import SwiftAF

let arguments = CommandLine.arguments.dropFirst()
let manager = HTTPSessionManager(baseURL: arguments.first ?? "http://127.0.0.1:8080/")
let lines = arguments.count > 1 ? Array(arguments.dropFirst()) : ["hello", "how are you?"]

let socket = try await manager.webSocket("chat")
let sender = Task {
    for line in lines { try await socket.send(line) }
}
var count = 0
for try await message in socket {
    if case .text(let text) = message { print("received:", text) }
    count += 1
    if count == lines.count { break }
}
try await sender.value
try await socket.close(reason: "goodbye")
print("closed:", socket.closeCode ?? .abnormal, socket.closeReason)
