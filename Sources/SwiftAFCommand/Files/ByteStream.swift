import Dispatch
import FoundationEssentials
import Glibc
import SwiftAF

/// The bytes of a descriptor: standard input, a pipe, or a terminal. A regular file can be read again.
struct ByteStream: AsyncSequence, Sendable {
    typealias Element = Data

    let descriptor: Int32
    /// The range of a regular file, which is read by position and so can be read again; nil for other sources, which
    /// can be read once.
    var range: Range<off_t>?
    /// The note to write if no byte arrives; nil to wait without a note.
    var silence: Silence?

    /// A note that the program waits for the first byte.
    struct Silence: Sendable {
        let limit: Duration
        /// Called once, on any thread.
        let note: @Sendable () -> Void
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(descriptor: descriptor, range: range, silence: silence.map { (.now + $0.limit, $0.note) })
    }

    struct Iterator: AsyncIteratorProtocol, Sendable {
        let descriptor: Int32
        /// The range of a regular file that wasn't read yet.
        fileprivate var range: Range<off_t>?
        /// The note and its time; nil after the first byte, or after it was called.
        fileprivate var silence: (end: Instant, note: @Sendable () -> Void)?

        /// Returns the next bytes; nil at the end.
        ///
        /// - Throws: `CancellationError`; ``SessionError`` with code `file` if reading fails, or a file became shorter.
        mutating func next() async throws -> Data? {
            while true {
                try Task.checkCancellation()
                switch await ByteStream.read(descriptor, range) {
                case .bytes(let bytes):
                    silence = nil
                    range = range.map { $0.lowerBound + off_t(bytes.count)..<$0.upperBound }
                    // Moves the file position as read(2) would have, so that the next program of a script begins after
                    // this body. Done here, because the end may be reached only after the response.
                    if let range, range.isEmpty { lseek(descriptor, range.lowerBound, SEEK_SET) }
                    return bytes
                case .end:
                    guard range?.isEmpty ?? true else {
                        throw SessionError(.file, message: "\(name) became shorter while it was sent")
                    }
                    return nil
                case .nothing:
                    guard let (end, note) = silence, end <= .now else { continue }
                    silence = nil
                    note()
                case .failure(let number):
                    throw SessionError(.file, message: "\(name) can't be read: \(systemMessage(number))")
                }
            }
        }

        private var name: String { descriptor == STDIN_FILENO ? "standard input" : "the body" }
    }

    private enum Piece: Sendable {
        case bytes(Data), end, nothing, failure(Int32)
    }

    /// Reading blocks, so it happens on this queue and not on Swift's cooperative pool.
    private static let queue = DispatchQueue(label: "swiftaf.input")
    private static let pieceSize = 64 << 10

    private static func read(_ descriptor: Int32, _ range: Range<off_t>?) async -> Piece {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: readNow(descriptor, range)) }
        }
    }

    private static func readNow(_ descriptor: Int32, _ range: Range<off_t>?) -> Piece {
        guard !PollEvents.wait(for: .input, of: descriptor, timeout: Deadline.pollInterval).isEmpty else {
            // A job in the background is stopped before it reads the terminal.
            return JobControl.isInForeground(descriptor) ? .nothing : stopped(descriptor)
        }
        let size = range.map { Int(Swift.min(off_t(pieceSize), $0.upperBound - $0.lowerBound)) } ?? pieceSize
        guard size > 0 else { return .end }
        var bytes = Data(count: size)
        let count = bytes.withUnsafeMutableBytes { buffer in
            if let range { return pread(descriptor, buffer.baseAddress, buffer.count, range.lowerBound) }
            return Glibc.read(descriptor, buffer.baseAddress, buffer.count)
        }
        guard count < 0 else { return count == 0 ? .end : .bytes(bytes.prefix(count)) }
        switch errno {
        case EINTR, EAGAIN: return .nothing
        case EIO where !JobControl.isInForeground(descriptor): return stopped(descriptor)
        case let number: return .failure(number)
        }
    }

    /// Stops a job in the background. It reads again when it continues in the foreground.
    private static func stopped(_ terminal: Int32) -> Piece {
        let number = JobControl.waitForForeground(terminal)
        return number == 0 ? .nothing : .failure(number)
    }
}
