import FoundationEssentials
import Glibc
import SwiftAF

/// The standard streams of a run.
struct Console: Sendable {
    /// The file descriptor for `--data @-`.
    var input: Int32
    var output: any ByteSink
    var error: any ByteSink
    /// Whether the terminal of standard error can't move its cursor, see ``Style/isDumb(_:)``.
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

/// Writes notes while progress bars are drawn; otherwise notes and bars would share lines.
final class NoteRoute: Sendable {
    private let display = Locked<(@Sendable ([String]) -> Void)?>(nil)

    /// Writes lines above the progress bars; nil if none are drawn.
    var write: (@Sendable ([String]) -> Void)? {
        get { display.withLock { $0 } }
        set { display.withLock { $0 = newValue } }
    }
}
