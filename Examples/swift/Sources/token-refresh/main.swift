// Sends a bearer token with every request. When it has expired, one refresh serves all requests that need it.
//
//     swift run token-refresh http://127.0.0.1:8080/
import SwiftAF

struct Tokens: Decodable, Sendable {
    var access: String
}

let url = CommandLine.arguments.dropFirst().first ?? "http://127.0.0.1:8080/"
let manager = HTTPSessionManager(baseURL: url)

// The refresh may use the same manager: its own requests go without the token. This manager is a global, which lives as
// long as the program. In a class, capture it weakly: a manager keeps its interceptors.
let bearer = BearerAuthenticator(for: url, token: BearerToken("expired")) { _ in
    print("refreshing")
    let tokens: Tokens = try await manager.post("token", json: ["grant": "refresh"])
    return BearerToken(tokens.access)
}
manager.interceptors = [bearer]

let names = try await withThrowingTaskGroup(of: String.self) { group in
    for _ in 1...5 {
        group.addTask {
            let secret: JSONValue = try await manager.get("secret")
            return secret["text"]?.string ?? "nothing"
        }
    }
    var answers: [String] = []
    for try await answer in group { answers.append(answer) }
    return answers
}
print("answers:", names.count, names.first ?? "none")
