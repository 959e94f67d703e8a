import Foundation

/// A server that runs as long as this value, and no longer than this process, however this process ends.
///
/// A shell is between them. It waits for the end of a connection whose other end only this process has: closed, or
/// left behind by a crash, the connection ends, and the shell ends the server and deletes its folder.
final class ServerProcess: Sendable {
    private static let supervisor = """
        "$@" &
        read -r _
        trap '' TERM
        kill -TERM 0
        wait
        rm -rf -- "$0"
        """

    private let shell: pid_t
    private let lifeline: Int32
    private let folder: TemporaryFolder

    /// Starts a command with its sockets as descriptors 3, 4, … and its output in the folder's `log`.
    init(_ command: [String], environment: [String: String] = [:], sockets: [ListeningSocket], folder: TemporaryFolder)
        throws
    {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw SystemFailure("socketpair")
        }
        let waiting = try above(ends[0])
        defer { close(waiting) }
        lifeline = ends[1]
        self.folder = folder
        shell = try Self.spawn(
            ["/bin/sh", "-c", Self.supervisor, folder.path] + command,
            environment: environment.merging(["PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TMPDIR": folder.path]) {
                given, _ in given
            },
            input: waiting, log: folder.file("log"), descriptors: sockets.map(\.descriptor))
    }

    /// What the server has written so far.
    var log: String {
        (try? folder.read("log")).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    deinit {
        close(lifeline)
        var status: Int32 = 0
        while waitpid(shell, &status, 0) < 0, errno == EINTR {}
    }

    /// Starts a program in a process group of its own, so that the keyboard's signals don't reach it.
    private static func spawn(
        _ arguments: [String], environment: [String: String], input: Int32, log: String, descriptors: [Int32]
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        for (offset, descriptor) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(3 + offset))
        }
        // What else this process was given and did not mark.
        for other in Int32(3 + descriptors.count)..<firstOwnDescriptor {
            posix_spawn_file_actions_addclose(&actions, other)
        }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))

        let argv = arguments.map { strdup($0) } + [nil]
        let envp = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (argv + envp).forEach { free($0) } }
        var child: pid_t = 0
        errno = posix_spawn(&child, arguments[0], &actions, &attributes, argv, envp)
        guard errno == 0 else { throw SystemFailure("posix_spawn") }
        return child
    }
}
