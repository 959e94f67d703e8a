import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

/// A call that fails throws on the actor that has made it.
@Suite(.timeLimit(.minutes(10)))
struct CallerIsolationTests {
    /// An actor without an executor of its own.
    private actor Caller {}

    /// Isn't `Sendable`, so that it is decoded where the call was made.
    private final class Folder: Decodable {}

    static let actors: [any Actor] = [MainActor.shared, Caller()]

    private let server: TestServer
    private let manager: HTTPSessionManager
    private let folder: TestFolder

    init() throws {
        server = try TestServer()
        folder = try TestFolder()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        server.route("/lost", .reset)
        server.route("/missing", .status(404))
        server.route("/note", .json(#"{"title":"rain"}"#))
        server.route("/socket", [.upgrade(), .reset])
    }

    /// What a caller with this isolation writes. Ends the process if a `catch` runs elsewhere.
    private func sendValues(on actor: isolated any Actor) async {
        do {
            _ = try await manager.get("lost", as: String.self)
            Issue.record("no error")
        } catch { actor.preconditionIsolated("get") }
        do {
            _ = try await manager.post("lost", json: [1], as: String.self)
            Issue.record("no error")
        } catch { actor.preconditionIsolated("post") }
        do {
            _ = try await manager.put("lost", json: [1], as: String.self)
            Issue.record("no error")
        } catch { actor.preconditionIsolated("put") }
        do {
            _ = try await manager.patch("lost", json: [1], as: String.self)
            Issue.record("no error")
        } catch { actor.preconditionIsolated("patch") }
        do {
            _ = try await manager.delete("lost", as: String.self)
            Issue.record("no error")
        } catch { actor.preconditionIsolated("delete") }
        do {
            _ = try await manager.request("SEARCH", "lost", as: String.self)
            Issue.record("no error")
        } catch { actor.preconditionIsolated("request") }
        do {
            _ = try await manager.get("note", as: Int.self)
            Issue.record("no error")
        } catch { actor.preconditionIsolated("decoding") }
    }

    private func sendPlainValues(on actor: isolated any Actor) async {
        do {
            _ = try await manager.get("lost", as: Folder.self)
            Issue.record("no error")
        } catch { actor.preconditionIsolated("get") }
        do {
            _ = try await manager.post("lost", json: [1], as: Folder.self)
            Issue.record("no error")
        } catch { actor.preconditionIsolated("post") }
        do {
            _ = try await manager.put("lost", json: [1], as: Folder.self)
            Issue.record("no error")
        } catch { actor.preconditionIsolated("put") }
        do {
            _ = try await manager.patch("lost", json: [1], as: Folder.self)
            Issue.record("no error")
        } catch { actor.preconditionIsolated("patch") }
        do {
            _ = try await manager.delete("lost", as: Folder.self)
            Issue.record("no error")
        } catch { actor.preconditionIsolated("delete") }
        do {
            _ = try await manager.request("SEARCH", "lost", as: Folder.self)
            Issue.record("no error")
        } catch { actor.preconditionIsolated("request") }
    }

    private func sendChecked(on actor: isolated any Actor) async {
        do {
            try await manager.get("lost")
            Issue.record("no error")
        } catch { actor.preconditionIsolated("get") }
        do {
            try await manager.head("lost")
            Issue.record("no error")
        } catch { actor.preconditionIsolated("head") }
        do {
            try await manager.post("lost", json: [1])
            Issue.record("no error")
        } catch { actor.preconditionIsolated("post") }
        do {
            try await manager.put("lost", json: [1])
            Issue.record("no error")
        } catch { actor.preconditionIsolated("put") }
        do {
            try await manager.patch("lost", json: [1])
            Issue.record("no error")
        } catch { actor.preconditionIsolated("patch") }
        do {
            try await manager.delete("lost")
            Issue.record("no error")
        } catch { actor.preconditionIsolated("delete") }
        do {
            try await manager.request("SEARCH", "lost")
            Issue.record("no error")
        } catch { actor.preconditionIsolated("request") }
        do {
            try await manager.get("missing")
            Issue.record("no error")
        } catch { actor.preconditionIsolated("status") }
        do {
            _ = try await manager.response(.get, "lost")
            Issue.record("no error")
        } catch { actor.preconditionIsolated("response") }
        do {
            _ = try await manager.response(for: HTTPRequest("lost"))
            Issue.record("no error")
        } catch { actor.preconditionIsolated("response(for:)") }
    }

    /// With literals of mixed values, which have overloads of their own.
    private func sendLiterals(on actor: isolated any Actor) async {
        let limit = 500
        do {
            _ = try await manager.post("lost", json: ["q": "x", "limit": limit], as: String.self)
            Issue.record("no error")
        } catch { actor.preconditionIsolated("post") }
        do {
            _ = try await manager.put("lost", json: ["q": "x", "limit": limit], as: String.self)
            Issue.record("no error")
        } catch { actor.preconditionIsolated("put") }
        do {
            _ = try await manager.patch("lost", json: ["q": "x", "limit": limit], as: Folder.self)
            Issue.record("no error")
        } catch { actor.preconditionIsolated("patch") }
        do {
            try await manager.delete("lost", json: ["q": "x", "limit": limit])
            Issue.record("no error")
        } catch { actor.preconditionIsolated("delete") }
        do {
            _ = try await manager.request("SEARCH", "lost", json: ["q": "x", "limit": limit], as: Folder.self)
            Issue.record("no error")
        } catch { actor.preconditionIsolated("request") }
        do {
            _ = try await manager.response(.post, "lost", json: ["q": "x", "limit": limit])
            Issue.record("no error")
        } catch { actor.preconditionIsolated("response") }
    }

    private func receiveParts(on actor: isolated any Actor) async {
        do {
            _ = try await manager.stream("lost")
            Issue.record("no error")
        } catch { actor.preconditionIsolated("stream") }
        do {
            for try await _ in try await manager.stream("cut") {}
            Issue.record("no error")
        } catch { actor.preconditionIsolated("chunks") }
        do {
            for try await _ in try await manager.stream("cut").lines {}
            Issue.record("no error")
        } catch { actor.preconditionIsolated("lines") }
        do {
            for try await _ in manager.events(from: HTTPRequest(.post, "missing")) {}
            Issue.record("no error")
        } catch { actor.preconditionIsolated("events") }
        do {
            _ = try await manager.download("lost", to: folder.file("film"))
            Issue.record("no error")
        } catch { actor.preconditionIsolated("download") }
    }

    private func useSockets(on actor: isolated any Actor) async throws {
        do {
            _ = try await manager.webSocket("missing")
            Issue.record("no error")
        } catch { actor.preconditionIsolated("webSocket") }
        do {
            _ = try await manager.webSocket(HTTPRequest("missing"))
            Issue.record("no error")
        } catch { actor.preconditionIsolated("webSocket of a request") }
        do {
            for try await _ in manager.messages(from: "ftp://h/") {}
            Issue.record("no error")
        } catch { actor.preconditionIsolated("messages") }
        let socket = try await manager.webSocket("socket")
        do {
            _ = try await socket.receive(as: Folder.self)
            Issue.record("no error")
        } catch { actor.preconditionIsolated("receive(as:)") }
        let limit = 500
        do {
            try await socket.send(json: [1])
            Issue.record("no error")
        } catch { actor.preconditionIsolated("send(json:)") }
        do {
            try await socket.send(json: ["q": "x", "limit": limit])
            Issue.record("no error")
        } catch { actor.preconditionIsolated("send(json:) of a literal") }
        do {
            try await socket.send("x")
            Issue.record("no error")
        } catch { actor.preconditionIsolated("send") }
    }

    @Test(arguments: actors, [false, true])
    func callsThatFailThrowOnTheCallersActor(actor: any Actor, hasInterceptors: Bool) async throws {
        server.route("/cut", .truncated(body: "a\nb", promising: 10))
        if hasInterceptors { manager.interceptors = [RetryPolicy(maximumRetries: 0)] }
        await sendValues(on: actor)
        await sendPlainValues(on: actor)
        await sendChecked(on: actor)
        await sendLiterals(on: actor)
        await receiveParts(on: actor)
        try await useSockets(on: actor)
    }
}
