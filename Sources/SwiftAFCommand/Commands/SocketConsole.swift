import FoundationEssentials
import SwiftAF

/// Runs `ws`: sends the lines of standard input as messages, and prints those that it receives.
struct SocketConsole {
    let request: HTTPRequest
    let options: Options
    let configuration: SessionConfiguration
    let console: Console
    /// The descriptor whose lines are sent as messages; nil to send nothing.
    let input: Int32?

    func run() async -> Outcome {
        let manager = HTTPSessionManager(configuration: configuration)
        // Only the headers that the options give are sent.
        manager.headers = [:]
        if options.isVerbose { manager.eventMonitors = [WireLog(console.writeError)] }
        let outcome = await converse(manager)
        await manager.flushMonitors()
        return outcome
    }

    private func converse(_ manager: HTTPSessionManager) async -> Outcome {
        do throws(SessionError) {
            var opening = request
            if let deadline = console.deadline { opening.timeouts.total = deadline.limitFromNow }
            let socket = try await manager.webSocket(
                opening, protocols: options.socket.protocols, options: socketOptions)
            return await Conversation(socket, options, console, input).run(until: console.deadline)
        } catch {
            var failure = Failure(namingLimit(error), in: options.adviceContext)
            if let response = error.response, response.status == 401,
                let advice = Advice.aboutUnauthorized(response, to: request)
            {
                failure.message += "; \(advice)"
            }
            let transfer = TransferOutcome(
                response: error.response, url: error.response?.url ?? request.url, body: error.body,
                bodyBytes: error.body?.count, metrics: error.metrics.hops.isEmpty ? nil : error.metrics)
            var outcome = Outcome(.transfer(transfer), failure: failure)
            if options.printsJSON { outcome.parseJSON { _ in false } }
            return outcome
        }
    }

    /// The error of a handshake that took too long names the limit: `--connect-timeout`, or the time of the whole run.
    private func namingLimit(_ error: SessionError) -> SessionError {
        guard error.reason == .notOpen else { return error }
        var error = error
        if let limit = socketOptions.openTimeout, options.totalLimit.map({ $0 > limit }) ?? true {
            error.reason = .connect
            error.message = "connect timeout: the WebSocket isn't open after \(Format.shortSeconds(limit))"
        } else {
            error.reason = .total
        }
        return error
    }

    private var socketOptions: WebSocket.Options {
        var socketOptions = WebSocket.Options()
        socketOptions.pingInterval = options.socket.pingInterval
        // The time limit of the whole run is that of the request.
        if let connect = options.timeouts.connect { socketOptions.openTimeout = connect > .zero ? connect : nil }
        if let limit = options.limits.maximumBodySize { socketOptions.maximumMessageSize = Int(clamping: limit) }
        return socketOptions
    }
}

/// An open socket: one task sends, one receives.
private final class Conversation: Sendable {
    /// The longest line: a longer message would never fit into the queue.
    private static let longestLine = WebSocket.Options().sendQueueSize - 64

    private let socket: WebSocket
    private let options: Options
    private let console: Console
    private let context: AdviceContext
    private let input: Int32?
    /// Why this side ends the conversation; nil if the server closes the socket or the connection is lost.
    private let reason = Locked<Failure?>(nil)

    init(_ socket: WebSocket, _ options: Options, _ console: Console, _ input: Int32?) {
        self.socket = socket
        self.options = options
        self.console = console
        var context = options.adviceContext
        context.isSocket = true
        self.context = context
        self.input = input
    }

    /// Runs to the end of the socket. Cancelling the Swift task closes it.
    func run(until deadline: Instant?) async -> Outcome {
        let receiving = Task { await receive() }
        let sending = Task { await send(stopping: receiving) }
        let waiting = deadline.map { deadline in
            Task {
                await (deadline - .now).pause()
                guard !Task.isCancelled else { return }
                stop(Failure(SessionError(.timeout, reason: .total, message: "the time limit has passed")), receiving)
            }
        }
        let failure = await withTaskCancellationHandler {
            await receiving.value
        } onCancel: {
            stop(Failure(SessionError(.cancelled)), receiving)
        }
        sending.cancel()
        waiting?.cancel()
        var outcome = Outcome(.printed, failure: failure)
        do throws(WriteError) {
            try report([
                "event": "close", "code": closeCode, "reason": .string(socket.closeReason),
                "ok": .bool(failure == nil), "error": failure.map(Report.error) ?? .null,
            ])
        } catch {
            outcome.failure = outcome.failure ?? Failure(standardOutput: error)
        }
        return outcome
    }

    private func stop(_ failure: Failure, _ receiving: Task<Failure?, Never>) {
        reason.withLock { $0 = $0 ?? failure }
        receiving.cancel()
    }

    // MARK: Receiving

