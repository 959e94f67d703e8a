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
    /// The pipe or descriptor that `-o` names, which is written to instead of standard output; nil without one.
    var target: Target?

    /// A pipe or descriptor that is named instead of a file. It gets the bytes that a file would get.
    struct Target: Sendable {
        let path: RawText
        /// Whether writing to it is the purpose of the command.
        let isDownload: Bool
        /// Whether a response is saved.
        let isAccepted: @Sendable (HTTPResponse) -> Bool
    }

    /// How much of a response was received and printed.
    struct Printed {
        /// The number of body bytes received.
        var bytes = 0
        /// Whether the rest of the body was left unread.
        var isBinary = false
        /// Whether a part of the response was written, so that another attempt would repeat it.
        var hasBegun = false
        /// The text that wasn't printed yet when the response broke off.
        var held = Data()
    }

    /// Prints the parts of the request, once its head was sent. A body that can be read only once was already consumed,
    /// so a note is printed instead.
    func print(request: HTTPRequest, head: String?) async throws(WriteError) {
        if parts.contains(.requestHead), let head { try write(isForReader ? style.text(ofRequest: head) : head) }
        guard parts.contains(.requestBody) else { return }
        switch request.body.content {
        case .none: break
        case .data(let data):
            let text = shown(data, of: request) ?? Data("[a binary body]".utf8)
            try write(text + (text.last == UInt8(ascii: "\n") ? "" : "\n").utf8)
        case .file(let path): try printFile(at: path)
        case .form(let form) where request.body.isReplayable: try await print(form)
        case .stream, .form, .json, .jsonParameters, .invalid: try write("[a streamed body]\n")
        }
        if parts.contains(.responseHead) || parts.contains(.responseBody) { try write("\n") }
    }

    /// Returns a body of a request as it is shown; nil if it is binary, on a terminal.
    private func shown(_ body: Data, of request: HTTPRequest) -> Data? {
        guard isForReader else { return body }
        guard !body.contains(0) else { return nil }
        let type = request.headers[.contentType].flatMap { MediaType($0) }
        if type?.isJSON == true, let json = try? JSONText(Array(body)) { return Data(style.pretty(json)) }
        return PrintedBody.printable(body)
    }

    private func printFile(at path: String) throws(WriteError) {
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return try write("[the file \(path.printable)]\n") }
        defer { close(descriptor) }
        let isShown = isForReader
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        var last = UInt8(ascii: "\n")
        // The beginning of a line; its last character may be incomplete.
        var kept = Data()
        while case let count = read(descriptor, &piece, piece.count), count > 0 {
            guard !isShown || !piece.prefix(count).contains(0) else { return try write("[a binary body]\n") }
            last = piece[count - 1]
            guard isShown else {
                try write(Data(piece.prefix(count)))
                continue
            }
            kept += piece.prefix(count)
            let end = kept.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 }
            guard let end = end ?? (kept.count > 1 << 20 ? kept.endIndex : nil) else { continue }
            try write(PrintedBody.printable(kept[..<end]))
            kept = Data(kept[end...])
        }
        try write(PrintedBody.printable(kept))
        if last != UInt8(ascii: "\n") { try write("\n") }
    }

    /// Prints a form by way of a temporary file, because it may be larger than memory.
    private func print(_ form: BodyForm) async throws(WriteError) {
        var folder = Array((FileManager.default.temporaryDirectory.path + "/swiftaf-XXXXXX").utf8CString)
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
        let isHeld = holdsBack && response.mediaType?.essence != "text/event-stream"
        func flush(_ bytes: Data) async throws(WriteError) {
            guard !head.isEmpty || !bytes.isEmpty else { return }
            await willWrite()
            printed.hasBegun = true
            try write(head.isEmpty ? bytes : head + bytes)
            head = Data()
        }
        if !isHeld { try await flush(Data()) }
        var shown = PrintedBody(of: response, mode: mode(for: response), style: style, isForReader: isForReader)
        shown.isHeld = isHeld
        var pieces = body.makeAsyncIterator()
        while true {
            let next: Data?
            do {
                next = try await pieces.next()
            } catch {
                printed.held = shown.rest(behind: head)
                throw error
            }
            guard let next else { break }
            printed.bytes += next.count
            switch shown.add(next) {
            case .nothing: continue
            case .text(let text): try await flush(text)
            case .binary:
                printed.isBinary = true
                return try await flush(Data())
            }
        }
        let rest = shown.end()
        printed.isBinary = rest == nil
        // In one write: between two, lines of standard error could appear.
        try await flush(rest ?? Data())
    }

    /// Returns what is printed of a body that is known as a whole; nil if it is binary, on a terminal.
    func text(of body: Data, _ response: HTTPResponse) -> Data? {
        guard isForReader, !body.isEmpty else { return body }
        return PrintedBody.whole(body, of: response, mode: mode(for: response), style: style)
    }

    /// Returns the head, if it is printed: as text on a terminal, else as it was received.
    func head(of response: HTTPResponse) -> Data {
        guard parts.contains(.responseHead) else { return Data() }
        return console.output.isTerminal ? Data(style.text(of: response).utf8) : Style.bytes(of: response)
    }

    /// Returns the descriptor of standard output if the body is written unchanged, as soon as it arrives, with only its
    /// head before it; otherwise nil.
    func directDescriptor(for response: HTTPResponse) -> Int32? {
        // The bytes of a target are counted.
        guard !holdsBack, target == nil, parts.isSubset(of: [.responseHead, .responseBody, .metrics]),
            !console.output.isTerminal,
            mode(for: response) == .streamed
        else { return nil }
        return console.output.descriptor
    }

    /// Prints the rest of a response that broke off, if there is no other attempt.
    func printHeld(_ printed: Printed) throws(WriteError) {
        try write(printed.held)
    }

    /// Prints the metrics, behind the body.
    func print(_ metrics: ResponseMetrics) throws(WriteError) {
        guard parts.contains(.metrics) else { return }
        try write("\n" + Timings.lines(metrics).map { $0 + "\n" }.joined())
    }

    private func mode(for response: HTTPResponse) -> PrintedBody.Mode {
        guard parts.contains(.responseBody), !hidesErrorBodies || response.status < 400, !isRefused(response) else {
            return .discarded
        }
        return isForReader ? .forReader(of: response.mediaType) : .streamed
    }

    /// Whether a person reads the output, on a terminal. Each call is a system call.
    private var isForReader: Bool { console.output.isTerminal && !isRaw }

    /// Whether a target doesn't get the response.
    private func isRefused(_ response: HTTPResponse) -> Bool {
        target.map { !$0.isAccepted(response) } ?? false
    }

    private func write(_ text: String) throws(WriteError) {
        try write(Data(text.utf8))
    }

    private func write(_ bytes: Data) throws(WriteError) {
        if !bytes.isEmpty { try console.write(bytes) }
    }
}
