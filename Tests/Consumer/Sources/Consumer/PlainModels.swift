import SwiftAF

// Types as one writes them without a thought about isolation. In a module whose default isolation is the main actor,
// they belong to it, and so does their conformance to `Decodable`.

struct Article: Codable {
    var id: Int
    var title: String
}

/// Isn't `Sendable`.
final class Folder: Codable {
    var name: String
    var articles: [Article] = []

    init(name: String) {
        self.name = name
    }
}

func plainCalls(_ manager: HTTPSessionManager) async throws {
    let article: Article = try await manager.get("articles/7")
    let articles = try await manager.get("articles", parameters: ["page": 1], as: [Article].self)
    let byName: [String: Article] = try await manager.get("articles/by-name")
    let folder: Folder = try await manager.get("folders/1")
    let folders = try await manager.get("folders", as: [Folder].self)
    let none: Folder? = try await manager.get("folders/none")

    let posted: Article = try await manager.post("articles", parameters: ["title": "Rain"])
    let saved: Folder = try await manager.put("folders/1", parameters: ["name": "Weather"])
    let changed = try await manager.patch("folders/1", parameters: ["name": "Snow"], as: Folder.self)
    let deleted: Folder = try await manager.delete("folders/1")
    let found = try await manager.request("SEARCH", "folders", as: Folder.self)

    let response = try await manager.get("articles/7")
    let again = try response.value(as: Article.self)
    let last = try response.value(as: Folder.self)
    let whole: Response<Article> = try response.decoded()
    let wholeFolder = try await manager.get("folders/1").decoded(as: Folder.self)
    print(whole.value.title, whole.status, wholeFolder.value.name, wholeFolder.headers)
    print(article, articles, byName, folder, folders, none as Any, posted, saved, changed, deleted, found, again, last)
}

func plainBodies(_ manager: HTTPSessionManager, name: String, age: Int?) async throws {
    try await manager.post("articles", json: Article(id: 1, title: name))
    let folder: Folder = try await manager.put("folders/1", json: Folder(name: name))
    let mixed: Article = try await manager.post("articles", json: ["title": name, "age": age, "tags": ["a", "b"]])
    try await manager.patch("articles/1", json: ["title": name, "read": true])
    let found = try await manager.request("SEARCH", "articles", json: ["limit": 3, "title": name], as: [Article].self)
    try await manager.post(
        "articles",
        body: .multipart { form in
            try form.append(json: Article(id: 1, title: name), name: "article")
            try form.append(json: Folder(name: name), name: "folder", encoder: manager.encoder)
            try form.append(json: ["title": name, "age": age], name: "details")
        })
    let request = HTTPRequest(.post, "articles", body: .json(encoding: Article(id: 1, title: name)))
    let response = try await manager.response(for: request)
    let socket = try await manager.webSocket("chat")
    try await socket.send(json: Article(id: 1, title: name))
    try await socket.send(json: ["type": "subscribe", "age": age, "tags": ["a"]])
    try await socket.send(json: ["type": name])
    manager.post("articles", json: Article(id: 1, title: name), success: { _, _ in }, failure: nil)
    manager.post("articles", json: ["title": name, "age": age], success: { _, _ in }, failure: nil)
    manager.request(
        "SEARCH", "articles", json: ["title": name, "limit": 3], with: .value(JSONValue.self),
        success: { _, found in print(found) }, failure: { _, error in print(error) })
    try await manager.post("articles", parameters: ["notify": true], json: ["title": name, "age": age])
    let removed = try await manager.delete("articles", json: ["ids": [1, 2], "title": name], as: JSONValue.self)
    let built = try manager.makeRequest(.post, "articles", json: ["title": name, "age": age])
    let answer = try await manager.response(.post, "articles", json: ["title": name, "age": age])
    print(folder, mixed, found, response, removed, built, answer)
}

func plainTasks(_ manager: HTTPSessionManager) async throws {
    let task = Task { try await manager.get("folders/1", as: Folder.self).name }
    let other = Task {
        do throws(SessionError) {
            let article: Article = try await manager.get("articles/7")
            print(article.title)
        } catch {
            print(error.status ?? 0)
        }
    }
    _ = try await task.value
    await other.value
}

/// A client of one's own, with a generic call.
struct PlainClient {
    let manager: HTTPSessionManager

    func fetch<Value: Decodable>(_ path: String) async throws -> Value {
        try await manager.get(path)
    }

    func send<Value: Decodable>(_ method: HTTPMethod, _ path: String, as type: Value.Type) async throws -> Value {
        try await manager.request(method, path, as: type)
    }

    func save<Body: Encodable, Value: Decodable>(_ body: Body, at path: String) async throws -> Value {
        try await manager.put(path, json: body)
    }

    func article(_ id: Int) async throws -> Article {
        try await fetch("articles/\(id)")
    }
}

@MainActor final class PlainScreen {
    let manager = HTTPSessionManager()
    var folder: Folder?

    func load() async throws {
        folder = try await manager.get("folders/1")
    }
}

actor PlainStore {
    let manager = HTTPSessionManager()
    var names: [String] = []

    func load() async throws {
        names = try await manager.get("names")
        names += try await manager.get("tree", as: Tree.self).names
    }
}

nonisolated final class Tree: Decodable {
    var names: [String] = []
}
