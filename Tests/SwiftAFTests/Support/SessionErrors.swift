import SwiftAF
import Testing

/// The error of a call that must fail.
func sessionError(
    sourceLocation: SourceLocation = #_sourceLocation, of call: () async throws -> some Sendable
) async throws -> SessionError {
    let error = await #expect(throws: (any Error).self, sourceLocation: sourceLocation) { _ = try await call() }
    return try #require(error?.asSessionError, sourceLocation: sourceLocation)
}
