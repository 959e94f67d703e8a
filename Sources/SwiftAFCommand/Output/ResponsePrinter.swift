import FoundationEssentials
import SwiftAF

/// Prints a response to standard output while it is received.
struct ResponsePrinter: Sendable {
    let console: Console
    let parts: PrintedParts
    let style: Style

    /// What becomes of a body.
    private enum Mode {
        /// Every piece is written when it arrives.
        case streamed
        /// Every line is written when it is complete: a terminal is shared with the progress bar.
        case lines
        /// The body is kept to be formatted; pieces are written as they are once it has become too large for that.
        case formatted
        case discarded
    }

    /// The longest line that is kept until it is complete.
    private static let mostOfLine = 64 << 10
    /// The largest body that is formatted on a terminal.
    private static let mostFormatted = 8 << 20

    /// The number of body bytes received, and whether the rest of the body was left unread.
    struct Printed {
        var bytes = 0
        var isBinary = false
    }

    /// Prints the parts of the request, once its head was sent.
    func print(request: HTTPRequest, head: String?) throws(WriteError) {
        if parts.contains(.requestHead), let head { try write(head) }
        guard parts.contains(.requestBody) else { return }
        switch request.body.content {
        case .none: break
        case .data(let data): try write(data + (data.last == UInt8(ascii: "\n") ? "" : "\n").utf8)
        case .file(let path): try write("[the file \(path.printable)]\n")
        case .stream, .form, .json, .invalid: try write("[a streamed body]\n")
        }
        if parts.contains(.responseHead) || parts.contains(.responseBody) { try write("\n") }
    }

    /// Prints a response until its body ends or is found to be binary, on a terminal.
    ///
    /// - Parameter willWrite: Called before each write.
    /// - Throws: ``SessionError`` of the transfer, ``WriteError`` of standard output.
    func print(
        _ response: HTTPResponse, _ body: StreamedResponse.Bytes, willWrite: () async -> Void
    ) async throws -> Printed {
        if parts.contains(.responseHead) {
            await willWrite()
            try write(style.text(of: response))
        }
        var printed = Printed()
        var kept = Data()
        var last: UInt8?
        var mode = mode(for: response)
        for try await piece in body {
            printed.bytes += piece.count
            guard mode != .discarded else { continue }
            if console.output.isTerminal, piece.contains(0) {
                printed.isBinary = true
                return printed
            }
            kept += piece
            let size: Int
            switch mode {
            case .formatted where kept.count <= Self.mostFormatted: continue
            case .formatted: (size, mode) = (kept.count, .lines)
            case .lines where kept.count <= Self.mostOfLine:
                size = kept.lastIndex(of: UInt8(ascii: "\n")).map { $0 - kept.startIndex + 1 } ?? 0
            default: size = kept.count
            }
            guard size > 0 else { continue }
            last = kept[kept.startIndex + size - 1]
            await willWrite()
            try write(kept.prefix(size))
            kept = Data(kept.dropFirst(size))
        }
        if !kept.isEmpty {
            let text = mode == .formatted ? formatted(response, kept) : kept
            last = text.last
            await willWrite()
            try write(text)
        }
        if console.output.isTerminal, let last, last != UInt8(ascii: "\n") { try write("\n") }
        return printed
    }

    /// Prints the metrics, behind the body.
    func print(_ metrics: ResponseMetrics) throws(WriteError) {
        guard parts.contains(.metrics) else { return }
        try write("\n" + Timings.lines(metrics).map { $0 + "\n" }.joined())
    }

    private func mode(for response: HTTPResponse) -> Mode {
        guard parts.contains(.responseBody) else { return .discarded }
        guard console.output.isTerminal else { return .streamed }
        guard let type = response.mediaType else { return .lines }
        return type.isJSON || !isUTF8(type) ? .formatted : .lines
    }

    private func isUTF8(_ type: MediaType) -> Bool {
        guard let charset = type.charset?.lowercased() else { return true }
        return ["utf-8", "utf8", "us-ascii", "ascii"].contains(charset)
    }

    /// Returns JSON in lines, or text in UTF-8; the body itself if it is neither.
    private func formatted(_ response: HTTPResponse, _ body: Data) -> Data {
        if response.mediaType?.isJSON == true {
            guard let json = try? JSONText(Array(body)) else { return body }
            return Data(style.pretty(json))
        }
        let text = try? StringResponseSerializer().parse(body, of: response)
        return text.map { Data($0.utf8) } ?? body
    }

    private func write(_ text: String) throws(WriteError) {
        try write(Data(text.utf8))
    }

    private func write(_ bytes: Data) throws(WriteError) {
        if !bytes.isEmpty { try console.output.write(bytes) }
    }
}
