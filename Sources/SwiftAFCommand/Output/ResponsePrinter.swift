import FoundationEssentials
import Glibc
import SwiftAF

/// Prints a response to standard output while it is received.
struct ResponsePrinter: Sendable {
    let console: Console
    let parts: PrintedParts
    let style: Style
    /// Whether a terminal gets the body as it is, even if it is binary: `-o -`.
    var isRaw = false
    /// Whether the beginning is held back, so that an attempt that fails early can be repeated.
    var holdsBack = false
    /// Whether the body of a status of 400 or more isn't printed.
    var hidesErrorBodies = false
    /// What is written to, in place of standard output: a pipe or a descriptor that `-o` names.
    var target: Target?

    /// A pipe or descriptor in place of a file. It gets what a file would get.
    struct Target: Sendable {
        let path: RawText
        /// Whether a response is saved.
        let isAccepted: @Sendable (HTTPResponse) -> Bool
    }

    /// What becomes of a body.
    private enum Mode {
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
    }

    /// The longest line that is kept until it is complete.
    private static let maximumLineSize = 64 << 10
    /// The largest body that is formatted on a terminal.
    private static let maximumFormattedSize = 8 << 20

    /// The most that is held back for the case that an attempt fails.
    private static let maximumHeldBack = 1 << 20

    /// What is known about what was printed.
    struct Printed {
        /// The number of body bytes received.
        var bytes = 0
        /// Whether the rest of the body was left unread.
        var isBinary = false
        /// Whether a part of the response was written, so that another attempt would repeat it.
        var hasBegun = false
        /// What wasn't printed yet when the response broke, as it would have been printed.
        var held = Data()
    }

    /// Prints the parts of the request, once its head was sent. What can be read only once isn't there any more.
    func print(request: HTTPRequest, head: String?) async throws(WriteError) {
        if parts.contains(.requestHead), let head { try write(head) }
        guard parts.contains(.requestBody) else { return }
        switch request.body.content {
        case .none: break
        case .data(let data): try write(data + (data.last == UInt8(ascii: "\n") ? "" : "\n").utf8)
        case .file(let path): try printFile(at: path)
        case .form(let form) where request.body.isReplayable: try await print(form)
        case .stream, .form, .json, .invalid: try write("[a streamed body]\n")
        }
        if parts.contains(.responseHead) || parts.contains(.responseBody) { try write("\n") }
    }

