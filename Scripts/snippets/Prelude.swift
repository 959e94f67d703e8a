// What the pages take for granted: Scripts/checks/snippets compiles their snippets with it.

public import SwiftAF

/// The manager of an API.
public let manager = HTTPSessionManager(baseURL: "https://api.example.org/v1/")

/// A type of an API.
public struct User: Codable, Sendable {
    public var id: Int
    public var name: String

    public init(id: Int, name: String) {
        self.id = id
        self.name = name
    }
}
