import FoundationEssentials
import Glibc
import SwiftAF

/// Lets the core write a body that needs no change straight to standard output, which costs half the processor time.
final class DirectOutput: Sendable {
    /// Bodies that are shorter, or whose length isn't known, appear in a regular file as they are received.
    private static let minimumFileLength: Int64 = 1 << 20
    /// The longest head that is written here: a pipe that has any room has room for as much (PIPE_BUF, pipe(7)).
    private static let maximumHeadSize = Int(PIPE_BUF)

    private let printer: ResponsePrinter
    private let chosen = Locked(false)

    init(_ printer: ResponsePrinter) {
        self.printer = printer
    }

    /// Whether the core writes the body; the head is written then.
    var isChosen: Bool { chosen.withLock { $0 } }

    /// Writes the head if it has to be printed, and chooses whether the library or this program writes the body. Never
    /// waits for the reader.
    @Sendable func decide(_ response: HTTPResponse) -> ResponseDecision {
        guard let descriptor = printer.directDescriptor(for: response), suits(response, descriptor) else {
            return .allow
        }
        let head = printer.head(of: response)
        guard head.isEmpty || (head.count <= Self.maximumHeadSize && Self.hasRoom(descriptor)) else { return .allow }
        do throws(WriteError) {
            try printer.console.write(head)
        } catch {
            // The program writes the head again, and reports the failure.
            return .allow
        }
        chosen.withLock { $0 = true }
        return .write(toDescriptor: descriptor)
    }

    private func suits(_ response: HTTPResponse, _ descriptor: Int32) -> Bool {
        // A closed descriptor can't be written to; the program reports that when it tries.
        guard let status = FileStatus(descriptor), fcntl(descriptor, F_GETFL) & O_ACCMODE != O_RDONLY else {
            return false
        }
        guard status.kind == .regular else { return true }
        return (response.contentLength ?? 0) >= Self.minimumFileLength
    }

    private static func hasRoom(_ descriptor: Int32) -> Bool {
        PollEvents.wait(for: .output, of: descriptor) == .output
    }
}
