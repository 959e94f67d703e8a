import SwiftAF

struct Item: Codable, Sendable, Equatable {
    var id: Int?
    var title: String
    var isDone = false
}
