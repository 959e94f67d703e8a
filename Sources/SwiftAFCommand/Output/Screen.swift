import Glibc
import SwiftAF

/// Restores the screen when the process ends at once.
enum Screen {
    /// The number of lines with bars on standard error.
    static let drawnLines = Locked(0)
    /// Whether the process was stopped (Ctrl-Z) and continued since bars were drawn. The shell has then written to the
    /// screen as well.
    private static let wasContinued = Locked(false)

    /// Called when the process continues after a stop.
    static func continued() {
        wasContinued.withLock { $0 = true }
    }

    /// Returns whether the process was continued since the last call.
    static func takeContinuation() -> Bool {
        // The thread that waits for signals may not have run yet; the signal then stays pending.
        var pending = sigset_t()
        let isPending = sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1
        return wasContinued.withLock { flag in
            defer { flag = false }
            return flag || isPending
        }
    }

    /// The settings of the terminal while a secret is typed; nil if they weren't changed.
    static let settings = Locked<termios?>(nil)

    /// Turns the terminal's echo on again, if it is off.
    static func restoreEcho() {
        guard var former = settings.withLock({ $0 }) else { return }
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else { return }
        tcsetattr(terminal, TCSANOW, &former)
        close(terminal)
    }

    /// The text that erases the bars; nil if there are none.
    static var eraser: String? {
        let count = drawnLines.withLock { $0 }
        guard count > 0 else { return nil }
        return (count > 1 ? "\r\u{1B}[\(count - 1)A" : "\r") + "\u{1B}[J"
    }
}
