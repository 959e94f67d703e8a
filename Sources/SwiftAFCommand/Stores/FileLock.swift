import Glibc
import SwiftAF

/// A lock for a file that is read, changed and replaced, between the processes that do so.
///
/// It is held on an empty file beside it, `.NAME.swiftaf-lock`: a lock of the file itself would go away with the file
/// that is replaced. The system releases it when its process ends, so a lock file that a killed process leaves does no
/// harm. Because the lock file is removed at the end, its name is one that no other program uses, unlike `NAME.lock`.
enum FileLock {
    /// How long another process may hold the lock. It takes milliseconds to read and write a file, so one that takes
    /// longer was stopped.
    static let lockTimeout = Duration.seconds(10)
    /// The same after Ctrl-C.
    private static let cancelledLockTimeout = Duration.seconds(1)
    private static let interval = Duration.milliseconds(10)

    /// Calls a closure while this process holds the lock for a file. Pipes and devices aren't replaced, and not locked.
    ///
    /// - Throws: ``Failure`` of the closure; with code `file`, if the lock file can't be created, or if another process
    ///   doesn't release the lock; with code `cancelled`, if the task was cancelled meanwhile.
    static func hold(
        for path: RawText, timeout: Duration = lockTimeout, _ work: () throws(Failure) -> Void
    ) async throws(Failure) {
        guard OutputFile.isReplaced(path) else { return try work() }
        let lockPath = lockPath(for: path)
        let descriptor = try await acquire(lockPath, for: path, timeout)
        defer {
            // Before the lock is released: a process that waits for it then makes a new file.
            _ = lockPath.withCString { unlink($0) }
            close(descriptor)
        }
        try work()
    }

    static func lockPath(for path: RawText) -> RawText {
        let target = OutputFile.target(path)
        let folder = OutputFile.directory(of: target)
        return RawText(folder + ".".utf8 + shortened(target.bytes[folder.endIndex...]) + ".swiftaf-lock".utf8)
    }

    /// Returns the name in the form in which the lock file's name fits into the system's 255 bytes. In a longer one, a
    /// hash of 64 bits (FNV-1a) stands for the rest; two files with the same hash would share a lock.
    private static func shortened(_ name: ArraySlice<UInt8>) -> [UInt8] {
        guard name.count > 200 else { return Array(name) }
        let hash = name.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return Array(name.prefix(180)) + String(hash, radix: 36).utf8
    }

    private static func acquire(
        _ lockPath: RawText, for path: RawText, _ timeout: Duration
    ) async throws(Failure) -> Int32 {
        let start = Instant.now
        while true {
            let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC
            let descriptor = lockPath.withCString { open($0, flags, 0o600) }
            guard descriptor >= 0 else { throw failure(lockPath, path, errno) }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
                if isCurrent(descriptor, lockPath) { return descriptor }
            } else if errno != EWOULDBLOCK, errno != EINTR {
                // A file system without locks.
                return descriptor
            }
            close(descriptor)
            let isCancelled = Task.isCancelled
            guard .now - start < (isCancelled ? cancelledLockTimeout : timeout) else {
                let message =
                    "\(path.shown.printable) can't be written: another process holds \(lockPath.shown.printable)"
                // If a signal ended the wait, it decides the exit status.
                throw isCancelled ? Failure(.cancelled, .cancelled, message) : Failure(.file, .file, message)
            }
            // A task of its own, because a cancelled one doesn't pause.
            await Task.detached { await interval.pause() }.value
        }
    }

    /// Returns why a file can't be locked: something else has the name of its lock file, or the file itself can't be
    /// written either.
    private static func failure(_ lockPath: RawText, _ path: RawText, _ number: Int32) -> Failure {
        guard let status = FileStatus(lockPath, followsLinks: false) else {
            return Failure(OutputFile.failure(path, number))
        }
        let lock = lockPath.shown.printable
        let reason = status.kind == .link ? "it is a symbolic link" : systemMessage(number)
        let message = "\(path.shown.printable) can't be written: \(lock), which locks it, can't be opened: \(reason)"
        return Failure(.file, .file, message)
    }

    /// Whether the file that was locked still has its name: its former owner may have removed it.
    private static func isCurrent(_ descriptor: Int32, _ path: RawText) -> Bool {
        guard let locked = FileStatus(descriptor) else { return false }
        return locked.identity == FileStatus(path, followsLinks: false)?.identity
    }
}
