import Foundation
import SwiftAF

/// A response from `http://h/`, of a content type unless that is nil.
func response(_ status: Int = 200, _ type: String?) -> HTTPResponse {
    HTTPResponse(status: status, headers: type.map { ["Content-Type": $0] } ?? [:], url: "http://h/")
}

/// The codes of an error and of those below it, from the outermost in.
func codes(_ error: (any Error)?) -> [SessionError.Code] {
    guard let error = error as? SessionError else { return [] }
    return [error.code] + codes(error.underlying)
}

/// A value after it was written to JSON and read back.
func archivedAndUnarchived<Value: Codable>(_ value: Value) throws -> Value {
    try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
}
