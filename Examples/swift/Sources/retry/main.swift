// Retries when the server is busy, and stops after a time limit for all attempts together.
//
//     swift run retry http://127.0.0.1:8080/
import SwiftAF

var policy = RetryPolicy(maximumRetries: 4)
policy.baseDelay = .milliseconds(100)

let manager = HTTPSessionManager(baseURL: CommandLine.arguments.dropFirst().first ?? "http://127.0.0.1:8080/")
manager.interceptors = [policy]
manager.timeouts.total = .seconds(20)

do {
    let response = try await manager.get("busy")
    print("answered:", try response.text())
} catch {
    print("failed:", error)
}
