import Foundation
public import FoundationNetworking
public import SwiftAF

extension HTTPURLResponse {
    /// A response's head in Foundation's shape: fields that repeat are joined by commas, `Set-Cookie` too. Nil if the
    /// response's URL can't be one.
    public convenience init?(_ response: HTTPResponse) {
        guard let url = response.parsedURL else { return nil }
        self.init(
            url: url, statusCode: response.status, httpVersion: response.version.description,
            headerFields: Dictionary(uniqueKeysWithValues: response.headers.joined.map { ($0.name, $0.value) }))
    }
}
