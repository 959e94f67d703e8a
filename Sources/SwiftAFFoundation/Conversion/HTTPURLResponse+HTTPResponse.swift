import Foundation
public import FoundationNetworking
public import SwiftAF

extension HTTPURLResponse {
    /// Converts the head of a response. Repeated fields are joined with commas, including `Set-Cookie`. Nil if the
    /// response's URL isn't a valid `URL`.
    public convenience init?(_ response: HTTPResponse) {
        guard let url = response.parsedURL else { return nil }
        self.init(
            url: url, statusCode: response.status, httpVersion: response.version.description,
            headerFields: Dictionary(uniqueKeysWithValues: response.headers.joined.map { ($0.name, $0.value) }))
    }

    /// Converts the head of a response whose body is in memory.
    public convenience init?<Value>(_ response: Response<Value>) {
        self.init(response.head)
    }
}