    private func printFile(at path: String) throws(WriteError) {
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return try write("[the file \(path.printable)]\n") }
        defer { close(descriptor) }
        let isShown = console.output.isTerminal && !isRaw
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        var last = UInt8(ascii: "\n")
        while case let count = read(descriptor, &piece, piece.count), count > 0 {
            guard !isShown || !piece.prefix(count).contains(0) else { return try write("[a binary body]\n") }
            try write(Data(piece.prefix(count)))
            last = piece[count - 1]
        }
        if last != UInt8(ascii: "\n") { try write("\n") }
    }

    /// Prints a form by way of a file, as it may be larger than memory.
    private func print(_ form: BodyForm) async throws(WriteError) {
        var folder = Array("/tmp/swiftaf-XXXXXX".utf8CString)
        guard mkdtemp(&folder) != nil else { throw .system(errno) }
        let path = String(decoding: folder.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer {
            unlink(path + "/form")
            rmdir(path)
        }
        do throws(SessionError) {
            try await MultipartFormData(form).write(to: path + "/form")
        } catch {
            return try write("[a form: \(error.message.printable)]\n")
        }
        try printFile(at: path + "/form")
    }

    /// Prints a response until its body ends or is found to be binary, on a terminal.
    ///
    /// - Parameters:
    ///   - printed: Kept up to date, also if an error is thrown.
    ///   - willWrite: Called before each write.
    /// - Throws: ``SessionError`` of the transfer, ``WriteError`` of standard output.
    func print(
        _ response: HTTPResponse, _ body: StreamedResponse.Bytes, _ printed: inout Printed,
        willWrite: () async -> Void
    ) async throws {
        printed = Printed()
        var head = isRefused(response) ? Data() : head(of: response)
        // Events have to appear at once.
        var isHeld = holdsBack && response.mediaType?.essence != "text/event-stream"
        func flush(_ bytes: Data) async throws(WriteError) {
            guard !head.isEmpty || !bytes.isEmpty else { return }
            await willWrite()
            printed.hasBegun = true
            try write(head.isEmpty ? bytes : head + bytes)
            head = Data()
        }
        if !isHeld { try await flush(Data()) }
        // Asked once: it is a system call.
        let isShown = console.output.isTerminal && !isRaw
        var kept = Data()
        var last: UInt8?
        var mode = mode(for: response)
        var pieces = body.makeAsyncIterator()
        while true {
            let next: Data?
            do {
                next = try await pieces.next()
            } catch {
                printed.held = head + (shown(kept, of: response, mode) ?? Data())
                let end = printed.held.last ?? last
                if isShown, let end, end != UInt8(ascii: "\n") { printed.held += "\n".utf8 }
                throw error
            }
            guard let piece = next else { break }
            printed.bytes += piece.count
            guard mode != .discarded else { continue }
            // A large body passes without a copy.
            if kept.isEmpty { kept = piece } else { kept += piece }
            let isBeginning = kept.count == printed.bytes
            if isShown, isBeginning, Charset.isWide(kept, label: response.mediaType?.charset) { mode = .converted }
            if isShown, mode == .converted ? kept.count > Self.maximumFormattedSize : piece.contains(0) {
                printed.isBinary = true
                return try await flush(Data())
            }
            isHeld = isHeld && kept.count <= Self.maximumHeldBack
            if isHeld { continue }
            let size: Int
            switch mode {
            case .converted: continue
            case .formatted where kept.count <= Self.maximumFormattedSize: continue
            case .formatted: (size, mode) = (kept.count - Self.beginOfCharacter(in: kept), .lines)
            case .lines where kept.count <= Self.maximumLineSize,
                .convertedLines where kept.count <= Self.maximumFormattedSize:
                size = kept.lastIndex(of: UInt8(ascii: "\n")).map { $0 - kept.startIndex + 1 } ?? 0
            case .lines: size = kept.count - Self.beginOfCharacter(in: kept)
            default: size = kept.count
            }
            guard size > 0 else { continue }
            last = kept[kept.startIndex + size - 1]
            // Without a copy where nothing is kept.
            let written = size == kept.count ? kept : kept.prefix(size)
            try await flush(shown(written, of: response, mode) ?? Data())
            kept = size == kept.count ? Data() : Data(kept.dropFirst(size))
        }
        guard var text = shown(kept, of: response, mode) else {
            printed.isBinary = true
            return try await flush(Data())
        }
        last = text.last ?? last
        // In one write: lines of standard error may come between two.
        if isShown, let last, last != UInt8(ascii: "\n") { text += "\n".utf8 }
        try await flush(text)
    }

    /// Returns what is printed of a body that is known as a whole; nil if it is binary, on a terminal.
    func text(of body: Data, _ response: HTTPResponse) -> Data? {
        guard console.output.isTerminal, !isRaw, !body.isEmpty else { return body }
        var mode = mode(for: response)
        if Charset.isWide(body, label: response.mediaType?.charset) { mode = .converted }
        guard mode == .converted ? body.count <= Self.maximumFormattedSize : !body.contains(0) else { return nil }
        if mode == .formatted, body.count > Self.maximumFormattedSize { mode = .lines }
        guard let text = shown(body, of: response, mode) else { return nil }
        return text.last == UInt8(ascii: "\n") ? text : text + "\n".utf8
    }

    /// Returns the text of the head, if it is printed.
    func head(of response: HTTPResponse) -> Data {
        parts.contains(.responseHead) ? Data(style.text(of: response).utf8) : Data()
    }

    /// Returns the descriptor of a body that is written as it is, at once, and behind nothing but its head.
    func directDescriptor(for response: HTTPResponse) -> Int32? {
        // The bytes of a target are counted.
        guard !holdsBack, target == nil, parts.isSubset(of: [.responseHead, .responseBody, .metrics]),
            !console.output.isTerminal,
            mode(for: response) == .streamed
        else { return nil }
        return console.output.descriptor
    }

    /// Prints what is left of a response that broke, if there is no other attempt.
    func printHeld(_ printed: Printed) throws(WriteError) {
        try write(printed.held)
    }

    /// Prints the metrics, behind the body.
    func print(_ metrics: ResponseMetrics) throws(WriteError) {
        guard parts.contains(.metrics) else { return }
        try write("\n" + Timings.lines(metrics).map { $0 + "\n" }.joined())
    }

    private func mode(for response: HTTPResponse) -> Mode {
        guard parts.contains(.responseBody), !hidesErrorBodies || response.status < 400, !isRefused(response) else {
            return .discarded
        }
        guard console.output.isTerminal, !isRaw else { return .streamed }
        guard let type = response.mediaType else { return .lines }
        if type.isJSON { return .formatted }
        return isUTF8(type) ? .lines : .convertedLines
    }

    /// Whether a target doesn't get the response.
    private func isRefused(_ response: HTTPResponse) -> Bool {
        target.map { !$0.isAccepted(response) } ?? false
    }

    private func isUTF8(_ type: MediaType) -> Bool {
        guard let charset = type.charset?.lowercased() else { return true }
        return ["utf-8", "utf8", "us-ascii", "ascii"].contains(charset)
    }

    /// Returns what is printed of a piece of a body: for a terminal JSON in lines, or text in UTF-8, without control
    /// characters; otherwise the bytes themselves. Nil if they are binary.
    private func shown(_ kept: Data, of response: HTTPResponse, _ mode: Mode) -> Data? {
        switch mode {
        case .formatted where !kept.isEmpty: return pretty(kept)
        case .lines: return Self.printable(kept)
        case .convertedLines: return Self.printable(converted(kept, of: response))
        case .converted:
            guard let text = text(kept, of: response), !text.contains(0) else { return nil }
            return response.mediaType?.isJSON == true ? pretty(text) : Self.printable(text)
        case .formatted, .streamed, .discarded: return kept
        }
    }

    private func pretty(_ body: Data) -> Data {
        guard let json = try? JSONText(Array(body)) else { return Self.printable(body) }
        return Data(style.pretty(json))
    }

    /// Returns text for a terminal, which would obey control characters of the server.
    private static func printable(_ text: Data) -> Data {
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
    private func converted(_ lines: Data, of response: HTTPResponse) -> Data {
        lines.isEmpty ? lines : text(lines, of: response) ?? lines
    }

    /// Returns the body in UTF-8; nil if it isn't text.
    private func text(_ body: Data, of response: HTTPResponse) -> Data? {
        (try? StringResponseSerializer().parse(body, of: response)).map { Data($0.utf8) }
    }

    private func write(_ text: String) throws(WriteError) {
        try write(Data(text.utf8))
    }

    private func write(_ bytes: Data) throws(WriteError) {
        if !bytes.isEmpty { try console.write(bytes) }
    }
}
