import FoundationEssentials
import SwiftAF
import Testing

/// A folder that goes when nobody holds it.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "swiftaf-test-\(UUID().uuidString)")
            .path(percentEncoded: false)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of a file in the folder, written if there is content.
    func file(_ name: String, _ content: Data? = nil) throws -> String {
        let path = "\(path)/\(name)"
        if let content { try content.write(to: URL(filePath: path)) }
        return path
    }

    func file(_ name: String, text: String) throws -> String {
        try file(name, Data(text.utf8))
    }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }
}

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
