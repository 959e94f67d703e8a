import Glibc
import SwiftAF

/// A file that is written next to a path, and gets its name when it is complete. It has the permissions of the file
/// that it replaces, and its owner if the process may set that. Pipes, devices and descriptors of the process are
/// written directly.
struct NewFile: Sendable {
    /// The place of the content until it is complete.
    private enum Place {
        /// In the existing pipe, device or descriptor, which is written directly.
        case existing
        /// In a file without a name (O_TMPFILE), of which nothing is left if the process is killed.
        case unnamed
        /// In a file with this name, if the file system doesn't support files without one.
        case named(RawText)
    }

    let descriptor: Int32
    private let path: RawText
    private let target: RawText
    private let place: Place
    private let syncs: Bool
    /// Closes the descriptor. Tests replace it by one that fails.
    var closeFile: @Sendable (Int32) -> Int32 = { close($0) }
    /// Writes the content to the disk. Tests replace it by one that fails.
    var syncFile: @Sendable (Int32) -> Int32 = { fsync($0) }

    /// - Parameters:
    ///   - mode: The permissions of a file that replaces none, without those that the process's mask takes away.
    ///   - syncs: Whether the content is on the disk before the file gets its name. Otherwise it may be empty after a
    ///     power failure.
    init(_ path: RawText, mode: mode_t = 0o600, syncs: Bool = false) throws(SessionError) {
        self.path = path
        self.syncs = syncs
        guard OutputFile.isReplaced(path) else {
            (target, place) = (path, .existing)
            descriptor = try OutputFile.open(path)
            return
        }
        target = OutputFile.target(path)
        let former = FileStatus(target)
        // For example, symbolic links that lead to each other: one of them would be replaced.
        guard former != nil || errno == ENOENT else { throw OutputFile.failure(path, errno) }
        let folder = OutputFile.directory(of: target)
        if let unnamed = Self.createUnnamed(in: folder, mode) {
            (descriptor, place) = (unnamed, .unnamed)
        } else {
            let (created, name) = try Self.create(in: folder, mode, for: path)
            (descriptor, place) = (created, .named(name))
        }
        if let former = former?.facts {
            // As far as the process is permitted: without privileges, it may still set a group that it belongs to.
            if fchown(descriptor, former.st_uid, former.st_gid) != 0 {
                _ = fchown(descriptor, uid_t.max, former.st_gid)
            }
            fchmod(descriptor, former.st_mode & 0o777)
        }
    }

