import FoundationEssentials
import Glibc
import SwiftAF

/// Files that the command line names. What can't be read is an error before anything is sent.
enum InputFile {
    enum Content: Sendable {
        /// A regular file, which can be read again.
        case file
        /// A pipe or a device.
        case stream(ByteStream)
    }

    /// A body from a path: a regular file is streamed and can be sent again; a pipe or a device is read once.
    static func body(_ path: RawText) throws(Failure) -> HTTPBody {
        switch try content(path) {
        case .file: .file(try name(path))
        case .stream(let stream): .stream(once: stream)
        }
    }

    /// A path for the library, which takes text: what isn't UTF-8 is opened, and named by its descriptor. That stays open
    /// for as long as the program runs.
    static func name(_ path: RawText) throws(Failure) -> String {
        if let text = path.text { return text }
        return "/proc/self/fd/\(try open(path))"
    }

    /// What is at a path.
    static func content(_ path: RawText) throws(Failure) -> Content {
        let descriptor = try open(path)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw unreadable(path, errno, closing: descriptor) }
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            close(descriptor)
            return .file
        case S_IFDIR:
            throw unreadable(path, EISDIR, closing: descriptor)
        default:
            return .stream(ByteStream(descriptor: descriptor))
        }
    }

    /// The text of a file.
    static func text(_ path: RawText) throws(Failure) -> String {
        guard let text = String(validating: try bytes(path), as: UTF8.self) else {
            throw Failure(.input, .invalidInput, "\(path.shown) is not text in UTF-8")
        }
        return text
    }

    /// The content of a file.
    static func bytes(_ path: RawText) throws(Failure) -> Data {
        let descriptor = try open(path)
        var content = Data()
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(path, errno, closing: descriptor) }
            guard count > 0 else { break }
            content += piece.prefix(count)
        }
        close(descriptor)
        return content
    }

    private static func open(_ path: RawText) throws(Failure) -> Int32 {
        let descriptor = path.withCString { Glibc.open($0, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw unreadable(path, errno, closing: nil) }
        return descriptor
    }

    private static func unreadable(_ path: RawText, _ number: Int32, closing descriptor: Int32?) -> Failure {
        if let descriptor { close(descriptor) }
        return Failure(.input, .invalidInput, "\(path.shown) can't be read: \(systemMessage(number))")
    }
}
