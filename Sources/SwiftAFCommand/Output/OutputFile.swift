import FoundationEssentials
import Glibc
import SwiftAF

/// Writes files named on the command line.
enum OutputFile {
    /// Writes a new file beside the path and renames it. It gets the permissions of the file that it replaces; one that
    /// replaces none is readable by its owner only. Pipes and devices are written to.
    static func write(_ content: Data, to path: RawText) throws(SessionError) {
        guard isReplaced(path) else { return try overwrite(path, with: content) }
        var status = stat()
        let target = target(path)
        let hasFile = target.withCString { stat($0, &status) } == 0
        var template = target.bytes.map { CChar(bitPattern: $0) } + Array(".XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw failure(path, errno) }
        do throws(WriteError) {
            try DescriptorSink(descriptor: descriptor).write(content)
        } catch {
            close(descriptor)
            unlink(template)
            throw failure(path, error)
        }
        if hasFile { fchmod(descriptor, status.st_mode & 0o777) }
        close(descriptor)
        guard target.withCString({ rename(template, $0) }) == 0 else {
            let number = errno
            unlink(template)
            throw failure(path, number)
        }
    }

    /// Returns whether a path names a regular file, or no file yet. Writing to it then makes a new file.
    static func isReplaced(_ path: RawText) -> Bool {
        var status = stat()
        return path.withCString { stat($0, &status) } != 0 || status.st_mode & S_IFMT == S_IFREG
    }

    /// The path of the file that a symbolic link leads to; the path itself if there is no file.
    static func target(_ path: RawText) -> RawText {
        guard let resolved = path.withCString({ realpath($0, nil) }) else { return path }
        defer { free(resolved) }
        return RawText(UnsafeRawBufferPointer(start: resolved, count: strlen(resolved)))
    }

    /// The folder that a file is written to.
    static func folder(_ path: RawText) -> RawText {
        let target = target(path).bytes
        guard let slash = target.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return RawText(target[...slash])
    }

    /// Writes to an existing file from its beginning, or to a pipe or device.
    static func overwrite(_ path: RawText, with content: Data) throws(SessionError) {
        let descriptor = path.withCString { open($0, O_WRONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw failure(path, errno) }
        defer { close(descriptor) }
        do throws(WriteError) {
            try DescriptorSink(descriptor: descriptor).write(content)
        } catch {
            throw failure(path, error)
        }
    }

    /// Opens a named pipe as soon as it has a reader.
    static func openPipe(_ path: RawText) async throws(Failure) -> Int32 {
        while true {
            let descriptor = path.withCString { open($0, O_WRONLY | O_NONBLOCK | O_CLOEXEC) }
            if descriptor >= 0 { return descriptor }
            guard errno == ENXIO || errno == EINTR else { throw Failure(failure(path, errno)) }
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
        SessionError(.file, message: "\(path.shown.printable) can't be written: \(systemMessage(number))")
    }
}
