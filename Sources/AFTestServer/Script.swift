import CAFTestServer
public import FoundationEssentials

/// The steps that the server performs on a connection.
///
/// Every static member is a script with one step. An array literal of scripts is a script that runs them in order:
///
/// ```swift
/// server.route("GET /news", [.interim(103), .stall(at: "editor"), .json(#"{"title":"Late"}"#)])
/// ```
///
/// An array is one response to one request: all of its steps run for each request. For another response to the second
/// request, use ``TestServer/route(_:answers:)``. A script with two complete responses, or with one after
/// ``upgrade(headers:)``, and no ``readRequest`` in between is a programming error: the client would read the second
/// one as a part of something else. Send such bytes with ``send(_:)-(Data)``.
///
/// After a response of 2xx to CONNECT, what the client sends through the tunnel is read as its next request.
///
/// After the last step, the connection waits for its next request, unless a step closed it, the response contained
/// `Connection: close`, or the client closed it.
public struct Script: Sendable, ExpressibleByArrayLiteral {
    /// Header fields in order; names may repeat. Encoded as UTF-8.
    public typealias Headers = KeyValuePairs<String, String>

    /// Code that runs instead of steps. It is called on the connection's thread, which has a stack of 1 MiB, and may
    /// block.
    ///
    /// If it throws an error other than ``ConnectionEnded``, the server responds with 500 and the error's description,
    /// and closes the connection, or resets it if a response has begun. ``TestServer/handlerErrors`` has the error.
    public typealias Handler = @Sendable (TestServer.Request, TestServer.Connection) throws -> Void
    /// Code that awaits, such as the methods of an actor, and otherwise is like ``Handler``.
    ///
    /// It is a task that prefers the connection's thread, so calls of the connection block no thread of Swift's pool,
    /// and the next request of the connection waits for its end. If the server is stopped, the task is cancelled; the
    /// `CancellationError` that it then throws isn't among ``TestServer/handlerErrors``.
    ///
    /// A handler of an actor, such as `{ @MainActor request, connection async throws in … }`, runs on that actor. Its
    /// calls of the connection, also those that wait at a gate, block the actor's thread.
    public typealias AsyncHandler = @Sendable (TestServer.Request, TestServer.Connection) async throws -> Void

    /// What a step means for those that follow it.
    enum Role: Sendable {
        /// A final response, or the beginning of one.
        case response
        /// The end of HTTP on the connection.
        case upgrade
        /// What may read a request.
        case reading
        case other
    }

    private enum Step: Sendable {
        /// Appends a step to a C script.
        case native(Role, @Sendable (OpaquePointer) -> Void)
        case handler(HandlerBox.Code)

        var role: Role {
            switch self {
            case .native(let role, _): role
            case .handler: .reading
            }
        }
    }

    private let steps: [Step]

    private init(steps: [Step]) {
        self.steps = steps
    }

    init(_ role: Role = .other, _ step: @escaping @Sendable (OpaquePointer) -> Void) {
        steps = [.native(role, step)]
    }

    /// Creates a script that runs scripts in order.
    public init(arrayLiteral scripts: Script...) {
        self.init(scripts)
    }

    /// Creates a script that runs scripts in order.
    public init(_ scripts: some Sequence<Script>) {
        steps = scripts.flatMap(\.steps)
    }

    /// Builds the C script, with one reference owned by the caller; nil if memory allocation fails.
    ///
    /// - Parameter failures: Takes the errors of handlers.
    func build(_ failures: HandlerErrors) -> OpaquePointer? {
        guard let script = afts_script_new() else { return nil }
        for step in steps {
            switch step {
            case .native(_, let append): append(script)
            case .handler(let code): HandlerBox(code, failures).append(to: script)
            }
        }
        return script
    }

    /// Why the script can't be what its author meant; nil if it can.
    var mistake: String? {
        var last = Role.reading
        for step in steps where step.role != .other {
            switch (last, step.role) {
            case (.response, .response), (.response, .upgrade):
                return "a second response to one request: for responses to one request after another, use "
                    + "route(_:answers:); a script can also read a request in between with .readRequest"
            case (.upgrade, .response), (.upgrade, .upgrade):
                return "a response after .upgrade(): send frames, such as .textFrame(\"hello\")"
            default: last = step.role
            }
        }
        return nil
    }

