/// The exit status of a run. Scripts rely on the numbers: don't change them.
enum ExitCode: Int32, Sendable {
    case success = 0
    /// The command line or an input is invalid; nothing was sent.
    case input = 1
    /// The response status isn't acceptable.
    case status = 2
    /// The network or the peer failed.
    case network = 3
    /// A timeout.
    case timeout = 4
    /// TLS failed, or the server isn't trusted.
    case trust = 5
    /// A declared limit was exceeded.
    case limit = 6
    /// Credentials are required or were rejected.
    case authentication = 7
    /// A local file or the disk failed.
    case file = 8
    /// The response couldn't be parsed in the requested format.
    case serialization = 9
    /// A failure of this program or the machine; the value of `EX_SOFTWARE`.
    case software = 70
    /// Interrupted by SIGINT: 128 plus the signal's number, as in shells. ``Interrupts`` handles the other signals.
    case cancelled = 130
}
