import CAFTestServer
public import FoundationEssentials

/// What the server does on a connection, step by step.
///
/// Every static member is a script of one step, and an array literal of scripts is a longer script:
///
/// ```swift
/// server.route("GET /news", [.interim(103), .stall(at: "editor"), .json(#"{"title":"Late"}"#)])
/// ```
///
/// After the last step the connection waits for its next request, unless a step has closed it, the
/// answer said `Connection: close`, or the client did.
public struct Script: Sendable, ExpressibleByArrayLiteral {
    /// Header fields in order; names may repeat. Sent as UTF-8.
    public typealias Headers = KeyValuePairs<String, String>

    /// Code in place of steps. It runs on the connection's thread and may block. When it throws
    /// anything but ``ConnectionEnded``, the server answers 500 with the error's description and closes.
    public typealias Handler = @Sendable (TestServer.Request, TestServer.Connection) throws -> Void

    private let steps: [@Sendable (OpaquePointer) -> Void]

    private init(steps: [@Sendable (OpaquePointer) -> Void]) {
        self.steps = steps
    }

    private init(_ step: @escaping @Sendable (OpaquePointer) -> Void) {
        steps = [step]
    }

    /// A script of scripts.
    public init(arrayLiteral scripts: Script...) {
        self.init(scripts)
    }

    /// A script of scripts.
    public init(_ scripts: some Sequence<Script>) {
        steps = scripts.flatMap(\.steps)
    }

    /// Builds the C script, with one reference for the caller; nil when memory is short.
    func build() -> OpaquePointer? {
        guard let script = afts_script_new() else { return nil }
        for step in steps {
            step(script)
        }
        return script
    }

    /// This script, and another one after it.
    public func then(_ next: Script) -> Script {
        Script(steps: steps + next.steps)
    }
}

// MARK: - Answers

extension Script {
    /// A complete answer with its Content-Length, unless `headers` frame the body themselves.
    public static func respond(_ status: Int = 200, headers: Headers = [:], body: Data = Data()) -> Script {
        let lines = headerLines(headers)
        return Script { script in
            body.withUnsafeBytes { afts_respond(script, Int32(clamping: status), lines, $0.baseAddress, $0.count) }
        }
    }

    /// An answer with a body of text.
    public static func text(_ body: String, status: Int = 200) -> Script {
        respond(status, headers: ["Content-Type": "text/plain; charset=utf-8"], body: Data(body.utf8))
    }

    /// An answer with a body of JSON text.
    public static func json(_ body: String, status: Int = 200) -> Script {
        respond(status, headers: ["Content-Type": "application/json"], body: Data(body.utf8))
    }

    /// An answer without a body.
    public static func status(_ status: Int, headers: Headers = [:]) -> Script {
        respond(status, headers: headers)
    }

    /// A redirect.
    public static func redirect(to location: String, status: Int = 302) -> Script {
        respond(status, headers: ["Location": location])
    }

    /// An answer whose body is `block` repeated, produced on the way out.
    ///
    /// - Parameter count: repetitions; nil never ends and gives no Content-Length.
    public static func respond(
        _ status: Int = 200, headers: Headers = [:], repeating block: Data, count: Int?
    ) -> Script {
        let lines = headerLines(headers)
        return Script { script in
            block.withUnsafeBytes {
                afts_respond_repeated(
                    script, Int32(clamping: status), lines, $0.baseAddress, $0.count, repetitions(count))
            }
        }
    }

    /// An answer that promises a longer body than it has, and a closed connection.
    ///
    /// - Parameter promised: the Content-Length.
    public static func truncated(
        _ status: Int = 200, headers: Headers = [:], body: Data, promising promised: Int
    ) -> Script {
        let lines = headerLines(headers)
        return Script { script in
            body.withUnsafeBytes {
                afts_respond_truncated(
                    script, Int32(clamping: status), lines, $0.baseAddress, $0.count, UInt64(clamping: promised))
            }
        }
    }

    /// A complete chunked answer.
    public static func chunked(
        _ status: Int = 200, headers: Headers = [:], chunks: [String], trailers: Headers = [:]
    ) -> Script {
        [.chunkedHead(status, headers: headers), Script(chunks.map { .chunk(Data($0.utf8)) }), .lastChunk(trailers)]
    }

    /// The head of a chunked answer; ``chunk(_:count:)`` and ``lastChunk(_:)`` go on.
    public static func chunkedHead(_ status: Int = 200, headers: Headers = [:]) -> Script {
        let lines = headerLines(headers)
        return Script { afts_respond_chunked($0, Int32(clamping: status), lines) }
    }

    /// A chunk, `count` times. An empty one is left out: it would end the body.
    ///
    /// - Parameter count: repetitions; nil never ends.
    public static func chunk(_ bytes: Data, count: Int? = 1) -> Script {
        Script { script in
            bytes.withUnsafeBytes { afts_chunk_repeated(script, $0.baseAddress, $0.count, repetitions(count)) }
        }
    }

