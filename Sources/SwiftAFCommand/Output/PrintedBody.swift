import FoundationEssentials
import SwiftAF

/// Determines what is printed of a body whose pieces arrive one by one. Has no side effects.
struct PrintedBody {
    /// How a body is printed.
    enum Mode {
        /// Every piece is written when it arrives.
        case streamed
        /// Every line is written when it is complete: a terminal is shared with the progress bar.
        case lines
        /// The same, converted to UTF-8. In the charsets without wide units a line break is always the same byte, so
        /// that lines can be converted one by one.
        case convertedLines
        /// The body is kept to be formatted; pieces are written as they are once it has become too large for that.
        case formatted
        /// The body is text in UTF-16 or UTF-32, kept to be converted.
        case converted
        case discarded

        /// The mode of a body that a person reads on a terminal.
        static func forReader(of type: MediaType?) -> Mode {
            guard let type else { return .lines }
            if type.isJSON { return .formatted }
            guard let charset = type.charset?.lowercased() else { return .lines }
            return ["utf-8", "utf8", "us-ascii", "ascii"].contains(charset) ? .lines : .convertedLines
        }
    }

    /// The longest line that is kept until it is complete.
    private static let maximumLineSize = 64 << 10
    /// The largest body that is formatted on a terminal.
    private static let maximumFormattedSize = 8 << 20

    /// The maximum number of bytes that are held back in case an attempt fails.
    private static let maximumHeldBack = 1 << 20

    /// What is printed after a piece.
    enum Step: Equatable {
        case nothing
        case text(Data)
        /// The body is binary; nothing more of it is written to a terminal.
        case binary
    }

    private let response: HTTPResponse
    private let style: Style
    private let isForReader: Bool
    private var mode: Mode
    /// Whether the beginning is held back.
    var isHeld = false
    /// The number of bytes received.
    private var count = 0
    /// The bytes that were received and not yet printed.
    private var kept = Data()
    /// The last byte that was printed.
    private var last: UInt8?

    /// - Parameter isForReader: Whether a person reads the output, on a terminal.
    init(of response: HTTPResponse, mode: Mode, style: Style, isForReader: Bool) {
        self.response = response
        self.mode = mode
        self.style = style
        self.isForReader = isForReader
    }

    /// Adds a piece.
    mutating func add(_ piece: Data) -> Step {
        count += piece.count
        guard mode != .discarded else { return .nothing }
        // A large body passes without a copy.
        if kept.isEmpty { kept = piece } else { kept += piece }
        let isBeginning = kept.count == count
        if isForReader, isBeginning, isWide(kept) { mode = .converted }
        if isForReader, mode == .converted ? kept.count > Self.maximumFormattedSize : piece.contains(0) {
            return .binary
        }
        isHeld = isHeld && kept.count <= Self.maximumHeldBack
        guard !isHeld, case let size = printableSize(), size > 0 else { return .nothing }
        last = kept[kept.startIndex + size - 1]
        // Without a copy if nothing remains.
        let text = size == kept.count ? kept : kept.prefix(size)
        kept = size == kept.count ? Data() : Data(kept.dropFirst(size))
        return .text(shown(text) ?? Data())
    }

    /// Returns how much of what is kept can be printed now.
    private mutating func printableSize() -> Int {
        switch mode {
        case .converted: return 0
        case .formatted where kept.count <= Self.maximumFormattedSize: return 0
        case .formatted:
            mode = .lines
            return kept.count - Self.beginOfCharacter(in: kept)
        case .lines where kept.count <= Self.maximumLineSize,
            .convertedLines where kept.count <= Self.maximumFormattedSize:
            return kept.lastIndex(of: UInt8(ascii: "\n")).map { $0 - kept.startIndex + 1 } ?? 0
        case .lines: return kept.count - Self.beginOfCharacter(in: kept)
        case .streamed, .convertedLines, .discarded: return kept.count
        }
    }

    /// Returns what is printed at the end of the body; nil if it is binary.
    func end() -> Data? { shown(kept).map(endingLine) }

    /// Returns the text that was held back of a response that broke off.
    ///
    /// - Parameter head: The head, if it wasn't printed.
    func rest(behind head: Data) -> Data { endingLine(head + (shown(kept) ?? Data())) }

    /// Returns the last text, with the line break that a terminal needs.
    private func endingLine(_ text: Data) -> Data {
        guard isForReader, let end = text.last ?? last, end != UInt8(ascii: "\n") else { return text }
        return text + "\n".utf8
    }

    /// Returns what a terminal shows of a body that is known as a whole; nil if it is binary.
    static func whole(_ body: Data, of response: HTTPResponse, mode: Mode, style: Style) -> Data? {
        var printed = PrintedBody(of: response, mode: mode, style: style, isForReader: true)
        if printed.isWide(body) { printed.mode = .converted }
        let isLarge = body.count > maximumFormattedSize
        guard printed.mode == .converted ? !isLarge : !body.contains(0) else { return nil }
        if printed.mode == .formatted, isLarge { printed.mode = .lines }
        guard let text = printed.shown(body) else { return nil }
        return text.last == UInt8(ascii: "\n") ? text : text + "\n".utf8
    }

    private func isWide(_ body: Data) -> Bool { Charset.isWide(body, label: response.mediaType?.charset) }

    /// Returns what is printed of a piece of a body: for a terminal JSON in lines, or text in UTF-8, without control
    /// characters; otherwise the bytes themselves. Nil if they are binary.
    private func shown(_ kept: Data) -> Data? {
        switch mode {
        case .formatted where !kept.isEmpty: return pretty(kept)
        case .lines: return Self.printable(kept)
        case .convertedLines: return Self.printable(converted(kept))
        case .converted:
            guard let text = text(kept), !text.contains(0) else { return nil }
            return response.mediaType?.isJSON == true ? pretty(text) : Self.printable(text)
        case .formatted, .streamed, .discarded: return kept
        }
    }

    private func pretty(_ body: Data) -> Data {
        guard let json = try? JSONText(Array(body)) else { return Self.printable(body) }
        return Data(style.pretty(json))
    }

    /// Returns text for a terminal, which would obey control characters of the server.
    static func printable(_ text: Data) -> Data {
        Data(String(decoding: text, as: UTF8.self).printableLines.utf8)
    }

    /// Returns the number of bytes at the end of a piece that may belong to a character of the next one: the beginning
    /// of a character in UTF-8, or a carriage return.
    private static func beginOfCharacter(in piece: Data) -> Int {
        if piece.last == UInt8(ascii: "\r") { return 1 }
        let tail = piece.suffix(3).reversed()
        guard let place = tail.enumerated().first(where: { $0.element >= 0xC0 }) else { return 0 }
        let length = place.element < 0xE0 ? 2 : place.element < 0xF0 ? 3 : 4
        return place.offset + 1 < length ? place.offset + 1 : 0
    }

    /// Returns lines in UTF-8; the bytes themselves if they aren't valid in their charset.
    private func converted(_ lines: Data) -> Data {
        lines.isEmpty ? lines : text(lines) ?? lines
    }

    /// Returns the body in UTF-8; nil if it isn't text.
    private func text(_ body: Data) -> Data? {
        (try? StringResponseSerializer().parse(body, of: response)).map { Data($0.utf8) }
    }
}
