import FoundationEssentials
import SwiftAF
import Testing

func contents(of path: String) throws -> Data {
    try Data(contentsOf: URL(filePath: path))
}

struct ChunksFailure: Error, Equatable {}

/// Chunks in order, and then an error if there is one.
struct Chunks: AsyncSequence, Sendable {
    typealias Element = Data

    var chunks: [String]
    var fails = false

    struct AsyncIterator: AsyncIteratorProtocol {
        var rest: ArraySlice<String>
        var fails: Bool

        mutating func next() async throws -> Data? {
            await Task.yield()
            if let chunk = rest.popFirst() { return Data(chunk.utf8) }
            if fails { throw ChunksFailure() }
            return nil
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(rest: chunks[...], fails: fails)
    }
}

/// `body` throws an error of this code.
func expectCode<Result>(
    _ code: SessionError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Result
) {
    let error = #expect(throws: SessionError.self, sourceLocation: sourceLocation) { try body() }
    #expect(error?.code == code, sourceLocation: sourceLocation)
}

/// `body` throws an error of this code.
func expectCode<Result>(
    _ code: SessionError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Result
) async {
    let error = await #expect(throws: SessionError.self, sourceLocation: sourceLocation) { try await body() }
    #expect(error?.code == code, sourceLocation: sourceLocation)
}
