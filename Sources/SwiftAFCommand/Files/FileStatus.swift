import Glibc

/// What stat(2) says of a file.
struct FileStatus {
    enum Kind {
        case regular, folder, link, pipe, socket, characterDevice, blockDevice, other
    }

    /// Tells files apart, whichever names they have.
    struct Identity: Hashable {
        let device: dev_t
        let number: ino_t
    }

    /// The facts as the system gives them.
    let facts: stat

    /// - Parameter followsLinks: Whether it is about what a symbolic link leads to.
    /// - Returns: Nil if there is no such file, or it can't be looked at; `errno` says why.
    init?(_ path: RawText, followsLinks: Bool = true) {
        var facts = stat()
        guard path.withCString({ followsLinks ? stat($0, &facts) : lstat($0, &facts) }) == 0 else { return nil }
        self.facts = facts
    }

    /// - Returns: Nil if the descriptor isn't open; `errno` says why.
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

    /// The size in bytes; 0 for what has none.
    var size: off_t { facts.st_size }

    var identity: Identity { Identity(device: facts.st_dev, number: facts.st_ino) }
}
