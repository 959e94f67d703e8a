import Glibc
import SwiftAF

/// Asks for a secret on the terminal of the process.
enum Prompt {
    /// Prints a question and reads a line without echo; nil without a terminal. A job in the background stops first.
    ///
    /// - Throws: If the line isn't UTF-8, or the task is cancelled meanwhile, also by the end of the input (Ctrl-D).
    ///   The terminal's echo is on again then.
    static func secret(_ question: String) throws(Failure) -> String? {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else { return nil }
        defer { close(terminal) }
        // In the background, the settings would be those of the shell's own prompt.
        guard JobControl.waitForForeground(terminal) == 0 else { return nil }
        var settings = termios()
        guard tcgetattr(terminal, &settings) == 0 else { return nil }
        var silent = settings
        silent.c_lflag &= ~tcflag_t(ECHO)
        // Input comes in lines, which the return key ends.
        silent.c_lflag |= tcflag_t(ICANON)
        silent.c_iflag |= tcflag_t(ICRNL)
        // Ctrl-\ and Ctrl-Z would leave a terminal without echo behind. Zero is _POSIX_VDISABLE.
        withUnsafeMutableBytes(of: &silent.c_cc) { keys in
            for key in [VQUIT, VSUSP] { keys[Int(key)] = 0 }
        }
        let former = settings
        Screen.settings.withLock { $0 = former }
        tcsetattr(terminal, TCSAFLUSH, &silent)
        defer {
            tcsetattr(terminal, TCSANOW, &settings)
            Screen.settings.withLock { $0 = nil }
            say("\n", terminal)
        }
        say(question, terminal)
        var line: [UInt8] = []
        // The keys that are disabled don't become part of the secret either: in other programs they stop the program.
        let ignored = withUnsafeBytes(of: former.c_cc) { keys in [keys[Int(VQUIT)], keys[Int(VSUSP)]] }
        while case let byte = try nextByte(of: terminal, silent), byte != UInt8(ascii: "\n") {
            if !ignored.contains(byte) { line.append(byte) }
        }
        do throws(UsageError) {
            return try RawText(line).text(of: "the password")
        } catch {
            throw Failure(error)
        }
    }

    /// Waits for a byte. The end of the input (Ctrl-D) cancels the run.
    private static func nextByte(of terminal: Int32, _ settings: termios) throws(Failure) -> UInt8 {
        while true {
            try Deadline.check()
            guard !PollEvents.wait(for: .input, of: terminal, timeout: Deadline.nextPoll).isEmpty else { continue }
            var byte: UInt8 = 0
            switch read(terminal, &byte, 1) {
            case 1: return byte
            case 0: throw Failure(SessionError(.cancelled))
            default:
                if errno == EINTR || errno == EAGAIN { continue }
                guard errno == EIO, !JobControl.isInForeground(terminal),
                    JobControl.waitForForeground(terminal) == 0
                else { throw Failure(SessionError(.cancelled)) }
                // The shell has meanwhile restored its own settings.
                var settings = settings
                tcsetattr(terminal, TCSANOW, &settings)
            }
        }
    }

    private static func say(_ text: String, _ terminal: Int32) {
        _ = Array(text.utf8).withUnsafeBytes { write(terminal, $0.baseAddress, $0.count) }
    }
}
