import SwiftAF
import Testing

/// The error of a call that must fail.
func sessionError(
    sourceLocation: SourceLocation = #_sourceLocation, of call: () async throws -> some Sendable
) async throws -> SessionError {
    let error = await #expect(throws: (any Error).self, sourceLocation: sourceLocation) { _ = try await call() }
    return try #require(error?.asSessionError, sourceLocation: sourceLocation)
}

extension Task where Failure == any Error {
    /// The error that the task ends with; nil if it succeeds.
    var sessionError: SessionError? {
        get async {
            guard case .failure(let error) = await result else { return nil }
            return error.asSessionError
        }
    }
}
