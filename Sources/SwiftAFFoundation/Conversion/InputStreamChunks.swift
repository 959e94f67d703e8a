import Dispatch
import Foundation

/// The bytes of an `InputStream` in chunks. Can be iterated once. Reading may block, so it happens on a dispatch queue,
/// never on a thread of Swift's cooperative pool.
struct InputStreamChunks: AsyncSequence, Sendable {
    private let reader: Reader

    init(_ stream: InputStream) {
        reader = Reader(stream)
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(reader: reader)
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: Reader

        mutating func next() async throws -> Data? {
            try await reader.next()
        }
    }

    /// Accesses the stream on its queue only.
    fileprivate final class Reader: @unchecked Sendable {
        private static let chunkSize = 64 << 10

        private let queue = DispatchQueue(label: "SwiftAFFoundation.InputStream")
        private let stream: InputStream

        init(_ stream: InputStream) {
            self.stream = stream
        }

        func next() async throws -> Data? {
            try await withCheckedThrowingContinuation { continuation in
                queue.async { continuation.resume(with: Result { try self.read() }) }
            }
        }

        private func read() throws -> Data? {
            if stream.streamStatus == .notOpen { stream.open() }
            var chunk = Data(count: Self.chunkSize)
            let count = chunk.withUnsafeMutableBytes { bytes -> Int in
                guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { return 0 }
                return stream.read(start, maxLength: bytes.count)
            }
            if count > 0 { return chunk.prefix(count) }
            stream.close()
            // Don't read `streamError`: on Linux it crashes the process.
            if count < 0 { throw CocoaError(.fileReadUnknown) }
            return nil
        }
    }
}
