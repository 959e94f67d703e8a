import Foundation
import SwiftAF
import Testing

// What nginx says about itself in each answer.
extension Response where Value == Data {
    /// The number of the connection that the request came on.
    var connection: String { headers["X-Connection"] ?? "none" }
    /// The process that answered.
    var worker: String { headers["X-Worker"] ?? "none" }
    /// The protocol that nginx was spoken to with.
    var `protocol`: String { headers["X-Protocol"] ?? "none" }
    /// The version of TLS, nil without.
    var tls: String? { headers["X-TLS"] }
}

extension HTTPSessionManager {
    /// Sends the same request so many times at once.
    func responses(for request: HTTPRequest, count: Int) async throws -> [Response<Data>] {
        try await withThrowingTaskGroup(of: Response<Data>.self) { group in
            for _ in 0..<count { group.addTask { try await self.response(for: request) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}

/// The error that an expression throws; fails the test without one.
func sessionError(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> some Sendable
) async throws -> SessionError {
    let error = await #expect(throws: SessionError.self, sourceLocation: sourceLocation) { _ = try await body() }
    return try #require(error, sourceLocation: sourceLocation)
}

extension HTTPSessionManager {
    /// How many connections requests over HTTP/2 may use: one with libcurl 8.1 or later, which shares it safely.
    var maximumHTTP2Connections: Int {
        let version = LibraryVersions.current.curl.split(separator: ".").prefix(2).compactMap { Int($0) }
        return version.lexicographicallyPrecedes([8, 1]) ? configuration.maximumConnectionsPerHost ?? .max : 1
    }
}
