import FoundationEssentials

/// Splits chunks of bytes into lines. CR, LF and CRLF each end a line, also when a CRLF is split across chunks.
///
/// A line is returned as soon as its CR has arrived, because the next byte, which may be an LF, can be much later.
struct LineSplitter {
    /// The maximum length of a line in bytes, without its terminator. May be changed between calls, because each reader
    /// has its own limit.
    var maximumLength: Int
    /// Whether a UTF-8 byte order mark is removed from the first line. It counts toward the maximum length.
    var dropsByteOrderMark = true

    private var piece = Data()
    /// The offset in `piece` of the first byte that wasn't consumed.
    private var position = 0
    /// The start of a line that isn't complete yet, from earlier chunks.
    private var beginning: [UInt8] = []
    private var skipsLineFeed = false
    /// Whether no line and no other bytes have been returned yet, so that the next line may begin with a byte order
    /// mark.
    private var isAtStart = true

    init(maximumLength: Int) {
        self.maximumLength = max(0, maximumLength)
    }

    /// Appends the next chunk. Unread lines of the previous one are kept.
    mutating func append(_ bytes: Data) {
        piece = position == piece.count ? bytes : piece.dropFirst(position) + bytes
        position = 0
    }

    /// Returns a chunk for a reader of bytes, which has already taken all earlier bytes. If the last line ended with a
    /// CR, an LF at the start of the chunk belongs to that line and is removed; nil if nothing is left.
    mutating func pass(_ chunk: Data) -> Data? {
        guard hasBytes || skipsLineFeed else {
            isAtStart = false
            return chunk
        }
        append(chunk)
        return takeBytes()
    }

    /// Drops all bytes.
    mutating func clear() {
        (piece, position, beginning, skipsLineFeed, isAtStart) = (Data(), 0, [], false, false)
    }

    private var hasBytes: Bool { position < piece.count || !beginning.isEmpty }

    /// The bytes that weren't returned in a line.
    private var unread: Data {
        let rest = Data(beginning) + piece.dropFirst(position)
        return skipsLineFeed && rest.first == Self.lineFeed ? Data(rest.dropFirst()) : rest
    }

    /// Takes the bytes that weren't returned in a line, for a reader of bytes; nil if there are none. An LF right after
    /// a CR that has ended a line isn't among them, also if it is in the next chunk.
    mutating func takeBytes() -> Data? {
        guard hasBytes else { return nil }
        let bytes = unread
        clear()
        return bytes.isEmpty ? nil : bytes
    }

    /// Returns the result of `make` for the next line; nil if no line is complete yet.
    ///
    /// - Throws: ``SessionError/Code/tooLarge`` as soon as a line exceeds the limit.
    mutating func next<Line>(_ make: (UnsafeRawBufferPointer) -> Line) throws(SessionError) -> Line? {
        switch piece.withUnsafeBytes({ advance(in: $0, make) }) {
        case .line(let line): return line
        case .more:
            piece = Data()
            position = 0
            return nil
        case .tooLong:
            throw SessionError(.tooLarge, message: "a line is longer than \(maximumLength) bytes")
        }
    }

    /// Returns the result of `make` for the last line, if it has no terminator; otherwise nil. Call after all chunks.
    mutating func last<Line>(_ make: (UnsafeRawBufferPointer) -> Line) -> Line? {
        guard !beginning.isEmpty else { return nil }
        defer { (beginning, isAtStart) = ([], false) }
        return beginning.withUnsafeBytes { bytes in
            let line = withoutMark(bytes)
            return line.isEmpty ? nil : make(line)
        }
    }

    private enum Step<Line> {
        case line(Line)
        case more
        case tooLong
    }

    private mutating func advance<Line>(
        in bytes: UnsafeRawBufferPointer, _ make: (UnsafeRawBufferPointer) -> Line
    ) -> Step<Line> {
        if skipsLineFeed, position < bytes.count {
            if bytes[position] == Self.lineFeed { position += 1 }
            skipsLineFeed = false
        }
        let start = position
        let end = Self.lineEnd(in: bytes, from: start)
        let found = UnsafeRawBufferPointer(rebasing: bytes[start..<(end ?? bytes.count)])
        guard found.count <= maximumLength - beginning.count else { return .tooLong }
        guard let end else {
            beginning.append(contentsOf: found)
            return .more
        }
        position = end + 1
        skipsLineFeed = bytes[end] == Self.carriageReturn
        defer { isAtStart = false }
        guard !beginning.isEmpty else { return .line(make(withoutMark(found))) }
        beginning.append(contentsOf: found)
        defer { beginning.removeAll(keepingCapacity: true) }
        return .line(beginning.withUnsafeBytes { make(withoutMark($0)) })
    }

    /// Returns a line without a byte order mark, which only the first line can have.
    private func withoutMark(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard isAtStart, dropsByteOrderMark, line.starts(with: [0xEF, 0xBB, 0xBF]) else { return line }
        return UnsafeRawBufferPointer(rebasing: line[3...])
    }

    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    /// Returns the offset of the first CR or LF; nil if there is none.
    private static func lineEnd(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var place = start
        // Compares eight bytes at a time: the high bit of each byte of the terms is set if that byte matches. The
        // subtraction's borrow can cause a false match, but only in a byte above a true one, so the lowest match is
        // always true.
        while place + 8 <= bytes.count {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            let feeds = word ^ 0x0A0A_0A0A_0A0A_0A0A
            let returns = word ^ 0x0D0D_0D0D_0D0D_0D0D
            let hits =
                (((feeds &- 0x0101_0101_0101_0101) & ~feeds) | ((returns &- 0x0101_0101_0101_0101) & ~returns))
                & 0x8080_8080_8080_8080
            if hits != 0 { return place + hits.trailingZeroBitCount / 8 }
            place += 8
        }
        while place < bytes.count {
            if bytes[place] == lineFeed || bytes[place] == carriageReturn { return place }
            place += 1
        }
        return nil
    }
}
