import Glibc

/// What a shell's `&`, `bg` and `fg` mean for a program that reads its terminal (termios(3), "Job control").
enum JobControl {
    /// Whether the terminal is this program's to read and draw on. One that isn't the controlling terminal has no job
    /// control, and its group is unknown.
    static func isInForeground(_ terminal: Int32) -> Bool {
        let group = tcgetpgrp(terminal)
        return group < 0 || group == getpgrp()
    }

    /// Stops a job in the background until its shell brings it to the foreground.
    ///
    /// - Returns: 0, or the errno of a job that can't be stopped, such as one whose shell has ended: EIO.
    static func waitForForeground(_ terminal: Int32) -> Int32 {
        // The kernel stops a background process that reads, but not if the reading thread blocks the signal, as the
        // threads of Dispatch do.
        var stop = sigset_t()
        var former = sigset_t()
        sigemptyset(&stop)
        sigaddset(&stop, SIGTTIN)
        pthread_sigmask(SIG_UNBLOCK, &stop, &former)
        defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
        // Reading 0 bytes takes no input, and doesn't wait for a line, which Ctrl-C couldn't end.
        var none: UInt8 = 0
        while read(terminal, &none, 0) < 0 {
            guard errno == EINTR else { return errno }
        }
        return 0
    }
}
