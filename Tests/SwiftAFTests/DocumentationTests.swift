import FoundationEssentials
import SwiftAF
import Testing

// The Swift snippets of README.md, in its order. They are compiled, and the test at the end compares them with the
// page line by line. They aren't run, because their servers don't exist.

private struct User: Decodable {
    let name: String
}

private let manager = HTTPSessionManager(baseURL: "https://api.example.org/v1/")

private func firstRequest() async throws {
    let manager = HTTPSessionManager(baseURL: "https://api.example.org/v1/")
    let user: User = try await manager.get("users/7", parameters: ["fields": "name"])
    print(user.name)
}

private func typesOfResponses() async throws {
    let created: JSONValue = try await manager.post("notes", parameters: ["title": "Linux", "tags": ["a", "b"]])
    let page: String = try await manager.get("https://www.example.org/")
    let response = try await manager.response(.get, "users/7")  // any status; head, body and metrics
    print(response.response.status, response.response.metrics.total ?? .zero, created["id"]?.integer ?? 0, page.count)
}

private func errors() async throws {
    do {
        let user: User = try await manager.get("users/7")
        print(user.name)
    } catch SessionError.Code.timeout {
        print("too slow")
    } catch SessionError.Code.untrusted {
        print("not the server we wanted")
    } catch {
        print(error, error.status ?? 0, error.body?.count ?? 0)
    }
}

private func closures() {
    manager.get("users/7", as: User.self, progress: { print($0.received) }) { task, user in
        print(user.name)
    } failure: { task, error in
        print(error)
    }
}

private func resumedDownloads() async throws {
    do {
        try await manager.download(HTTPRequest("film"), to: "/tmp/film", options: [.replacesFile, .keepsPartialFile])
    } catch {
        guard let token = error.resumeToken else { throw error }
        try await manager.download(resuming: token)
    }
    try await manager.download(HTTPRequest("reports/latest")) { "/tmp/" + $0.suggestedFileName }
}

private func manyDownloads() async {
    let items = (1...9).map { DownloadItem(HTTPRequest("films/\($0)"), to: "/tmp/film-\($0)") }
    for await download in manager.downloads(of: items, maximumConcurrent: 3) {
        print(download.index, (try? download.get())?.filePath ?? "failed")
    }
}

private func linesAndEvents() async throws {
    for try await line in try await manager.stream(HTTPRequest("https://example.org/log")).lines {
        print(line)
    }
    for try await event in manager.events(from: "ticker") {
        print(event.event, event.data)
    }
}

private func interceptors() {
    let bearer = BearerAuthenticator(for: "https://api.example.org") { expired in
        BearerToken(try await manager.post("token", as: String.self))
    }
    manager.interceptor = CompositeInterceptor(bearer, RetryPolicy(maximumRetries: 3))
}

private func monitors() {
    let archive = HARRecorder(maximumEntries: 500, maximumBodySize: 64 << 10)
    manager.eventMonitors = [EventLogger(level: .headers), archive]
    print(HTTPRequest(.put, "https://example.org/notes/1", body: .text("it's late")).curlCommand())
}

@Suite struct DocumentationTests {
    /// The lines of a text without their indentation, and without empty ones.
    private static func lines(of text: Substring) -> [String] {
        text.split(whereSeparator: \.isNewline)
            .map { line in String(line.drop { $0 == " " }) }
            .filter { !$0.isEmpty }
    }

    private static func file(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return String(decoding: try Data(contentsOf: root.appending(path: path)), as: UTF8.self)
    }

    private static func snippets(of page: String) -> [Substring] {
        var found: [Substring] = []
        var rest = page[...]
        while let start = rest.firstRange(of: "```swift\n") {
            rest = rest[start.upperBound...]
            guard let end = rest.firstRange(of: "```") else { break }
            found.append(rest[..<end.lowerBound])
            rest = rest[end.upperBound...]
        }
        return found
    }

    @Test func everySwiftSnippetOfTheReadmeIsCompiledHere() throws {
        let compiled = Set(
            Self.lines(of: try Self.file("Tests/SwiftAFTests/DocumentationTests.swift")[...])
                .map { $0.replacing("private ", with: "") })
        let snippets = Self.snippets(of: try Self.file("README.md"))
        #expect(snippets.count >= 5)
        for line in snippets.flatMap(Self.lines) {
            #expect(compiled.contains(line), "README.md has a line that no test compiles: \(line)")
        }
    }
}