    /// Prints messages until the socket ends. Returns why, if that is a failure.
    private func receive() async -> Failure? {
        do {
            try announce()
            for try await message in socket { try print(message) }
            // The server may have closed the socket at the moment in which the run was stopped.
            return reason.withLock { $0 } ?? closingFailure
        } catch let error as WriteError {
            await close(.goingAway)
            return Failure(standardOutput: error)
        } catch {
            guard let stopped = reason.withLock({ $0 }) else {
                return Failure(error as? SessionError ?? SessionError(.unknown, message: "\(error)"), in: context)
            }
            await close(.goingAway)
            return stopped
        }
    }

    /// Closes the socket of a run that is over, in a task of its own, because this one may be cancelled. The server has
    /// a moment to close it, too.
    private func close(_ code: WebSocket.CloseCode) async {
        let socket = socket
        let closing = Task { try? await socket.close(code) }
        let limit = Task {
            await Self.closeTimeout.pause()
            if !Task.isCancelled { socket.cancel() }
        }
        await closing.value
        limit.cancel()
    }

    private static let closeTimeout = Duration.milliseconds(300)

    private var closeCode: JSONValue { (socket.closeCode?.rawValue).map { .integer(Int64($0)) } ?? .null }

    /// The failure if the server closed the socket with another code than that of an ordinary end; otherwise nil.
    private var closingFailure: Failure? {
        guard let code = socket.closeCode, ![.normal, .goingAway, .noCode].contains(code) else { return nil }
        let text = socket.closeReason.isEmpty ? "" : ": \(socket.closeReason)"
        return Failure(.network, .closed, "the server closed the socket with code \(code)\(text)")
    }

    // MARK: Output

    private func announce() throws(WriteError) {
        try report([
            "event": "open", "status": .integer(Int64(socket.response.status)),
            "url": .string(URLText(socket.response.url).withoutUserInfo),
            "protocol": socket.subprotocol.map { .string($0) } ?? .null,
            "headers": Report.pairs(socket.response.headers),
        ])
        guard console.error.isTerminal, options.messages >= .progress else { return }
        console.writeError("swiftaf: connected; each line is a message, the end of input (Ctrl-D) closes")
    }

    private func print(_ message: WebSocket.Message) throws(WriteError) {
        switch message {
        case .text(let text):
            try report(["event": "message", "text": .string(text)])
            guard !options.printsJSON else { return }
            guard console.output.isTerminal else { return try console.write(Data((text + "\n").utf8)) }
            if text.utf8.contains(0) { return noteBinary(text.utf8.count) }
            try console.write(Data((text.printableLines + "\n").utf8))
        case .binary(let bytes):
            try report(["event": "message", "base64": .string(bytes.base64EncodedString())])
            guard !options.printsJSON else { return }
            if console.output.isTerminal { return noteBinary(bytes.count) }
            try console.write(bytes)
        }
    }

    private func noteBinary(_ size: Int) {
        console.writeError("swiftaf: a binary message of \(size) bytes: a pipe or --json passes it on")
    }

    /// Writes an event, with `--json`.
    private func report(_ event: KeyValuePairs<String, JSONValue>) throws(WriteError) {
        guard options.printsJSON else { return }
        let fields = event.map { ($0.key, $0.value) }
        let line = Array((JSONValue.object(JSONObject(fields)).description + "\n").utf8)
        try console.write(Data(console.output.isTerminal ? JSONText.escapingUnsafe(line) : line))
    }

    // MARK: Sending

    /// Sends the lines of standard input, then closes the socket, unless it has to stay open.
    private func send(stopping receiving: Task<Failure?, Never>) async {
        do {
            if let input { try await sendLines(of: ByteStream(descriptor: input)) }
            if !options.socket.staysOpen { try await socket.close() }
        } catch let failure as Failure {
            stop(failure, receiving)
        } catch let error as SessionError where error.code != .closed && error.code != .cancelled {
            stop(Failure(error, in: context), receiving)
        } catch {
            // Ignored: the receiving task finds out what ended the socket, or the run is over.
        }
    }

    private func sendLines(of bytes: ByteStream) async throws {
        var line = Data()
        for try await piece in bytes {
            var rest = piece[...]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                try append(rest[..<end], to: &line)
                try await send(line)
                line = Data()
                rest = rest[rest.index(after: end)...]
            }
            try append(rest, to: &line)
        }
        if !line.isEmpty { try await send(line) }
    }

    private func append(_ bytes: Data, to line: inout Data) throws(Failure) {
        guard line.count + bytes.count <= Self.longestLine else {
            throw Failure(.limit, .tooLarge, "a line of the input is longer than \(Self.longestLine) bytes")
        }
        line += bytes
    }

    private func send(_ line: Data) async throws {
        let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        guard !options.socket.sendsBinary else { return try await socket.send(Data(line)) }
        guard let text = String(validating: line, as: UTF8.self) else {
            throw Failure(.input, .invalidInput, "a line of the input is not UTF-8: --binary sends it as it is")
        }
        try await socket.send(text)
    }
}
