// Prints server-sent events. Reconnects after a lost connection, and resumes after the last event.
//
//     swift run events http://127.0.0.1:8080/
import SwiftAF

let manager = HTTPSessionManager(baseURL: CommandLine.arguments.dropFirst().first ?? "http://127.0.0.1:8080/")

// The connection is closed when the function returns. At the top level, Swift would keep the iterator of the loop, and
// with it the connection, until the program ends.
func printEvents() async throws {
    for try await event in manager.events(from: "ticker", parameters: ["symbol": "SWFT"]) {
        print(event.id, event.event, event.data)
        if event.event == "end" { break }
    }
}

try await printEvents()
print("done")
