// Prints server-sent events. A lost connection is made again, from the last event on.
//
//     swift run events http://127.0.0.1:8080/
import SwiftAF

let manager = HTTPSessionManager(baseURL: CommandLine.arguments.dropFirst().first ?? "http://127.0.0.1:8080/")

for try await event in manager.events(from: "ticker", parameters: ["symbol": "SWFT"]) {
    print(event.id, event.event, event.data)
    if event.event == "end" { break }
}
print("done")
