import FoundationEssentials
import Glibc

/// The standard streams of a run.
struct Console: Sendable {
    /// The file descriptor for `--data @-`.
    var input: Int32
    var output: any ByteSink
    var error: any ByteSink
    /// Whether the terminal of standard error can't move its cursor: TERM=dumb.
    var isDumb = false

    /// Whether standard error can show what is drawn again and again.
    var canShowProgress: Bool { error.isTerminal && !isDumb }

    /// The streams of the process.
    static var standard: Console {
        Console(
            input: STDIN_FILENO, output: DescriptorSink(descriptor: STDOUT_FILENO),
            error: DescriptorSink(descriptor: STDERR_FILENO))
    }

    /// Writes a line to standard error. A failure is ignored: it can't be reported anywhere.
    func complain(_ line: String) {
        complain([line])
    }

    /// Writes several lines in one write, so that they stay together.
    @Sendable func complain(_ lines: [String]) {
        try? error.write(Data(lines.map { $0 + "\n" }.joined().utf8))
    }
}

/// The destination of output.
protocol ByteSink: Sendable {
    /// Whether the destination is a terminal.
    var isTerminal: Bool { get }
    /// The width of the terminal in columns.
    var columns: Int { get }
    /// The descriptor that the bytes go to, if nothing comes in between.
    var descriptor: Int32? { get }
    /// Writes all bytes.
    func write(_ bytes: Data) throws(WriteError)
}

extension ByteSink {
    var descriptor: Int32? { nil }
}

/// A failed write.
struct WriteError: Error, Sendable {
    /// The `errno`.
    let systemError: Int32
}

/// A file descriptor. It isn't closed.
struct DescriptorSink: ByteSink {
    private let number: Int32

    init(descriptor: Int32) {
        number = descriptor
    }

    var descriptor: Int32? { number }

    var isTerminal: Bool { isatty(number) == 1 }

    var columns: Int {
        var size = winsize()
        guard ioctl(number, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    func write(_ bytes: Data) throws(WriteError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            rest = rest.dropFirst(try writeSome(rest))
        }
    }

    /// Writes as much as possible, at least one byte. If the descriptor is non-blocking, waits until it is writable.
    private func writeSome(_ bytes: Data) throws(WriteError) -> Int {
        while true {
            let count = bytes.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
            if count > 0 { return count }
            let reason = count < 0 ? errno : EIO
            switch reason {
            case EINTR: continue
            case EAGAIN:
                var wait = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
                _ = poll(&wait, 1, -1)
            default: throw WriteError(systemError: reason)
            }
        }
    }
}

/// Returns the system's message for an `errno`.
func systemMessage(_ number: Int32) -> String {
    var text = [CChar](repeating: 0, count: 256)
    guard strerror_r(number, &text, text.count) == 0 else { return "error \(number)" }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
