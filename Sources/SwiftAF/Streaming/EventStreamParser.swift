import FoundationEssentials

/// Reads server-sent events from bytes that come in pieces, by the rules of the HTML standard.
///
/// An event counts when the empty line behind it has come; what is unfinished at the end is forgotten, its id too.
struct EventStreamParser {
    private var splitter: LineSplitter
    private var block: EventBlock

    /// - Parameter lastEventID: That of the connection before, which is this one's until the server gives another.
    init(lastEventID: String = "", limits: ServerSentEvent.Limits = .init()) {
        splitter = LineSplitter(maximumLength: limits.maximumLineLength)
        block = EventBlock(lastEventID: lastEventID, limits: limits)
    }

    /// The id to begin the next connection with; empty for none.
    var lastEventID: String { block.lastEventID }

    /// The time to wait before connecting again, if the server has set it.
    var reconnectionTime: Duration? { block.reconnectionTime }

    /// Forgets what is unfinished and goes on with the first piece of another connection.
    mutating func restart() {
        splitter = LineSplitter(maximumLength: splitter.maximumLength)
        block.restart()
    }

    /// Adds the next piece.
    mutating func append(_ bytes: Data) {
        splitter.append(bytes)
    }

    /// The next event; nil if its end has not come yet.
    ///
    /// - Throws: ``SessionError/Code/tooLarge`` beyond a limit. There is nothing to go on with after it.
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

/// The event under way, and what outlives it.
private struct EventBlock {
    enum Step {
        case more
        case event(ServerSentEvent)
        case tooLarge(String)
    }

    private var limits: ServerSentEvent.Limits
    private(set) var lastEventID: String
    private(set) var reconnectionTime: Duration?

    private var isFirstLine = true
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
        isFirstLine = true
        id = lastEventID
        forgetEvent()
    }

    mutating func take(_ bytes: UnsafeRawBufferPointer) -> Step {
        var line = bytes[...]
        if isFirstLine {
            isFirstLine = false
            if line.starts(with: [0xEF, 0xBB, 0xBF]) { line = line.dropFirst(3) }
        }
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

    /// Digits and nothing else; what is beyond the range is the end of it.
    private static func milliseconds(_ digits: Slice<UnsafeRawBufferPointer>) -> Duration? {
        guard !digits.isEmpty, digits.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
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
