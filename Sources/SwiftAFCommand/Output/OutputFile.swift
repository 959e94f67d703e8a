import FoundationEssentials
import Glibc
import SwiftAF

/// Writes files named on the command line.
enum OutputFile {
    /// Writes a new file beside the path, readable by its owner only, and renames it. Pipes and devices are written to.
    static func write(_ content: Data, to path: RawText) throws(SessionError) {
        var status = stat()
        if path.withCString({ stat($0, &status) }) == 0, status.st_mode & S_IFMT != S_IFREG {
            return try overwrite(path, with: content)
        }
        var template = path.bytes.map { CChar(bitPattern: $0) } + Array(".XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw failure(path, errno) }
        do throws(WriteError) {
            try DescriptorSink(descriptor: descriptor).write(content)
        } catch {
            close(descriptor)
            unlink(template)
            throw failure(path, error.systemError)
        }
        close(descriptor)
        guard path.withCString({ rename(template, $0) }) == 0 else {
            let number = errno
            unlink(template)
            throw failure(path, number)
        }
    }

    /// Writes to an existing file from its beginning, or to a pipe or device.
    static func overwrite(_ path: RawText, with content: Data) throws(SessionError) {
        let descriptor = path.withCString { open($0, O_WRONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw failure(path, errno) }
        defer { close(descriptor) }
        do throws(WriteError) {
            try DescriptorSink(descriptor: descriptor).write(content)
        } catch {
            throw failure(path, error.systemError)
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

    private static func failure(_ path: RawText, _ number: Int32) -> SessionError {
        SessionError(.file, message: "\(path.shown.printable) can't be written: \(systemMessage(number))")
    }
}