    /// Returns a script that runs this script, then another one.
    public func then(_ next: Script) -> Script {
        Script(steps: steps + next.steps)
    }
}

// MARK: - Answers

extension Script {
    /// Sends a complete response. Content-Length is added unless `headers` define the framing.
    public static func respond(_ status: Int = 200, headers: Headers = [:], body: Data = Data()) -> Script {
        respond(status, lines: headerLines(headers), body)
    }

    /// Sends a complete response with text as its body, as UTF-8, and without a Content-Type of its own: see
    /// ``text(_:status:headers:)``.
    public static func respond(_ status: Int = 200, headers: Headers = [:], body: String) -> Script {
        respond(status, headers: headers, body: Data(body.utf8))
    }

    /// Sends a response with text as its body.
    ///
    /// - Parameters:
    ///   - body: The text.
    ///   - status: The status code.
    ///   - headers: Further fields. Without a Content-Type among them it is `text/plain; charset=utf-8`.
    public static func text(_ body: String, status: Int = 200, headers: Headers = [:]) -> Script {
        respond(status, type: "text/plain; charset=utf-8", headers, Data(body.utf8))
    }

    /// Sends a response with JSON text as its body: `.json(#"{"id":7}"#)`.
    ///
    /// - Parameters:
    ///   - body: The JSON text.
    ///   - status: The status code.
    ///   - headers: Further fields. Without a Content-Type among them it is `application/json`.
    public static func json(_ body: some StringProtocol, status: Int = 200, headers: Headers = [:]) -> Script {
        respond(status, type: "application/json", headers, Data(body.utf8))
    }