    /// Creates a file without a name, as the core does (base/temporary_file.c); nil if that isn't possible in the
    /// folder.
    private static func createUnnamed(in folder: ArraySlice<UInt8>, _ mode: mode_t) -> Int32? {
        let place = folder.isEmpty ? "." : RawText(folder)
        let descriptor = place.withCString { open($0, O_RDWR | unnamed | O_CLOEXEC, mode) }
        guard descriptor >= 0 else { return nil }
        // Without /proc the file could never get a name.
        guard access(link(to: descriptor), F_OK) == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// O_TMPFILE, which Swift doesn't see.
    private static let unnamed = O_DIRECTORY | 0o20_000_000

    /// The name of an open file in /proc, by which it is linked, see open(2).
    private static func link(to descriptor: Int32) -> String { "/proc/self/fd/\(descriptor)" }

    /// Creates a file with a temporary name that no other file has.
    private static func create(
        in folder: ArraySlice<UInt8>, _ mode: mode_t, for path: RawText
    ) throws(SessionError) -> (Int32, RawText) {
        for _ in 0..<maximumAttempts {
            let name = temporaryName(in: folder)
            let descriptor = name.withCString { open($0, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode) }
            if descriptor >= 0 { return (descriptor, name) }
            guard errno == EEXIST else { break }
        }
        throw OutputFile.failure(path, errno)
    }

    /// A name that is short, whatever that of the target is: the system limits names to 255 bytes.
    private static func temporaryName(in folder: ArraySlice<UInt8>) -> RawText {
        RawText(folder + ".swiftaf-\(String(UInt64.random(in: .min ... .max), radix: 36))".utf8)
    }

    private static let maximumAttempts = 100

    /// The number of bytes that it has.
    var size: Int { Int(FileStatus(descriptor)?.size ?? 0) }

    /// Closes the file and gives it its name. If closing it fails, another file with that name stays: a quota or a file
    /// system of the network may report only then that content was lost.
    ///
    /// - Parameter keepsExisting: Whether it fails if another file has that name.
    func finish(keepsExisting: Bool = false) throws(SessionError) {
        if case .existing = place {
            guard closeFile(descriptor) == 0 else { throw OutputFile.failure(path, errno) }
            return
        }
        guard !syncs || syncFile(descriptor) == 0 else {
            let number = errno
            abandon()
            throw OutputFile.failure(path, number)
        }
        // A duplicate, because the file's permissions may forbid opening it again.
        let content = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard content >= 0 else {
            let number = errno
            abandon()
            throw OutputFile.failure(path, number)
        }
        defer { close(content) }
        guard closeFile(descriptor) == 0 else {
            let number = errno
            remove()
            throw OutputFile.failure(path, number)
        }
        if keepsExisting { try addName(to: content) } else { try replace(with: content) }
    }

    /// Gives the file its name; fails if another file has it.
    private func addName(to content: Int32) throws(SessionError) {
        defer { remove() }
        let number = Self.link(content, as: target)
        guard number == 0 else { throw OutputFile.failure(path, number) }
    }

    /// Gives the file its name, and replaces the file that has it, if there is one.
    private func replace(with content: Int32) throws(SessionError) {
        let temporary = try nameForRenaming(content)
        guard temporary.withCString({ from in target.withCString { rename(from, $0) } }) != 0 else { return }
        let number = errno
        // A file that is a mount point, as containers get single files, can't be replaced.
        if number == EBUSY { return try write(content, from: temporary) }
        Self.remove(temporary)
        throw OutputFile.failure(path, number)
    }

    /// Returns the name of the file, which it gets now if it had none: a link doesn't replace another file.
    private func nameForRenaming(_ content: Int32) throws(SessionError) -> RawText {
        if case .named(let name) = place { return name }
        let folder = OutputFile.directory(of: target)
        var number = EEXIST
        for _ in 0..<Self.maximumAttempts where number == EEXIST {
            let name = Self.temporaryName(in: folder)
            number = Self.link(content, as: name)
            if number == 0 { return name }
        }
        throw OutputFile.failure(path, number)
    }

    /// Links an open file. Returns 0 or an errno.
    private static func link(_ descriptor: Int32, as name: RawText) -> Int32 {
        name.withCString { linkat(AT_FDCWD, link(to: descriptor), AT_FDCWD, $0, AT_SYMLINK_FOLLOW) } == 0 ? 0 : errno
    }

    // MARK: Mount points

    /// Writes the content into the file that is a mount point, and removes the temporary file. If that fails before
    /// the former content was touched, it stays; if it fails later, the temporary file stays, and the error names it.
    private func write(_ content: Int32, from temporary: RawText) throws(SessionError) {
        let copy = target.withCString { open($0, O_WRONLY | O_NOFOLLOW | O_CLOEXEC) }
        let size = FileStatus(content)?.size ?? 0
        let refusal = copy < 0 ? errno : Self.refusal(of: copy, besides: content, size)
        guard refusal == 0 else {
            if copy >= 0 { close(copy) }
            Self.remove(temporary)
            throw OutputFile.failure(path, refusal)
        }
        var number = Self.copy(content, to: copy)
        if number == 0, ftruncate(copy, size) != 0 { number = errno }
        if number == 0, syncs, syncFile(copy) != 0 { number = errno }
        if close(copy) != 0, number == 0 { number = errno }
        guard number == 0 else {
            var error = OutputFile.failure(path, number)
            error.message += """
                ; it is a mount point, which is written in place, and is now incomplete: \
                \(temporary.shown.printable) has the new content
                """
            throw error
        }
        Self.remove(temporary)
    }

    /// Whether a file isn't to be written in place: an errno, or 0.
    ///
    /// - Parameter other: A file in the same folder.
    private static func refusal(of file: Int32, besides other: Int32, _ size: off_t) -> Int32 {
        guard let status = FileStatus(file), status.kind == .regular else { return EINVAL }
        // Some file systems also say EBUSY for a file that is in use.
        guard let mount = mountIdentifier(of: file), mount != mountIdentifier(of: other) else { return EBUSY }
        var system = statvfs()
        // Some file systems have no size of their own.
        guard fstatvfs(file, &system) == 0, system.f_blocks > 0 else { return 0 }
        let free = UInt64(system.f_bavail).multipliedReportingOverflow(by: UInt64(system.f_frsize))
        // The space that the file already occupies is used again. `st_blocks` counts 512 bytes each.
        let (room, isMore) = free.partialValue.addingReportingOverflow(UInt64(status.facts.st_blocks) * 512)
        return free.overflow || isMore || room >= UInt64(size) ? 0 : ENOSPC
    }

    /// Which mount a file belongs to, as the kernel says in proc(5); a mount point belongs to another one than its
    /// folder.
    private static func mountIdentifier(of descriptor: Int32) -> String? {
        let path = RawText("/proc/self/fdinfo/\(descriptor)")
        guard let content = try? InputFile.bytes(path, as: .item, stopsWithRun: false) else { return nil }
        return String(decoding: content, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("mnt_id:") }.map(
            String.init)
    }

    /// Copies a whole file to the beginning of another. Returns 0 or an errno.
    private static func copy(_ source: Int32, to target: Int32) -> Int32 {
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        var offset: off_t = 0
        while true {
            let count = pread(source, &piece, piece.count, offset)
            guard count >= 0 else { return errno }
            guard count > 0 else { return 0 }
            var written = 0
            while written < count {
                let size = piece.withUnsafeBytes {
                    pwrite(target, $0.baseAddress?.advanced(by: written), count - written, offset + off_t(written))
                }
                guard size >= 0 else { return errno }
                written += size
            }
            offset += off_t(count)
        }
    }

    /// Closes the file and removes it.
    func abandon() {
        close(descriptor)
        remove()
    }

    private func remove() {
        if case .named(let name) = place { Self.remove(name) }
    }

    private static func remove(_ name: RawText) {
        _ = name.withCString { unlink($0) }
    }
}
