import FoundationEssentials
import Glibc
import SwiftAF

/// Writes files named on the command line.
enum OutputFile {
    /// Writes a new file beside the path and renames it. Pipes, devices and descriptors are written to. See
    /// ``NewFile``.
    ///
    /// - Parameters:
    ///   - mode: The permissions of a file that replaces none, without those that the process's mask takes away.
    ///   - keepsExisting: Whether it fails if another file has that name.
    ///   - syncs: Whether it must be complete after a power failure.
    ///   - isShown: Whether a terminal gets the text without control characters, because servers chose parts of it.
    static func write(
        _ content: Data, to path: RawText, mode: mode_t = 0o600, keepsExisting: Bool = false, syncs: Bool = false,
        isShown: Bool = false
    ) throws(SessionError) {
        let file = try NewFile(path, mode: mode, syncs: syncs)
        let sink = DescriptorSink(descriptor: file.descriptor)
        do throws(WriteError) {
            try sink.write(isShown && sink.isTerminal ? PrintedBody.printable(content) : content)
        } catch {
            file.abandon()
            throw failure(path, error)
        }
        try file.finish(keepsExisting: keepsExisting)
    }

    /// Creates the folders of a path that are missing.
    static func makeFolders(of path: RawText, mode: mode_t) {
        for (index, byte) in path.bytes.enumerated() where index > 0 && byte == UInt8(ascii: "/") {
            _ = RawText(path.bytes.prefix(index)).withCString { mkdir($0, mode) }
        }
    }

    /// Returns whether a path names a regular file, or no file yet. Writing to it then makes a new file.
    static func isReplaced(_ path: RawText) -> Bool {
        guard descriptor(path) == nil else { return false }
        return FileStatus(path).map { $0.kind == .regular } ?? true
    }

    /// The descriptor of this process that a path names, such as `/dev/stdout`, `/dev/fd/3`, `/proc/self/fd/3` or a
    /// link to one of them; nil for any other path. What it leads to may be a file that other programs write to as
    /// well, so it mustn't be replaced or opened again, which would begin at its start.
    static func descriptor(_ path: RawText) -> Int32? {
        var path = path
        for _ in 0...maximumLinks {
            let directory = directory(of: path)
            if let number = RawText(path.bytes[directory.endIndex...]).text.flatMap({ Int32($0) }), number >= 0,
                isOfDescriptors(directory)
            {
                return number
            }
            guard let link = destination(ofLink: path) else { return nil }
            path = link.hasPrefix("/") ? link : RawText(directory + link.bytes)
        }
        return nil
    }

    /// Whether a folder is /proc/self/fd, or that of a thread.
    private static func isOfDescriptors(_ folder: ArraySlice<UInt8>) -> Bool {
        guard !folder.isEmpty, let resolved = resolved(RawText(folder)) else { return false }
        let names = resolved.shown.split(separator: "/")
        return names.first == "proc" && names.dropFirst().first == "\(getpid())" && names.last == "fd"
    }

    /// The path without links; nil if it doesn't exist.
    private static func resolved(_ path: RawText) -> RawText? {
        guard let resolved = path.withCString({ realpath($0, nil) }) else { return nil }
        defer { free(resolved) }
        return RawText(UnsafeRawBufferPointer(start: resolved, count: strlen(resolved)))
    }

    /// Returns a descriptor for what isn't replaced: a new one for a pipe or a device, a duplicate of one of our own.
    /// A named pipe must have a reader: waiting for one couldn't be interrupted.
    static func open(_ path: RawText) throws(SessionError) -> Int32 {
        if let number = descriptor(path) {
            let copy = fcntl(number, F_DUPFD_CLOEXEC, 0)
            guard copy >= 0 else { throw failure(path, errno) }
            return copy
        }
        let descriptor = path.withCString { Glibc.open($0, O_WRONLY | O_CLOEXEC | O_NONBLOCK) }
        guard descriptor >= 0 else {
            guard errno == ENXIO else { throw failure(path, errno) }
            throw SessionError(.file, message: "the pipe \(path.shown.printable) has no reader")
        }
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
        return descriptor
    }

    /// The path of the file that a symbolic link leads to, also if that file doesn't exist yet; the path itself if it
    /// isn't a link.
    static func target(_ path: RawText) -> RawText {
        if let resolved = resolved(path) { return resolved }
        var path = path
        for _ in 0..<maximumLinks {
            guard let link = destination(ofLink: path) else { break }
            path = link.hasPrefix("/") ? link : RawText(directory(of: path) + link.bytes)
        }
        return path
    }

    /// The number of links that the kernel follows.
    private static let maximumLinks = 40

    /// What a symbolic link holds; nil if it isn't one.
    private static func destination(ofLink path: RawText) -> RawText? {
        var text = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = path.withCString { readlink($0, &text, text.count) }
        return count > 0 ? RawText(text.prefix(count).map { UInt8(bitPattern: $0) }) : nil
    }

    /// The beginning of a path up to its last slash.
    static func directory(of path: RawText) -> ArraySlice<UInt8> {
        path.bytes.lastIndex(of: UInt8(ascii: "/")).map { path.bytes[...$0] } ?? []
    }

    /// The folder that a file is written to.
    static func folder(_ path: RawText) -> RawText {
        let directory = directory(of: target(path))
        return directory.isEmpty ? "." : RawText(directory)
    }

    /// Opens a named pipe as soon as it has a reader, or duplicates a descriptor.
    ///
    /// - Parameter deadline: The end of `--timeout`; nil without a limit.
    static func openPipe(
        _ path: RawText, until deadline: Instant?
    ) async throws(Failure) -> Int32 {
        if descriptor(path) != nil {
            do throws(SessionError) {
                return try open(path)
            } catch {
                throw Failure(error)
            }
        }
        while true {
            let descriptor = path.withCString { Glibc.open($0, O_WRONLY | O_NONBLOCK | O_CLOEXEC) }
            if descriptor >= 0 { return descriptor }
            guard errno == ENXIO || errno == EINTR else { throw Failure(failure(path, errno)) }
            if let deadline, .now >= deadline {
                let message = "the pipe \(path.shown.printable) has no reader"
                throw Failure(SessionError(.timeout, reason: .total, message: message))
            }
            await Duration.milliseconds(20).pause()
            guard !Task.isCancelled else { throw Failure(SessionError(.cancelled)) }
        }
    }

    private static func failure(_ path: RawText, _ error: WriteError) -> SessionError {
        switch error {
        case .system(let number): failure(path, number)
        case .stopped, .late: SessionError(.cancelled)
        }
    }

    static func failure(_ path: RawText, _ number: Int32) -> SessionError {
        var error = SessionError(.file, message: "\(path.shown.printable) can't be written: \(systemMessage(number))")
        error.systemError = number
        return error
    }
}
