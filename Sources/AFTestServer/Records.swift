import CAFTestServer
public import FoundationEssentials

extension TestServer {
    /// A header field, as received.
    public struct Header: Sendable, Hashable {
        /// The name, with its original case.
        public let name: String
        /// The value without leading and trailing white space, decoded as UTF-8, or as Latin-1 if it isn't valid UTF-8.
        public let value: String
        /// The exact bytes of the value.
        public let valueBytes: Data
    }

    /// A request, as received.
    public struct Request: Sendable {
        /// The index of the connection, from 0 in the order of acceptance.
        public let connection: Int
        /// The index of the request on its connection, from 0.
        public let number: Int
        /// The method, such as "GET".
        public let method: String
        /// The request target, such as "/path?query".
        public let target: String
        /// The protocol version, such as "HTTP/1.1".
        public let version: String
        /// The header fields in order, including repeated ones.
        public let headers: [Header]
        /// The exact bytes of the head, including the empty line.
        public let head: Data
        /// The body without its framing, up to ``Options/bodyLimit``.
        public let body: Data
        /// The full length of the body, including bytes that weren't stored.
        public let bodyLength: UInt64
        /// Whether the body was received completely.
        public let isBodyComplete: Bool
        /// Whether a route, or the script of a connection, answered it, and not the fallback.
        public let isRouted: Bool

        /// The target without its query.
        public var path: String {
            String(Substring(target.utf8.prefix { $0 != UInt8(ascii: "?") }))
        }

        /// The body, decoded as UTF-8.
        public var bodyText: String {
            String(decoding: body, as: UTF8.self)
        }

        /// The values of all headers with a name. Names are case-insensitive.
        public func values(named name: String) -> [String] {
            headers.values(named: name)
        }

        /// The value of the first header with a name; nil without one. Names are case-insensitive.
        public subscript(name: String) -> String? {
            headers[name]
        }
    }

    /// How a connection ended.
    public enum Ending: Sendable, Hashable {
        /// The connection is still open.
        case open
        /// The server closed it, in a script or because it was stopped.
        case closedByServer
        /// The client closed it cleanly, or ended its own direction, before the server closed it.
        case closedByClient
        /// The client reset it, or it failed.
        case broken
        /// The TLS handshake failed.
        case handshakeFailed
    }

    /// The result of a TLS handshake.
    public struct TLSRecord: Sendable, Hashable {
        /// The version, such as "TLSv1.3".
        public let version: String
        /// The cipher suite, with OpenSSL's name.
        public let cipher: String
        /// Whether an earlier session was resumed.
        public let isResumed: Bool
        /// The protocol negotiated with ALPN; nil if none.
        public let alpn: String?
        /// The host that the client sent with SNI; nil if none.
        public let serverName: String?
        /// The subject of the client's certificate; nil without a certificate.
        public let clientSubject: String?
    }

    /// A connection, as seen by the server.
    public struct ConnectionRecord: Sendable {
        /// The index, from 0 in the order of acceptance.
        public let index: Int
        /// The client's port.
        public let clientPort: Int
        /// How it ended.
        public let ending: Ending
        /// The number of requests whose head was read.
        public let requestCount: Int
        /// The exact bytes received (decrypted, if TLS is used), up to ``Options/receivedLimit``.
        public let received: Data
        /// The number of bytes received, including bytes that weren't stored.
        public let receivedCount: UInt64
        /// The number of bytes sent.
        public let sentCount: UInt64
        /// Why the server refused what the client sent: a request with 400 or 431, HTTP/2, or a WebSocket's frame
        /// without a mask; nil if it didn't. A refused request isn't among ``TestServer/requests``, but ``received``
        /// has its bytes.
        public let refusal: String?
        /// The handshake; nil without TLS, and until the handshake is complete.
        public let tls: TLSRecord?
        /// Why the handshake failed; nil if it didn't.
        public let tlsError: String?
    }

