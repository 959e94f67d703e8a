import Glibc
import SwiftAF

/// A file that is written beside a path, and gets its name when it is complete. It has the permissions of the file that
/// it replaces, and its owner if the process may set that. Pipes, devices and descriptors of the process are written to.
struct NewFile: Sendable {
    let descriptor: Int32
    private let path: RawText
    private let target: RawText
    /// The name until then; nil for what is written to.
    private let temporary: RawText?
    /// Closes the descriptor. Tests let it fail.
    var closeFile: @Sendable (Int32) -> Int32 = { close($0) }

    /// - Parameter mode: The permissions of a file that replaces none, without those that the process's mask takes
    ///   away.
    init(_ path: RawText, mode: mode_t = 0o600) throws(SessionError) {
        self.path = path
        guard OutputFile.isReplaced(path) else {
            (target, temporary) = (path, nil)
            descriptor = try OutputFile.open(path)
            return
        }
        var status = stat()
        target = OutputFile.target(path)
        let hasFile = target.withCString { stat($0, &status) } == 0
        // Such as links in a circle, of which one would be replaced.
        guard hasFile || errno == ENOENT else { throw OutputFile.failure(path, errno) }
        let folder = OutputFile.directory(of: target)
        (descriptor, temporary) = try Self.create(in: folder, mode, for: path)
        if hasFile {
            // As far as the process may; a group of its own is allowed without privileges.
            if fchown(descriptor, status.st_uid, status.st_gid) != 0 {
                _ = fchown(descriptor, uid_t.max, status.st_gid)
            }
            fchmod(descriptor, status.st_mode & 0o777)
        }
    }

    /// Creates a file under a name that no other has. The name is short, whatever that of the target is: the system
    /// limits names to 255 bytes.
    private static func create(
        in folder: ArraySlice<UInt8>, _ mode: mode_t, for path: RawText
    ) throws(SessionError) -> (Int32, RawText) {
        for _ in 0..<maximumAttempts {
            let name = RawText(folder + ".swiftaf-\(String(UInt64.random(in: .min ... .max), radix: 36))".utf8)
            let descriptor = name.withCString { open($0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode) }
            if descriptor >= 0 { return (descriptor, name) }
            guard errno == EEXIST else { break }
        }
        throw OutputFile.failure(path, errno)
    }

    private static let maximumAttempts = 100

    /// The number of bytes that it has.
    var size: Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Closes the file and gives it its name. If closing it fails, another file with that name stays: a quota or a file
    /// system of the network may report only then that content was lost.
    ///
    /// - Parameter keepsExisting: Whether it fails if another file has that name.
    func finish(keepsExisting: Bool = false) throws(SessionError) {
        guard closeFile(descriptor) == 0 else {
            let number = errno
            remove()
            throw OutputFile.failure(path, number)
        }
        guard let temporary else { return }
        let status = temporary.withCString { temporary in
            target.withCString { keepsExisting ? link(temporary, $0) : rename(temporary, $0) }
        }
        var number = status == 0 ? 0 : errno
        // A file that is a mount point, as containers get single files, can't be replaced.
        if number == EBUSY, !keepsExisting { number = copy(temporary) }
        if status != 0 || keepsExisting { remove() }
        guard number == 0 else { throw OutputFile.failure(path, number) }
    }

    /// Writes the content of the temporary file into the file that has the name. Returns 0 or an errno.
    private func copy(_ temporary: RawText) -> Int32 {
        let source = temporary.withCString { open($0, O_RDONLY | O_CLOEXEC) }
        guard source >= 0 else { return errno }
        defer { close(source) }
        let copy = target.withCString { open($0, O_WRONLY | O_TRUNC | O_CLOEXEC) }
        guard copy >= 0 else { return errno }
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        var number: Int32 = 0
        while number == 0, case let count = read(source, &piece, piece.count), count != 0 {
            var written = 0
            if count < 0 { number = errno }
            while number == 0, written < count {
                let size = piece.withUnsafeBytes { write(copy, $0.baseAddress?.advanced(by: written), count - written) }
                if size < 0 { number = errno } else { written += size }
            }
        }
        return close(copy) == 0 || number != 0 ? number : errno
    }

    /// Closes the file and removes it.
    func abandon() {
        close(descriptor)
        remove()
    }

    private func remove() {
        _ = temporary?.withCString { unlink($0) }
    }
}