    /// The end of a chunked body.
    public static func lastChunk(_ trailers: Headers = [:]) -> Script {
        let lines = headerLines(trailers)
        return Script { afts_last_chunk($0, lines) }
    }

    /// An interim answer, such as 103.
    public static func interim(_ status: Int, headers: Headers = [:]) -> Script {
        let lines = headerLines(headers)
        return Script { afts_interim($0, Int32(clamping: status), lines) }
    }

    /// Answers with a JSON object that describes the request: connection, method, target, version,
    /// headers (an array of pairs, in order and with their case), bodyLength, and body, or bodyBase64
    /// when the body isn't UTF-8.
    public static var echo: Script {
        Script { afts_echo($0) }
    }

    /// Runs code. A handler that refers to its server should capture it weakly.
    public static func handler(_ handler: @escaping Handler) -> Script {
        Script { HandlerBox(handler).append(to: $0) }
    }
}

// MARK: - Exact bytes

extension Script {
    /// Sends bytes as they are.
    public static func send(_ bytes: Data) -> Script {
        send(repeating: bytes, count: 1)
    }

    /// Sends text as it is: `.send("HTTP/1.1 200 OK\r\n\r\n")`.
    public static func send(_ text: String) -> Script {
        send(Data(text.utf8))
    }

    /// Sends bytes in pieces of `size`, with a pause between them.
    public static func send(_ bytes: Data, inCrumbsOf size: Int, pause: Duration = .zero) -> Script {
        Script { script in
            bytes.withUnsafeBytes {
                afts_send_crumbs(script, $0.baseAddress, $0.count, max(1, size), pause.wholeMilliseconds)
            }
        }
    }

    /// Sends a block many times.
    ///
    /// - Parameter count: repetitions; nil never ends.
    public static func send(repeating block: Data, count: Int?) -> Script {
        Script { script in
            block.withUnsafeBytes { afts_send_repeated(script, $0.baseAddress, $0.count, repetitions(count)) }
        }
    }
}

// MARK: - Reading

extension Script {
    /// The script begins as soon as the head of the request is read, wherever this step stands.
    /// Otherwise scripts begin after the body.
    public static var readHeadOnly: Script {
        Script { afts_read_head_only($0) }
    }

    /// Reads the rest of the body, in a script with ``readHeadOnly``.
    public static var readBody: Script {
        Script { afts_read_body($0) }
    }

    /// Reads the rest of the body in steps, with a pause after each.
    public static func readBody(inStepsOf size: Int, pause: Duration) -> Script {
        Script { afts_read_body_slowly($0, max(1, size), pause.wholeMilliseconds) }
    }

    /// Reads so many bytes of the body, or what is left of it.
    public static func readBody(bytes: Int) -> Script {
        Script { afts_read_body_bytes($0, UInt64(clamping: bytes)) }
    }

    /// Reads a request, in a script for a connection; answers then refer to it.
    public static var readRequest: Script {
        Script { afts_read_request($0) }
    }

    /// Reads so many bytes, whatever they are.
    public static func read(bytes: Int) -> Script {
        Script { afts_read_bytes($0, UInt64(clamping: bytes)) }
    }

    /// Reads until the client has closed or reset the connection.
    public static var waitForPeerClose: Script {
        Script { afts_wait_peer_close($0) }
    }
}

// MARK: - Time and endings

extension Script {
    /// Waits.
    public static func pause(_ duration: Duration) -> Script {
        Script { afts_pause($0, duration.wholeMilliseconds) }
    }

    /// Waits at a gate until the test lets it pass: see ``TestServer/release(_:permits:)``.
    public static func stall(at gate: String) -> Script {
        Script { afts_stall($0, gate) }
    }

    /// Closes in an orderly way.
    public static var close: Script {
        Script { afts_close($0) }
    }

    /// Ends the server's direction only; input can still be read.
    public static var halfClose: Script {
        Script { afts_half_close($0) }
    }

    /// Resets the connection.
    public static var reset: Script {
        Script { afts_reset($0) }
    }

    /// Closes the socket of a TLS connection without close_notify.
    public static var closeAbruptly: Script {
        Script { afts_close_abruptly($0) }
    }
}

private func repetitions(_ count: Int?) -> UInt64 {
    count.map { UInt64(clamping: $0) } ?? UInt64.max
}

/// Header lines as the C side takes them.
func headerLines(_ headers: Script.Headers) -> String {
    headers.map { "\($0.key): \($0.value)" }.joined(separator: "\r\n")
}

extension Duration {
    /// Whole milliseconds, at most what the C side can hold.
    var wholeMilliseconds: UInt32 {
        let (seconds, attoseconds) = components
        let bounded = min(max(seconds, 0), Int64(UInt32.max))
        return UInt32(clamping: bounded * 1000 + max(attoseconds, 0) / 1_000_000_000_000_000)
    }
}
