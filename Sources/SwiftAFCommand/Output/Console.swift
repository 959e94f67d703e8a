import FoundationEssentials
import Glibc

/// The three standard streams, as a run sees them.
struct Console: Sendable {
    /// The descriptor that `--data @-` reads.
    var input: Int32
    var output: any ByteSink
    var error: any ByteSink

    /// The process's own.
    static var standard: Console {
        Console(
            input: STDIN_FILENO, output: DescriptorSink(descriptor: STDOUT_FILENO),
            error: DescriptorSink(descriptor: STDERR_FILENO))
    }

    /// Writes a line on standard error. That this can't be done is nothing a program could say anywhere.
    func complain(_ line: String) {
        complain([line])
    }

    /// Writes lines that belong together at once.
    @Sendable func complain(_ lines: [String]) {
        try? error.write(Data(lines.map { $0 + "\n" }.joined().utf8))
    }
}

/// Where bytes go.
protocol ByteSink: Sendable {
    /// Whether a person reads along.
    var isTerminal: Bool { get }
    /// Columns of the terminal.
    var columns: Int { get }
    /// Writes all of the bytes.
    func write(_ bytes: Data) throws(WriteError)
}

/// A write that failed.
struct WriteError: Error, Sendable {
    /// The `errno`.
    let systemError: Int32
}

/// An open file descriptor, which is not closed.
struct DescriptorSink: ByteSink {
    let descriptor: Int32

    var isTerminal: Bool { isatty(descriptor) == 1 }

    var columns: Int {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    func write(_ bytes: Data) throws(WriteError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            rest = rest.dropFirst(try writeSome(rest))
        }
    }

    /// Writes what can be written now, at least a byte; waits if the descriptor was opened not to.
    private func writeSome(_ bytes: Data) throws(WriteError) -> Int {
        while true {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 { return count }
            let reason = count < 0 ? errno : EIO
            switch reason {
            case EINTR: continue
            case EAGAIN:
                var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&wait, 1, -1)
            default: throw WriteError(systemError: reason)
            }
        }
    }
}

/// The system's words for an `errno`.
func systemMessage(_ number: Int32) -> String {
    var text = [CChar](repeating: 0, count: 256)
    guard strerror_r(number, &text, text.count) == 0 else { return "error \(number)" }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
