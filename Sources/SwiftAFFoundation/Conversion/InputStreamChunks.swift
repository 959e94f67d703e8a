import Foundation
import SwiftAF

/// The bytes of an `InputStream` in chunks. Can be iterated once, and only if nothing else has opened the stream,
/// because its remaining bytes would be taken for the whole body. Reading may block, so it happens on separate threads.
struct InputStreamChunks: AsyncSequence, Sendable {
    /// The threads for all streams of the process. A read of a pipe or a terminal blocks a thread until there are
    /// bytes, even if its request was cancelled.
    private static let reads = BlockingCalls<Data?>(maximumCount: 64, threadName: "af-streams")

    private let reader: Reader

    init(_ stream: InputStream, reads: BlockingCalls<Data?>? = nil) {
        reader = Reader(stream, reads ?? Self.reads)
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

    /// Reads a stream, with one call at a time.
    fileprivate final class Reader: @unchecked Sendable {
        private enum Phase {
            case open
            /// Reading failed. If it was cancelled, the stream may still be in use.
            case failed
        }

        private static let chunkSize = 64 << 10
        private let phase = Locked(Phase.open)
        private let reads: BlockingCalls<Data?>
        private let stream: InputStream
        /// The right to read the stream; nil before the first read.
        private var claim: Claim?

        init(_ stream: InputStream, _ reads: BlockingCalls<Data?>) {
            self.stream = stream
            self.reads = reads
        }

        func next() async throws -> Data? {
            guard case .open = phase.withLock({ $0 }) else { throw CancellationError() }
            do {
                return try await reads.run { try self.read() }
            } catch {
                phase.exchange(.failed)
                throw error
            }
        }

        private func read() throws -> Data? {
            if claim == nil {
                claim = try Claim(stream)
                stream.open()
            }
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

    /// The right to read a stream, which only one reader has: if a `URLRequest` is sent twice, both share one stream.
    private final class Claim {
        private static let streams = Locked<Set<ObjectIdentifier>>([])

        private let stream: InputStream

        init(_ stream: InputStream) throws(SessionError) {
            let id = ObjectIdentifier(stream)
            guard Self.streams.withLock({ $0.insert(id).inserted }) else {
                throw SessionError(.bodyNotReplayable, message: "the body's InputStream is read by another request")
            }
            self.stream = stream
            guard stream.streamStatus == .notOpen else {
                throw SessionError(
                    .bodyNotReplayable, message: "the body's InputStream was opened before, and can be read only once")
            }
        }

        deinit {
            let id = ObjectIdentifier(stream)
            Self.streams.withLock { _ = $0.remove(id) }
        }
    }
}
