import FoundationEssentials
import Glibc
import SwiftAF

@testable import SwiftAFCommand

/// The built program in a terminal of its own, 80 columns wide, which it is the only process of.
final class TerminalRun: Sendable {
    private let process: Child
    private let terminal: Int32
    private let name: String
    private let bytes = Locked(Data())

    convenience init(_ arguments: String..., environment: [String: String] = [:], columns: UInt16 = 80) throws {
        try self.init(arguments, environment: environment, columns: columns)
    }

    convenience init(_ arguments: [String], environment: [String: String] = [:], columns: UInt16 = 80) throws {
        guard let program = ProgramRun.path else { throw CocoaError(.executableNotLoadable) }
        try self.init(command: [program] + arguments, environment: environment, columns: columns)
    }

    /// Starts the program as a job of a shell in the background, which brings it to the foreground once it has stopped.
    convenience init(inBackground arguments: [String]) throws {
        guard let program = ProgramRun.path else { throw CocoaError(.executableNotLoadable) }
        // In stat of proc(5), T is a process that was stopped.
        let shell = """
            set -m; "$@" & job=$!
            while read -r line < /proc/$job/stat; do case $line in *") T "*) break;; esac; done
            printf 'the job has stopped\\n'; fg
            """
        try self.init(command: ["/bin/sh", "-c", shell, "sh", program] + arguments, environment: [:], columns: 80)
    }

    private init(command: [String], environment: [String: String], columns: UInt16) throws {
        // What posix_openpt, unlockpt and ptsname do: Swift sees neither them nor TIOCSPTLCK and TIOCGPTN.
        let (lock, getNumber) = (UInt(0x4004_5431), UInt(0x8004_5430))
        terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var isLocked: Int32 = 0
        var number: UInt32 = 0
        guard terminal >= 0, ioctl(terminal, lock, &isLocked) == 0,
            ioctl(terminal, getNumber, &number) == 0
        else { throw CocoaError(.fileReadUnknown) }
        name = "/dev/pts/\(number)"
        var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(terminal, UInt(TIOCSWINSZ), &size)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        // The first terminal that the leader of a session opens becomes the one that sends it signals.
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, name, O_RDWR, 0)
        posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDERR_FILENO)
        process = Child(
            try Launch.spawn(
                command.map { RawText($0) }, ["TERM": "xterm"].merging(environment) { $1 }, &actions,
                flags: 0x80))
        posix_spawn_file_actions_destroy(&actions)
    }

    deinit {
        close(terminal)
    }

    /// Presses keys.
    func type(_ keys: String) {
        type(Array(keys.utf8))
    }

    func type(_ keys: [UInt8]) {
        _ = keys.withUnsafeBytes { Glibc.write(terminal, $0.baseAddress, $0.count) }
    }

    func send(_ signal: Int32) {
        process.send(signal)
    }

    /// Stops the program as Ctrl-Z does, and returns when it has stopped.
    func stop() async {
        process.send(SIGSTOP)
        await process.waitForStop()
    }

    /// Writes to the terminal as another process does, such as a shell.
    func writeAsShell(_ text: String) {
        let other = open(name, O_WRONLY | O_NOCTTY | O_CLOEXEC)
        _ = text.withCString { Glibc.write(other, $0, strlen($0)) }
        close(other)
    }

    func resize(columns: UInt16) {
        var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(terminal, UInt(TIOCSWINSZ), &size)
    }

    /// Whether the terminal shows what is typed.
    var echoes: Bool {
        var settings = termios()
        return tcgetattr(terminal, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    /// All that was written to the terminal.
    var text: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }

    /// Reads what is shown until it ends, or holds `text` so many times.
    func read(until text: String? = nil, times: Int = 1) async {
        await onOwnThread {
            while !self.holds(text, times) {
                var piece = [UInt8](repeating: 0, count: 4096)
                let count = Glibc.read(self.terminal, &piece, piece.count)
                // EIO: the other end isn't open any more.
                guard count > 0 else { break }
                self.bytes.withLock { $0 += piece.prefix(count) }
            }
        }
    }

    private func holds(_ needle: String?, _ times: Int) -> Bool {
        guard let needle else { return false }
        return text.ranges(of: needle).count >= times
    }

    /// The exit status, once all has been read.
    func end() async -> Int32? {
        await read()
        return await process.wait()
    }

    /// The exit status, while nothing more is read.
    func endUnread() async -> Int32? {
        await process.wait()
    }

    /// The lines that are left on the screen.
    var screen: [String] {
        var screen = Screenful()
        screen.show(String(decoding: bytes.withLock { $0 }, as: UTF8.self))
        return screen.text
    }
}

/// As much of a terminal as the program uses.
private struct Screenful {
    private var rows: [[Character]] = [[]]
    private var row = 0
    private var column = 0

    var text: [String] {
        rows.map { String($0).trimmingTrailing }.reversed().drop { $0.isEmpty }.reversed()
    }

    mutating func show(_ text: String) {
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\r": column = 0
            case "\n": moveDown()
            case "\u{1B}":
                _ = rest.popFirst()
                let number = rest.prefix { ("0"..."9").contains($0) }
                rest = rest.dropFirst(number.count)
                control(rest.popFirst(), Int(String(number)) ?? 1)
            default: put(Character(scalar))
            }
        }
    }

    private mutating func control(_ letter: Unicode.Scalar?, _ count: Int) {
        switch letter {
        case "A": row = max(0, row - count)
        case "K": rows[row].removeLast(max(0, rows[row].count - column))
        case "J":
            rows[row].removeLast(max(0, rows[row].count - column))
            rows.removeLast(rows.count - row - 1)
        default: break
        }
    }

    private mutating func moveDown() {
        row += 1
        if row == rows.count { rows.append([]) }
    }

    private mutating func put(_ character: Character) {
        if column == 80 {
            column = 0
            moveDown()
        }
        while rows[row].count <= column { rows[row].append(" ") }
        rows[row][column] = character
        column += 1
    }
}

extension String {
    fileprivate var trimmingTrailing: String {
        String(reversed().drop { $0 == " " }.reversed())
    }
}
