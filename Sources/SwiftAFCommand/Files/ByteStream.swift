import Dispatch
import FoundationEssentials
import Glibc
import SwiftAF

/// The bytes of a descriptor that can be read once: standard input, a pipe, or a terminal.
struct ByteStream: AsyncSequence, Sendable {
    typealias Element = Data

    let descriptor: Int32

    func makeAsyncIterator() -> Iterator {
        Iterator(descriptor: descriptor)
    }

    struct Iterator: AsyncIteratorProtocol, Sendable {
        let descriptor: Int32

        /// Returns the next bytes; nil at the end.
        ///
        /// - Throws: `CancellationError`; ``SessionError`` with code `file` if reading fails.
        func next() async throws -> Data? {
            while true {
                try Task.checkCancellation()
                switch await ByteStream.read(descriptor) {
                case .bytes(let bytes): return bytes
                case .end: return nil
                case .nothing: continue
                case .failure(let number):
                    let name = descriptor == STDIN_FILENO ? "standard input" : "the body"
                    throw SessionError(.file, message: "\(name) can't be read: \(systemMessage(number))")
                }
            }
        }
    }

    private enum Piece: Sendable {
        case bytes(Data), end, nothing, failure(Int32)
    }

    /// Reading blocks, so it happens on this queue and not on Swift's cooperative pool.
    private static let queue = DispatchQueue(label: "swiftaf.input")
    private static let pieceSize = 64 << 10
    /// The maximum time in milliseconds until a cancelled reader notices it.
    private static let patience: Int32 = 100

    private static func read(_ descriptor: Int32) async -> Piece {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: readNow(descriptor)) }
        }
    }

    private static func readNow(_ descriptor: Int32) -> Piece {
        var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&wait, 1, patience) > 0 else { return .nothing }
        var bytes = Data(count: pieceSize)
        let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { return errno == EINTR || errno == EAGAIN ? .nothing : .failure(errno) }
        return count == 0 ? .end : .bytes(bytes.prefix(count))
    }
}
