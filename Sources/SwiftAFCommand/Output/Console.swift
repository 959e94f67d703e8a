import FoundationEssentials
import Glibc
import SwiftAF

/// The standard streams of a run.
struct Console: Sendable {
    /// The file descriptor for `--data @-`.
    var input: Int32
    var output: any ByteSink
    var error: any ByteSink
    /// Whether the terminal of standard error can't move its cursor: TERM=dumb.
    var isDumb = false
    /// The end of `--timeout`, which limits the wait for the readers of the output too; nil without a limit.
    var deadline: Instant?
    /// Set when the run is stopped.
    var stop = StopFlag()
    /// Where notes are written while bars are drawn.
    let notes = NoteRoute()

    /// Whether standard error can show what is drawn again and again.
    var canShowProgress: Bool { error.isTerminal && !isDumb }

    /// The streams of the process.
    static var standard: Console {
        let stop = StopFlag()
        return Console(
            input: STDIN_FILENO, output: DescriptorSink(descriptor: STDOUT_FILENO, stop: stop),
            error: DescriptorSink(descriptor: STDERR_FILENO, stop: stop), stop: stop)
    }

    /// The same streams for a run that begins now.
    ///
    /// - Parameter limit: The value of `--timeout`; nil and zero are no limit.
    func limited(to limit: Duration?) -> Console {
        var console = self
        console.deadline = limit.flatMap { $0 > .zero ? .now + $0 : nil }
        return console
    }

    /// Writes to standard output.
    func write(_ bytes: Data) throws(WriteError) {
        try output.write(bytes, until: deadline)
    }

    /// Writes a line to standard error. A failure is ignored: it can't be reported anywhere.
    func writeError(_ line: String) {
        writeError([line])
    }

    /// Writes a note to standard error, above the progress bars if there are some.
    func note(_ text: String) {
        writeNote(["swiftaf: \(text)"])
    }

    /// Writes lines to standard error, above the progress bars if there are some.
    @Sendable func writeNote(_ lines: [String]) {
        if let write = notes.write { write(lines) } else { writeError(lines) }
    }

    /// Writes several lines in one write, so that they stay together.
    @Sendable func writeError(_ lines: [String]) {
        try? error.write(Data(lines.map { $0 + "\n" }.joined().utf8), until: deadline)
    }
}

/// Writes lines while progress bars are drawn, which would share their lines otherwise.
final class NoteRoute: Sendable {
    private let display = Locked<(@Sendable ([String]) -> Void)?>(nil)

    /// Nil if nothing is drawn.
    var write: (@Sendable ([String]) -> Void)? {
        get { display.withLock { $0 } }
        set { display.withLock { $0 = newValue } }
    }
}

/// The end of `--timeout` for what happens before anything is sent: the wait for files, pipes and the terminal.
enum Deadline {
    /// Nil without a limit.
    @TaskLocal static var current: Instant?

    /// Throws if the run was cancelled, or its time is over.
    static func check() throws(Failure) {
        guard !Task.isCancelled else { throw Failure(SessionError(.cancelled)) }
        guard let current, current <= .now else { return }
        throw Failure(
            SessionError(.timeout, reason: .total, message: "total timeout: the input wasn't complete in time"))
    }

    /// Returns how long to wait before the next ``check()``, in milliseconds.
    ///
    /// - Parameter longest: The longest such wait.
    static func wait(_ longest: Int32) -> Int32 {
        guard let current else { return longest }
        return Int32(max(0, min(Double(longest), (current - .now).milliseconds.rounded(.up))))
    }
}

/// The destination of output.
protocol ByteSink: Sendable {
    /// Whether the destination is a terminal.
    var isTerminal: Bool { get }
    /// The width of the terminal in columns.
    var columns: Int { get }
    /// Whether the terminal is this program's to draw on: it isn't for a job in the background.
    var isInForeground: Bool { get }
    /// The descriptor that the bytes go to, if nothing comes in between.
    var descriptor: Int32? { get }
    /// Writes all bytes.
    func write(_ bytes: Data) throws(WriteError)
    /// Writes all bytes, and doesn't wait longer than until a deadline for room.
    func write(_ bytes: Data, until deadline: Instant?) throws(WriteError)
}

extension ByteSink {
    var isInForeground: Bool { true }

    var descriptor: Int32? { nil }

    func write(_ bytes: Data, until deadline: Instant?) throws(WriteError) {
        try write(bytes)
    }
}

/// Why not all bytes were written.
enum WriteError: Error, Sendable {
    /// The `errno` of the system.
    case system(Int32)
    /// The run was stopped while the bytes waited for room.
    case stopped
    /// The deadline passed meanwhile.
    case late
}

/// Returns the system's message for an `errno`.
func systemMessage(_ number: Int32) -> String {
    var text = [CChar](repeating: 0, count: 256)
    guard strerror_r(number, &text, text.count) == 0 else { return "error \(number)" }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
