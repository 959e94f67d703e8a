import FoundationEssentials
import Glibc
import SwiftAF

/// Writes files named on the command line.
enum OutputFile {
    /// Writes a new file beside the path, readable by its owner only, and renames it.
    static func write(_ content: Data, to path: RawText) throws(SessionError) {
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

    private static func failure(_ path: RawText, _ number: Int32) -> SessionError {
        SessionError(.file, message: "\(path.shown.printable) can't be written: \(systemMessage(number))")
    }
}