    /// Totals since the server was started.
    public struct Statistics: Sendable, Hashable {
        /// The number of connections accepted.
        public let accepted: Int
        /// The number of connections open now.
        public let open: Int
        /// The number of connections ended.
        public let closed: Int
        /// The maximum number of connections that were open at the same time.
        public let peakOpen: Int
        /// The number of requests.
        public let requests: Int
        /// The number of completed TLS handshakes.
        public let handshakes: Int
        /// The number of completed TLS handshakes that resumed a session.
        public let resumedHandshakes: Int
        /// The number of failed TLS handshakes.
        public let failedHandshakes: Int
        /// The number of bytes received.
        public let received: UInt64
        /// The number of bytes sent.
        public let sent: UInt64
    }
}

extension [TestServer.Header] {
    /// The value of the first header with a name; nil without one. Names are case-insensitive.
    public subscript(name: String) -> String? {
        values(named: name).first
    }

    /// The values of all headers with a name, in order. Names are case-insensitive.
    public func values(named name: String) -> [String] {
        filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }
}

// MARK: - From C

extension TestServer.Request {
    /// The request passed to a handler that runs before any request was read.
    static let none = TestServer.Request(afts_request())

    init(_ seen: afts_request) {
        connection = seen.connection
        number = seen.number
        method = text(seen.method)
        target = text(seen.target)
        version = text(seen.version)
        headers = UnsafeBufferPointer(start: seen.headers, count: seen.header_count).map(TestServer.Header.init)
        head = Data(bytes(seen.head, seen.head_size))
        body = Data(bytes(seen.body, seen.body_size))
        bodyLength = seen.body_total
        isBodyComplete = seen.body_complete
        isRouted = !seen.unrouted
    }
}

extension TestServer.Header {
    fileprivate init(_ header: afts_header) {
        name = textOrLatin1(bytes(header.name, header.name_size))
        value = textOrLatin1(bytes(header.value, header.value_size))
        valueBytes = Data(bytes(header.value, header.value_size))
    }
}

extension TestServer.ConnectionRecord {
    init(_ seen: afts_connection) {
        index = seen.index
        clientPort = Int(seen.client_port)
        ending = TestServer.Ending(seen.ending)
        requestCount = seen.requests
        received = Data(bytes(seen.received, seen.received_size))
        receivedCount = seen.received_total
        sentCount = seen.sent_total
        refusal = nonEmpty(seen.refusal)
        tls = seen.tls ? TestServer.TLSRecord(seen) : nil
        tlsError = nonEmpty(seen.tls_error)
    }
}

extension TestServer.TLSRecord {
    fileprivate init(_ seen: afts_connection) {
        version = text(seen.tls_version)
        cipher = text(seen.tls_cipher)
        isResumed = seen.tls_resumed
        alpn = nonEmpty(seen.alpn)
        serverName = nonEmpty(seen.sni)
        clientSubject = nonEmpty(seen.client_subject)
    }
}

extension TestServer.Ending {
    fileprivate init(_ ending: afts_ending) {
        switch ending {
        case AFTS_CLOSED_BY_SERVER: self = .closedByServer
        case AFTS_CLOSED_BY_CLIENT: self = .closedByClient
        case AFTS_BROKEN: self = .broken
        case AFTS_HANDSHAKE_FAILED: self = .handshakeFailed
        default: self = .open
        }
    }
}

extension TestServer.Statistics {
    init(_ stats: afts_stats) {
        accepted = stats.accepted
        open = stats.open
        closed = stats.closed
        peakOpen = stats.peak_open
        requests = stats.requests
        handshakes = stats.handshakes
        resumedHandshakes = stats.handshakes_resumed
        failedHandshakes = stats.handshakes_failed
        received = stats.received
        sent = stats.sent
    }
}

private func bytes(_ start: UnsafePointer<UInt8>?, _ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)
}

private func bytes(_ start: UnsafePointer<CChar>?, _ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)
}

private func text(_ string: UnsafePointer<CChar>?) -> String {
    string.map { String(cString: $0) } ?? ""
}

private func nonEmpty(_ string: UnsafePointer<CChar>?) -> String? {
    let value = text(string)
    return value.isEmpty ? nil : value
}

private func textOrLatin1(_ bytes: UnsafeRawBufferPointer) -> String {
    String(validating: bytes, as: UTF8.self)
        ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
}
