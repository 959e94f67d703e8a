import Foundation
import SwiftAF

// `nonisolated`, because a conformance that is isolated to the main actor can't be used by a decoder elsewhere.
nonisolated struct User: Codable, Hashable, Sendable {
    var id: Int
    var name: String
    var email: String?
}

nonisolated struct NewUser: Encodable, Sendable {
    var name: String
    var tags: [String] = []
}

nonisolated enum Plan: String, Codable, Sendable {
    case free, paid
}

/// Has a raw value and isn't `Codable`.
nonisolated enum Order: String {
    case newest, oldest
}

nonisolated enum Level: Int {
    case low, high
}