    /// Sends a response with a value as its body, encoded as JSON: `.json(encoding: user)`.
    ///
    /// If the value can't be encoded, the response is 500, and ``TestServer/handlerErrors`` has the error.
    ///
    /// - Parameters:
    ///   - value: The value. JSON text is sent by ``json(_:status:headers:)``.
    ///   - status: The status code.
    ///   - headers: Further fields. Without a Content-Type among them it is `application/json`.
    ///   - encoder: The encoder; nil for one that sorts keys and doesn't escape slashes.
    public static func json(
        encoding value: some Encodable, status: Int = 200, headers: Headers = [:], encoder: JSONEncoder? = nil
    ) -> Script {
        let standard = JSONEncoder()
        standard.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            let body = try (encoder ?? standard).encode(value)
            return respond(status, type: "application/json", headers, body)
        } catch {
            return .handler { _, _ in throw error }
        }
    }

    /// Not available: ``json(_:status:headers:)`` takes JSON text, ``json(encoding:status:headers:encoder:)`` a value.
    @available(*, unavailable, renamed: "json(encoding:)")
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public static func json(_ value: some Encodable, status: Int = 200, headers: Headers = [:]) -> Script {
        json(encoding: value, status: status, headers: headers)
    }

    private static func respond(_ status: Int, type: String, _ headers: Headers, _ body: Data) -> Script {
        let hasType = headers.contains { $0.key.lowercased() == "content-type" }
        let lines = [hasType ? "" : "Content-Type: \(type)", headerLines(headers)].filter { !$0.isEmpty }
        return respond(status, lines: lines.joined(separator: "\r\n"), body)
    }

    private static func respond(_ status: Int, lines: String, _ body: Data) -> Script {
        Script(role(of: status)) { script in
            body.withUnsafeBytes { afts_respond(script, Int32(clamping: status), lines, $0.baseAddress, $0.count) }
        }
    }

    private static func role(of status: Int) -> Role {
        (100..<200).contains(status) && status != 101 ? .other : .response
    }

    /// Sends a response without a body.
    public static func status(_ status: Int, headers: Headers = [:]) -> Script {
        respond(status, headers: headers)
    }

    /// Sends a redirect.
    public static func redirect(to location: String, status: Int = 302) -> Script {
        respond(status, headers: ["Location": location])
    }

    /// Sends a response whose body is `block` repeated. The body is generated while it is sent.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The header fields, in order.
    ///   - block: The bytes to repeat.
    ///   - count: The number of repetitions; nil for an endless body without Content-Length.
    public static func respond(
        _ status: Int = 200, headers: Headers = [:], repeating block: Data, count: Int?
    ) -> Script {
        let lines = headerLines(headers)
        return Script(role(of: status)) { script in
            block.withUnsafeBytes {
                afts_respond_repeated(
                    script, Int32(clamping: status), lines, $0.baseAddress, $0.count, repetitions(count))
            }
        }
    }

    /// Sends a response whose body is shorter than its Content-Length, then closes the connection.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The header fields, in order.
    ///   - body: The bytes that are sent.
    ///   - promised: The value of Content-Length.
    public static func truncated(
        _ status: Int = 200, headers: Headers = [:], body: Data, promising promised: Int
    ) -> Script {
        let lines = headerLines(headers)
        return Script(role(of: status)) { script in
            body.withUnsafeBytes {
                afts_respond_truncated(
                    script, Int32(clamping: status), lines, $0.baseAddress, $0.count, UInt64(clamping: promised))
            }
        }
    }

    /// Sends a response whose body, a text as UTF-8, is shorter than its Content-Length: see
    /// ``truncated(_:headers:body:promising:)-(_,_,Data,_)``.
    public static func truncated(
        _ status: Int = 200, headers: Headers = [:], body: String, promising promised: Int
    ) -> Script {
        truncated(status, headers: headers, body: Data(body.utf8), promising: promised)
    }

    /// Sends a complete response with chunked transfer coding.
    public static func chunked(
        _ status: Int = 200, headers: Headers = [:], chunks: [String], trailers: Headers = [:]
    ) -> Script {
        [.chunkedHead(status, headers: headers), Script(chunks.map { .chunk($0) }), .lastChunk(trailers)]
    }

    /// Sends the head of a chunked response. Continue with `.chunk("text")` and ``lastChunk(_:)``.
    public static func chunkedHead(_ status: Int = 200, headers: Headers = [:]) -> Script {
        let lines = headerLines(headers)
        return Script(role(of: status)) { afts_respond_chunked($0, Int32(clamping: status), lines) }
    }

    /// Sends a chunk `count` times. An empty chunk is omitted, because it would end the body.
    ///
    /// - Parameters:
    ///   - bytes: The contents of the chunk.
    ///   - count: The number of repetitions; nil for an endless body.
    public static func chunk(_ bytes: Data, count: Int? = 1) -> Script {
        Script { script in
            bytes.withUnsafeBytes { afts_chunk_repeated(script, $0.baseAddress, $0.count, repetitions(count)) }
        }
    }

    /// Sends a chunk of text, as UTF-8, `count` times. An empty chunk is omitted, because it would end the body.
    public static func chunk(_ text: String, count: Int? = 1) -> Script {
        chunk(Data(text.utf8), count: count)
    }

    /// Ends a chunked body.
    public static func lastChunk(_ trailers: Headers = [:]) -> Script {
        let lines = headerLines(trailers)
        return Script { afts_last_chunk($0, lines) }
    }

    /// Sends an informational (1xx) response, such as 103.
    public static func interim(_ status: Int, headers: Headers = [:]) -> Script {
        let lines = headerLines(headers)
        return Script { afts_interim($0, Int32(clamping: status), lines) }
    }

    /// Responds with a JSON object that describes the request: connection, method, target, version, headers (an array
    /// of pairs, in order and with their original case), bodyLength, and body, or bodyBase64 if the body isn't UTF-8.
    public static var echo: Script {
        Script(.response) { afts_echo($0) }
    }

    /// Runs code. Capture the server weakly in a handler that uses it.
    public static func handler(_ handler: @escaping Handler) -> Script {
        Script(steps: [.handler(.blocking(handler))])
    }

    /// Runs code that awaits. Capture the server weakly in a handler that uses it.
    public static func handler(_ handler: @escaping AsyncHandler) -> Script {
        Script(steps: [.handler(.awaiting(handler))])
    }
}

// MARK: - Exact bytes

extension Script {
    /// Sends bytes unchanged.
    public static func send(_ bytes: Data) -> Script {
        send(repeating: bytes, count: 1)
    }

    /// Sends text unchanged, as UTF-8: `.send("HTTP/1.1 200 OK\r\n\r\n")`.
    public static func send(_ text: String) -> Script {
        send(Data(text.utf8))
    }

