import SwiftAF

struct Item: Codable, Sendable, Equatable {
    var id: Int?
    var title: String
    var isDone = false
}

struct TaskClient: Sendable {
    let manager: HTTPSessionManager

    init(baseURL: String) {
        manager = HTTPSessionManager(baseURL: baseURL)
    }
}
