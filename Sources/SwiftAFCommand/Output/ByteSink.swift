import FoundationEssentials

/// The destination of output.
protocol ByteSink: Sendable {
    /// Whether the destination is a terminal.
    var isTerminal: Bool { get }
    /// The width of the terminal in columns.
    var columns: Int { get }
    /// Whether the terminal is this program's to draw on: it isn't for a job in the background.
    var isInForeground: Bool { get }
    /// The descriptor that the bytes are written to; nil if it mustn't be written to directly.
    var descriptor: Int32? { get }
    /// Writes all bytes.
    func write(_ bytes: Data) throws(WriteError)
    /// Writes all bytes. Waits for room until a deadline at most.
    func write(_ bytes: Data, until deadline: Instant?) throws(WriteError)
}

extension ByteSink {
    var isInForeground: Bool { true }

    var descriptor: Int32? { nil }

    func write(_ bytes: Data, until deadline: Instant?) throws(WriteError) {
        try write(bytes)
    }
}

/// The reason for which not all bytes were written.
enum WriteError: Error, Sendable {
    /// The `errno` of the system.
    case system(Int32)
    /// The run was stopped while the bytes waited for room.
    case stopped
    /// The deadline passed while the bytes waited for room.
    case late
}
