import Glibc

/// The status of a file from stat(2).
struct FileStatus {
    enum Kind {
        case regular, folder, link, pipe, socket, characterDevice, blockDevice, other
    }

    /// Identifies a file independently of its names.
    struct Identity: Hashable {
        let device: dev_t
        let number: ino_t
    }

    /// The unchanged result of the system call.
    let facts: stat

    /// - Parameter followsLinks: Whether to return the status of a symbolic link's target.
    /// - Returns: The status; nil if there is no such file, or it can't be accessed; `errno` has the reason.
    init?(_ path: RawText, followsLinks: Bool = true) {
        var facts = stat()
        guard path.withCString({ followsLinks ? stat($0, &facts) : lstat($0, &facts) }) == 0 else { return nil }
        self.facts = facts
    }

    /// - Returns: The status; nil if the descriptor isn't open; `errno` has the reason.
    init?(_ descriptor: Int32) {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { return nil }
        self.facts = facts
    }

    var kind: Kind {
        switch facts.st_mode & S_IFMT {
        case S_IFREG: .regular
        case S_IFDIR: .folder
        case S_IFLNK: .link
        case S_IFIFO: .pipe
        case S_IFSOCK: .socket
        case S_IFCHR: .characterDevice
        case S_IFBLK: .blockDevice
        default: .other
        }
    }

    /// The size in bytes; 0 for files without a size, such as pipes.
    var size: off_t { facts.st_size }

    var identity: Identity { Identity(device: facts.st_dev, number: facts.st_ino) }
}
