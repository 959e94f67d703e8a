import Glibc

/// What poll(2) reports of a descriptor.
struct PollEvents: OptionSet {
    let rawValue: Int16

    /// There are bytes to be read, or the end.
    static let input = PollEvents(rawValue: Int16(POLLIN))
    /// There is room for bytes.
    static let output = PollEvents(rawValue: Int16(POLLOUT))

    /// Waits until a descriptor has an event, was closed at its other end, or has an error.
    ///
    /// - Parameter timeout: The longest wait in milliseconds.
    /// - Returns: What has happened; nothing if the time is over, or a signal interrupted the wait.
    static func wait(for events: PollEvents, of descriptor: Int32, timeout: Int32 = 0) -> PollEvents {
        var polled = pollfd(fd: descriptor, events: events.rawValue, revents: 0)
        return poll(&polled, 1, timeout) > 0 ? PollEvents(rawValue: polled.revents) : []
    }
}
