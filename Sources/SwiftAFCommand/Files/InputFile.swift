import FoundationEssentials
import Glibc
import SwiftAF

/// Reads files named on the command line. If one can't be read, it fails before anything is sent.
enum InputFile {
    enum Content: Sendable {
        /// A regular file, which can be read repeatedly.
        case file
        /// A source that can be read once, to its end: a pipe, a device, or a file of the kernel (/proc), which has no
        /// size.
        case stream(ByteStream)
    }

    /// Returns a body for a path, without a Content-Type. A regular file is streamed and can be replayed; anything else
    /// is read once.
    static func body(_ path: RawText) throws(Failure) -> HTTPBody {
        switch try content(path) {
        case .file: HTTPBody(.file(path: try name(path)))
        case .stream(let stream): .stream(once: stream)
        }
    }

    /// The way of opening a path that the library reads.
    enum Opening {
        case content
        /// Also files that can't be opened for reading, such as a socket: O_PATH of Linux, which Swift doesn't import.
        case anything

        fileprivate var flags: Int32 {
            switch self {
            case .content: O_RDONLY | O_NONBLOCK
            case .anything: 0o10_000_000
            }
        }
    }

    /// Returns a path for the library, which takes text. A path that isn't UTF-8 is opened, and named by its
    /// descriptor, which stays open until the program ends.
    static func name(_ path: RawText, opening: Opening = .content) throws(Failure) -> String {
        if let text = path.text { return text }
        return "/proc/self/fd/\(try open(path, opening))"
    }

    /// Whether a path names anything, also what can't be read.
    static func exists(_ path: RawText) -> Bool {
        path.withCString { access($0, F_OK) } == 0
    }

    /// Returns the kind of content at a path.
    static func content(_ path: RawText) throws(Failure) -> Content {
        let descriptor = try open(path)
        guard let status = FileStatus(descriptor) else { throw unreadable(path.shown, errno, closing: descriptor) }
        switch status.kind {
        case .regular where !isLongerThanItsSize(descriptor, status, from: 0):
            close(descriptor)
            return .file
        case .folder:
            throw unreadable(path.shown, EISDIR, closing: descriptor)
        default:
            return .stream(ByteStream(descriptor: descriptor))
        }
    }

    /// Whether a regular file has bytes, though its size is 0. Those of /proc do: their content is made when it is
    /// read.
    ///
    /// - Parameter offset: Where it is read from.
    static func isLongerThanItsSize(_ descriptor: Int32, _ status: FileStatus, from offset: off_t) -> Bool {
        var byte: UInt8 = 0
        return status.size == 0 && pread(descriptor, &byte, 1, offset) == 1
    }

    /// Returns the text of a file.
    ///
    /// - Parameter name: The name for error messages; nil for the path.
    static func text(_ path: RawText, as kind: InputKind, shown name: String? = nil) throws(Failure) -> String {
        guard let text = String(validating: try bytes(path, as: kind, shown: name), as: UTF8.self) else {
            throw Failure(.input, .invalidInput, "\(name ?? path.shown) is not text in UTF-8")
        }
        return text
    }

    /// Returns the JSON in a file, for a body field.
    static func json(_ path: RawText, of name: RawText) throws(Failure) -> JSONText {
        let content = RawText(try bytes(path, as: .field))
        do throws(UsageError) {
            return try JSONText(content, of: name)
        } catch {
            throw Failure(error)
        }
    }

    /// Returns the contents of a file.
    ///
    /// - Parameters:
    ///   - name: The name for error messages; nil for the path.
    ///   - stopsWithRun: Whether reading fails once the run was cancelled or its time is over. What is read when files
    ///     are written at the end doesn't.
    static func bytes(
        _ path: RawText, as kind: InputKind, shown name: String? = nil, stopsWithRun: Bool = true
    ) throws(Failure) -> Data {
        let descriptor = try open(path, shown: name)
        let limit = kind.maximumSize
        guard size(descriptor) <= limit else { throw tooLarge(name ?? path.shown, kind, closing: descriptor) }
        var content = Data()
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        let isFile = isRegular(descriptor)
        while true {
            // Checked in each iteration, so that Ctrl-C and --timeout end the wait for a pipe without a writer, or for
            // a slow disk.
            do throws(Failure) {
                if stopsWithRun || !isFile { try Deadline.check() }
            } catch {
                close(descriptor)
                throw error
            }
            guard isFile || hasInput(descriptor) else { continue }
            let count = read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count >= 0 else { throw unreadable(name ?? path.shown, errno, closing: descriptor) }
            guard count > 0 else { break }
            content += piece.prefix(count)
            guard content.count <= limit else { throw tooLarge(name ?? path.shown, kind, closing: descriptor) }
        }
        close(descriptor)
        return content
    }

