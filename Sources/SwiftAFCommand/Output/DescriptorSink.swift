import FoundationEssentials
import Glibc
import SwiftAF

/// A file descriptor, such as standard output. It isn't closed.
///
/// A reader may be slow, or never read again. So nothing waits in `write(2)`, which signals don't end: the wait for
/// room is interrupted when the run is stopped, and when its time is over. The descriptor isn't made non-blocking,
/// because that would affect all processes that share it. The core writes in the same ways (body/descriptor.c).
final class DescriptorSink: ByteSink {
    /// How bytes are written without waiting.
    private enum Way {
        /// In one write: a regular file always has room, and a descriptor that fails does so at once.
        case whole
        /// With `send(2)`: a socket takes as much as it has room for.
        case send
        /// The descriptor doesn't block: the given one, or another one for the same pipe or terminal.
        case nonblocking(Int32)
        /// In pieces that fit where `poll(2)` finds room.
        case pieces
    }

    /// How long output waits for room once the run was stopped, or its time limit has passed.
    private static let lastWriteTimeout = Duration.milliseconds(500)

    private let number: Int32
    private let stop: StopFlag?
    /// Nil until the first write determines it.
    private let way = Locked<Way?>(nil)

    /// - Parameter stop: Ends the wait for room; if nil, the cancellation of the current task does.
    init(descriptor: Int32, stop: StopFlag? = nil) {
        number = descriptor
        self.stop = stop
    }

    deinit {
        if case .nonblocking(let other) = way.withLock({ $0 }), other != number { close(other) }
    }

    var descriptor: Int32? { number }

    var isTerminal: Bool { isatty(number) == 1 }

    var isInForeground: Bool { JobControl.isInForeground(number) }

    var columns: Int {
        var size = winsize()
        guard ioctl(number, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    func write(_ bytes: Data) throws(WriteError) {
        try write(bytes, until: nil)
    }

    func write(_ bytes: Data, until deadline: Instant?) throws(WriteError) {
        let way = foundWay
        let wasStopped = isStopped
        var limit: Limit?
        var rest = bytes[...]
        while true {
            rest = rest.dropFirst(try writeSome(rest, way))
            guard !rest.isEmpty else { return }
            // The clock is read only if there is no room.
            let current = limit ?? Limit(deadline, wasStopped: wasStopped)
            limit = current
            try waitForRoom(way, current)
        }
    }

    // MARK: Waiting

    /// When the wait for room ends.
    private struct Limit {
        let end: Instant?
        let error: WriteError
        /// Whether the wait ends when the run is stopped.
        let endsWithRun: Bool

        init(_ deadline: Instant?, wasStopped: Bool) {
            let now = Instant.now
            endsWithRun = !wasStopped
            error = wasStopped ? .stopped : .late
            let isLastWord = wasStopped || deadline.map { $0 <= now } ?? false
            end = isLastWord ? now + DescriptorSink.lastWriteTimeout : deadline
        }
    }

    private var isStopped: Bool { stop?.isSet ?? Task.isCancelled }

    private func waitForRoom(_ way: Way, _ limit: Limit) throws(WriteError) {
        if limit.endsWithRun, isStopped { throw .stopped }
        var timeout = Deadline.pollInterval
        if let end = limit.end {
            let rest = end - .now
            guard rest > .zero else { throw limit.error }
            timeout = Int32(min(Double(timeout), rest.fractionalMilliseconds.rounded(.up)))
        }
        let waiting = if case .nonblocking(let other) = way { other } else { number }
        _ = PollEvents.wait(for: .output, of: waiting, timeout: timeout)
    }

    // MARK: Writing

    /// Writes what there is room for, and returns the number of bytes.
    private func writeSome(_ bytes: Data, _ way: Way) throws(WriteError) -> Int {
        guard !bytes.isEmpty else { return 0 }
        while true {
            let count = bytes.withUnsafeBytes { write($0, way) }
            if count > 0 { return count }
            switch count < 0 ? errno : EIO {
            case EINTR: continue
            case EAGAIN: return 0
            case let reason: throw .system(reason)
            }
        }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, _ way: Way) -> Int {
        switch way {
        case .whole: return Glibc.write(number, bytes.baseAddress, bytes.count)
        case .nonblocking(let other): return Glibc.write(other, bytes.baseAddress, bytes.count)
        case .send:
            return Glibc.send(number, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
        case .pieces:
            guard !PollEvents.wait(for: .output, of: number).isEmpty else {
                errno = EAGAIN
                return -1
            }
            return Glibc.write(number, bytes.baseAddress, min(bytes.count, Int(PIPE_BUF)))
        }
    }

    private var foundWay: Way {
        way.withLock { way in
            let found = way ?? findWay()
            way = found
            return found
        }
    }

    private func findWay() -> Way {
        let flags = fcntl(number, F_GETFL)
        guard flags >= 0, flags & O_ACCMODE != O_RDONLY, let status = FileStatus(number) else { return .whole }
        switch status.kind {
        case .regular, .blockDevice: return .whole
        case .socket: return .send
        default: break
        }
        if flags & O_NONBLOCK != 0 { return .nonblocking(number) }
        // Opening any other device again may have effects.
        guard status.kind == .pipe || isTerminal else { return .pieces }
        // Fails for a terminal of another user, and without /proc.
        let other = open("/proc/self/fd/\(number)", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        return other < 0 ? .pieces : .nonblocking(other)
    }
}
