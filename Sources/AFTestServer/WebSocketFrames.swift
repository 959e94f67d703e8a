import CAFTestServer
public import FoundationEssentials

/// RFC 6455 5.2.
private enum Opcode {
    static let continuation: UInt8 = 0
    static let text: UInt8 = 1
    static let binary: UInt8 = 2
    static let close: UInt8 = 8
    static let ping: UInt8 = 9
    static let pong: UInt8 = 10
}

/// FIN: the frame is a whole message.
private let whole: UInt8 = 0x80

extension Script {
    /// Sends 101 with the Sec-WebSocket-Accept of the request's key. What follows are frames, or any bytes. A request
    /// without a key gets 400.
    public static func upgrade(headers: Headers = [:]) -> Script {
        let lines = headerLines(headers)
        return Script(.upgrade) { afts_upgrade($0, lines) }
    }

    /// Sends a text message.
    public static func textFrame(_ text: String) -> Script {
        frame(whole | Opcode.text, Data(text.utf8))
    }

    /// Sends a binary message.
    public static func binaryFrame(_ bytes: Data) -> Script {
        frame(whole | Opcode.binary, bytes)
    }

    /// Sends a ping, whose payload the client sends back in a pong.
    public static func pingFrame(_ payload: Data = Data()) -> Script {
        frame(whole | Opcode.ping, payload)
    }

    /// Sends a close frame. The connection stays open for the close frame of the client: continue with
    /// ``waitForPeerClose``, or with ``close``.
    ///
    /// - Parameters:
    ///   - code: The status code (RFC 6455 7.4.1).
    ///   - reason: The reason, which follows the code as UTF-8.
    public static func closeFrame(_ code: UInt16 = 1000, reason: String = "") -> Script {
        frame(whole | Opcode.close, Data([UInt8(code >> 8), UInt8(code & 0xFF)]) + Data(reason.utf8))
    }

    /// Sends an unmasked WebSocket frame of any kind, also one that breaks the protocol.
    ///
    /// - Parameters:
    ///   - first: The first byte: FIN and the reserved bits, and the opcode, such as 0x01 for the first part of a text.
    ///   - payload: The payload.
    public static func frame(_ first: UInt8, _ payload: Data = Data()) -> Script {
        Script { script in
            payload.withUnsafeBytes { afts_send_frame(script, first, $0.baseAddress, $0.count) }
        }
    }

    /// Sends back each frame of a message, answers pings, and answers a close frame and then closes. A frame without a
    /// mask is answered with 1002 (RFC 6455 5.1).
    public static var echoFrames: Script {
        Script { afts_echo_frames($0) }
    }
}

extension TestServer {
    /// A frame that the client of a WebSocket has sent.
    public struct Frame: Sendable, Hashable {
        /// The first byte, as received: FIN, the reserved bits, and the opcode.
        public let first: UInt8
        /// Whether it was masked, as frames of clients must be.
        public let isMasked: Bool
        /// The payload, without the mask.
        public let payload: Data

        /// Whether it is the last frame of its message.
        public var isFinal: Bool { first & 0x80 != 0 }
        /// The payload, decoded as UTF-8.
        public var payloadText: String { String(decoding: payload, as: UTF8.self) }
        /// The opcode, such as 1 for a text.
        public var opcode: UInt8 { first & 0x0F }

        init(_ frame: afts_frame) {
            first = frame.first
            isMasked = frame.is_masked
            payload = Data(UnsafeRawBufferPointer(start: frame.bytes, count: frame.size))
        }
    }
}

extension TestServer.Connection {
    /// Reads the next text message that the client of a WebSocket sends, and joins its frames.
    ///
    /// Pings are answered and pongs skipped. A close frame is answered; then the connection is closed.
    ///
    /// ```swift
    /// server.route("/chat") { _, connection in
    ///     try connection.run(.upgrade())
    ///     while true { try connection.run(.textFrame("hello, \(connection.readText())")) }
    /// }
    /// ```
    ///
    /// - Throws: ``ConnectionEnded``, also after a close frame; ``TestServerError`` for a binary message, a frame
    ///   without a mask, or a text that isn't UTF-8.
    public func readText() throws -> String {
        var bytes = Data()
        var isFirst = true
        while true {
            let frame = try readFrame()
            guard frame.isMasked else { throw TestServerError(message: "a frame without a mask") }
            switch frame.opcode {
            case Opcode.ping: try run(.frame(whole | Opcode.pong, frame.payload))
            case Opcode.pong: break
            case Opcode.close:
                try run([.frame(whole | Opcode.close, frame.payload), .close])
                throw ConnectionEnded()
            case isFirst ? Opcode.text : Opcode.continuation:
                bytes.append(frame.payload)
                isFirst = false
                guard frame.isFinal else { continue }
                guard let text = String(validating: bytes, as: UTF8.self) else {
                    throw TestServerError(message: "a text message that isn't UTF-8")
                }
                return text
            default:
                throw TestServerError(message: "expected a text message, received a frame with opcode \(frame.opcode)")
            }
        }
    }
}