    private static func tooLarge(_ name: String, _ kind: InputKind, closing descriptor: Int32) -> Failure {
        close(descriptor)
        let limit = Format.bytes(Int64(kind.maximumSize)).replacing(".0 ", with: " ")
        return Failure(.input, .invalidInput, "\(name) is larger than \(limit), the limit for \(kind.description)")
    }

    /// Refuses standard input that can't be read, such as one that the caller closed.
    static func refuseUnreadable(_ input: Int32) throws(Failure) {
        let flags = fcntl(input, F_GETFL)
        guard flags >= 0, flags & O_ACCMODE != O_WRONLY else {
            throw Failure(.input, .invalidInput, "standard input can't be read: it is closed or open for writing only")
        }
        guard FileStatus(input)?.kind != .folder else {
            throw unreadable("standard input", EISDIR, closing: nil)
        }
    }

    /// Opens a regular file.
    static func openRegular(_ path: RawText) throws(Failure) -> Int32 {
        let descriptor = try open(path)
        guard isRegular(descriptor) else {
            close(descriptor)
            throw Failure(.input, .invalidInput, "\(path.shown) is not a regular file")
        }
        return descriptor
    }

    private static func size(_ descriptor: Int32) -> Int {
        Int(FileStatus(descriptor)?.size ?? 0)
    }

    private static func isRegular(_ descriptor: Int32) -> Bool {
        FileStatus(descriptor)?.kind == .regular
    }

    /// Waits a short time; returns whether there are bytes, the end or an error to be read.
    private static func hasInput(_ descriptor: Int32) -> Bool {
        !PollEvents.wait(for: .input, of: descriptor, timeout: Deadline.nextPoll).isEmpty
    }

    /// Opens a file without waiting for the writer of a named pipe: until there is one, poll(2) reports nothing.
    private static func open(
        _ path: RawText, _ opening: Opening = .content, shown name: String? = nil
    ) throws(Failure) -> Int32 {
        let descriptor = path.withCString { Glibc.open($0, opening.flags | O_CLOEXEC) }
        guard descriptor >= 0 else { throw unreadable(name ?? path.shown, errno, closing: nil) }
        return descriptor
    }

    private static func unreadable(_ name: String, _ number: Int32, closing descriptor: Int32?) -> Failure {
        if let descriptor { close(descriptor) }
        return Failure(.input, .invalidInput, "\(name) can't be read: \(systemMessage(number))")
    }
}

/// The texts of files that are used in each request of a run, such as those with secrets. Each file is read once,
/// because a pipe has no bytes for a second request.
final class InputTexts: Sendable {
    private struct Content {
        let path: RawText
        let text: String
    }

    // A few at most; see `AskedPasswords`.
    private let contents = Locked<[Content]>([])

    /// Returns the text of a file, as it was when it was first asked for.
    ///
    /// - Parameter name: The name for error messages; nil for the path.
    func text(_ path: RawText, as kind: InputKind, shown name: String? = nil) throws(Failure) -> String {
        if let known = contents.withLock({ $0.first { $0.path == path } }) { return known.text }
        let text = try InputFile.text(path, as: kind, shown: name)
        contents.withLock { $0.append(Content(path: path, text: text)) }
        return text
    }

    /// Returns the text of a file as a value: without the line breaks at its end.
    func value(_ path: RawText) throws(Failure) -> String {
        let text = try text(path, as: .item)
        return String(text[..<(text.lastIndex { !$0.isNewline }.map(text.index(after:)) ?? text.startIndex)])
    }
}
