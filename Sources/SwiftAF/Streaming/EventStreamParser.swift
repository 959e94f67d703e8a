import FoundationEssentials

/// Parses server-sent events from chunks of bytes, by the rules of the HTML standard (section 9.2.6).
///
/// An event is complete once the empty line after it has arrived. An incomplete event at the end of the stream is
/// discarded, including its id.
struct EventStreamParser {
    private var splitter: LineSplitter
    private var block: EventBlock

    /// - Parameter lastEventID: The last id of the previous connection; kept until the server sends another.
    init(lastEventID: String = "", limits: ServerSentEvent.Limits = .init()) {
        splitter = LineSplitter(maximumLength: limits.maximumLineLength)
        block = EventBlock(lastEventID: lastEventID, limits: limits)
    }

    /// The last event id, for the `Last-Event-ID` of the next connection; empty if there was none.
    var lastEventID: String { block.lastEventID }

    /// The delay before reconnecting, if the server has set it.
    var reconnectionTime: Duration? { block.reconnectionTime }

    /// Discards incomplete data and starts with the first chunk of a new connection.
    mutating func restart() {
        splitter = LineSplitter(maximumLength: splitter.maximumLength)
        block.restart()
    }

    /// Appends the next chunk.
    mutating func append(_ bytes: Data) {
        splitter.append(bytes)
    }

    /// Returns the next event; nil if none is complete yet.
    ///
    /// - Throws: ``SessionError/Code/tooLarge`` if a limit is exceeded. The parser can't be used afterwards.
    mutating func next() throws(SessionError) -> ServerSentEvent? {
        try Self.next(&splitter, &block)
    }

    private static func next(
        _ splitter: inout LineSplitter, _ block: inout EventBlock
    ) throws(SessionError) -> ServerSentEvent? {
        while let step = try splitter.next({ block.take($0) }) {
            switch step {
            case .more: continue
            case .event(let event): return event
            case .tooLarge(let message): throw SessionError(.tooLarge, message: message)
            }
        }
        return nil
    }
}

/// The event that is being parsed, and the fields that outlive it.
private struct EventBlock {
    enum Step {
        case more
        case event(ServerSentEvent)
        case tooLarge(String)
    }

    private var limits: ServerSentEvent.Limits
    private(set) var lastEventID: String
    private(set) var reconnectionTime: Duration?

    private var fieldCount = 0
    private var id: String
    private var type = ""
    private var data: [UInt8] = []
    private var retry: Duration?

    init(lastEventID: String, limits: ServerSentEvent.Limits) {
        self.limits = limits
        self.limits.maximumDataSize = max(0, limits.maximumDataSize)
        self.lastEventID = lastEventID
        id = lastEventID
    }

    mutating func restart() {
        id = lastEventID
        forgetEvent()
    }

    mutating func take(_ bytes: UnsafeRawBufferPointer) -> Step {
        let line = bytes[...]
        guard let first = line.first else { return dispatch() }
        guard first != UInt8(ascii: ":") else { return .more }
        fieldCount += 1
        guard fieldCount <= limits.maximumFieldCount else {
            return .tooLarge("an event has more than \(limits.maximumFieldCount) fields")
        }
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
        var value = colon.map { line[($0 + 1)...] } ?? line[line.endIndex...]
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        return take(name: line[..<(colon ?? line.endIndex)], value: value)
    }

    private mutating func take(name: Slice<UnsafeRawBufferPointer>, value: Slice<UnsafeRawBufferPointer>) -> Step {
        if name.elementsEqual("data".utf8) {
            guard value.count <= limits.maximumDataSize - data.count else {
                return .tooLarge("the data of an event is larger than \(limits.maximumDataSize) bytes")
            }
            data.append(contentsOf: value)
            data.append(UInt8(ascii: "\n"))
        } else if name.elementsEqual("event".utf8) {
            type = text(value)
        } else if name.elementsEqual("id".utf8) {
            if !value.contains(0) { id = text(value) }
        } else if name.elementsEqual("retry".utf8), let time = Self.milliseconds(value) {
            retry = time
            reconnectionTime = time
        }
        return .more
    }

    private mutating func dispatch() -> Step {
        lastEventID = id
        defer { forgetEvent() }
        guard !data.isEmpty else { return .more }
        return .event(
            ServerSentEvent(
                id: id, event: type.isEmpty ? "message" : type, data: String(decoding: data.dropLast(), as: UTF8.self),
                retry: retry))
    }

    private mutating func forgetEvent() {
        fieldCount = 0
        type = ""
        data.removeAll(keepingCapacity: data.capacity <= 1 << 16)
        retry = nil
    }

    private func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        String(decoding: UnsafeRawBufferPointer(rebasing: bytes), as: UTF8.self)
    }

    /// Parses a value that consists of digits only; a value out of range is clamped.
    private static func milliseconds(_ digits: Slice<UnsafeRawBufferPointer>) -> Duration? {
        guard !digits.isEmpty, digits.allSatisfy(ASCII.isDigit) else { return nil }
        var number: Int64 = 0
        for digit in digits {
            let (tenfold, overflows) = number.multipliedReportingOverflow(by: 10)
            let (sum, passes) = tenfold.addingReportingOverflow(Int64(digit - 0x30))
            guard !overflows, !passes else { return .milliseconds(Int64.max) }
            number = sum
        }
        return .milliseconds(number)
    }
}