    /// Sends bytes in pieces of `size` bytes, with a pause between them.
    public static func send(_ bytes: Data, inCrumbsOf size: Int, pause: Duration = .zero) -> Script {
        Script { script in
            bytes.withUnsafeBytes {
                afts_send_crumbs(script, $0.baseAddress, $0.count, max(1, size), pause.wholeMilliseconds)
            }
        }
    }

    /// Sends a block repeatedly.
    ///
    /// - Parameters:
    ///   - block: The bytes to repeat.
    ///   - count: The number of repetitions; nil to never stop.
    public static func send(repeating block: Data, count: Int?) -> Script {
        Script { script in
            block.withUnsafeBytes { afts_send_repeated(script, $0.baseAddress, $0.count, repetitions(count)) }
        }
    }
}

// MARK: - Reading

extension Script {
    /// Starts the script as soon as the head of the request was read, wherever this step is in the script. Without this
    /// step, a script starts after the body was read.
    public static var readHeadOnly: Script {
        Script { afts_read_head_only($0) }
    }

    /// Reads the rest of the request body, in a script with ``readHeadOnly``.
    public static var readBody: Script {
        Script { afts_read_body($0) }
    }

    /// Reads the rest of the request body in steps of `size` bytes, with a pause between them.
    public static func readBody(inStepsOf size: Int, pause: Duration) -> Script {
        Script { afts_read_body_slowly($0, max(1, size), pause.wholeMilliseconds) }
    }

    /// Reads a number of bytes of the request body, or the rest if that is shorter.
    public static func readBody(bytes: Int) -> Script {
        Script { afts_read_body_bytes($0, UInt64(clamping: bytes)) }
    }

    /// Reads a request, in a connection script. Following responses refer to it.
    public static var readRequest: Script {
        Script(.reading) { afts_read_request($0) }
    }

    /// Reads a number of raw bytes.
    public static func read(bytes: Int) -> Script {
        Script(.reading) { afts_read_bytes($0, UInt64(clamping: bytes)) }
    }

    /// Reads until the client closes or resets the connection.
    public static var waitForPeerClose: Script {
        Script { afts_wait_peer_close($0) }
    }
}

// MARK: - Time and endings

extension Script {
    /// Waits for a time.
    ///
    /// If the client closes the connection meanwhile, that is recorded at once, and the script goes on afterwards: see
    /// ``TestServer/Condition/closes(_:)``.
    public static func pause(_ duration: Duration) -> Script {
        Script { afts_pause($0, duration.wholeMilliseconds) }
    }

    /// Waits at a gate until the test releases it: see ``TestServer/release(_:permits:)``.
    ///
    /// If the client closes the connection meanwhile, that is recorded at once, and the script stays at the gate: see
    /// ``TestServer/Condition/closes(_:)``.
    public static func stall(at gate: String) -> Script {
        Script { afts_stall($0, gate) }
    }

    /// Closes the connection cleanly.
    public static var close: Script {
        Script { afts_close($0) }
    }

    /// Closes the sending direction only; the server can still read.
    public static var halfClose: Script {
        Script { afts_half_close($0) }
    }

    /// Resets the connection (TCP RST).
    public static var reset: Script {
        Script { afts_reset($0) }
    }

    /// Closes the socket of a TLS connection without sending close_notify.
    public static var closeAbruptly: Script {
        Script { afts_close_abruptly($0) }
    }
}

private func repetitions(_ count: Int?) -> UInt64 {
    count.map { UInt64(clamping: $0) } ?? UInt64.max
}

/// The header lines in the format of the C functions.
func headerLines(_ headers: Script.Headers) -> String {
    // C would end the text there, and silently lose the fields behind it.
    precondition(
        headers.allSatisfy { !$0.key.utf8.contains(0) && !$0.value.utf8.contains(0) },
        "a header field with a NUL character: send the bytes of such a head with send(_:)")
    return headers.map { "\($0.key): \($0.value)" }.joined(separator: "\r\n")
}

extension Duration {
    /// The duration in whole milliseconds, limited to the range of the C type.
    var wholeMilliseconds: UInt32 {
        let (seconds, attoseconds) = components
        let bounded = min(max(seconds, 0), Int64(UInt32.max))
        return UInt32(clamping: bounded * 1000 + max(attoseconds, 0) / 1_000_000_000_000_000)
    }
}
