import CAFTestServer
public import FoundationEssentials

extension TestServer {
    /// A header field, as it came.
    public struct Header: Sendable, Hashable {
        /// The name with its case.
        public let name: String
        /// The value without the blanks around it; Latin-1 where it isn't UTF-8.
        public let value: String
        /// The exact bytes of the value.
        public let valueBytes: Data
    }

    /// A request, as it came.
    public struct Request: Sendable {
        /// The connection's number, from 0 in the order of acceptance.
        public let connection: Int
        /// The request's number on its connection, from 0.
        public let number: Int
        /// "GET".
        public let method: String
        /// "/path?query".
        public let target: String
        /// "HTTP/1.1".
        public let version: String
        /// In their order, repeats included.
        public let headers: [Header]
        /// The exact bytes of the head, with the empty line.
        public let head: Data
        /// The body without its framing, as far as the server keeps it (``Options/bodyLimit``).
        public let body: Data
        /// The full length of the body that was read.
        public let bodyLength: UInt64
        /// Whether the body came to its end.
        public let isBodyComplete: Bool

        /// The target up to its "?".
        public var path: String {
            String(target.prefix { $0 != "?" })
        }

        /// The body as text.
        public var bodyText: String {
            String(decoding: body, as: UTF8.self)
        }

        /// The values of all headers of that name, whatever its case.
        public func values(_ name: String) -> [String] {
            headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
        }

        /// The value of the first header of that name, whatever its case.
        public subscript(name: String) -> String? {
            values(name).first
        }
    }

    /// How a connection ended.
    public enum Ending: Sendable, Hashable {
        /// It hasn't.
        case open
        /// The script, or the stopping server, closed it.
        case closedByServer
        /// The client closed it in an orderly way.
        case closedByClient
        /// The client reset it, or it broke.
        case broken
        /// The TLS handshake failed.
        case handshakeFailed
    }

    /// What came of a TLS handshake.
    public struct TLSRecord: Sendable, Hashable {
        /// "TLSv1.3".
        public let version: String
        /// OpenSSL's name of the cipher suite.
        public let cipher: String
        /// Whether the handshake resumed an earlier session.
        public let isResumed: Bool
        /// The protocol agreed on by ALPN, or nil.
        public let alpn: String?
        /// The host that the client asked for (SNI), or nil.
        public let serverName: String?
        /// The subject of the client's certificate, or nil.
        public let clientSubject: String?
    }

    /// A connection, as the server saw it.
    public struct ConnectionRecord: Sendable {
        /// From 0 in the order of acceptance.
        public let index: Int
        /// The client's port.
        public let clientPort: Int
        /// How it ended.
        public let ending: Ending
        /// Requests whose head was read.
        public let requestCount: Int
        /// Exactly the bytes received (inside TLS), as far as the server keeps them
        /// (``Options/receivedLimit``).
        public let received: Data
        /// Bytes received, all counted.
        public let receivedCount: UInt64
        /// Bytes sent.
        public let sentCount: UInt64
        /// The handshake; nil in plain text, and before it is done.
        public let tls: TLSRecord?
        /// Why the handshake failed, or nil.
        public let tlsError: String?
    }

    /// Totals since the start.
    public struct Statistics: Sendable, Hashable {
        /// Connections accepted.
        public let accepted: Int
        /// Connections open now.
        public let open: Int
        /// Connections ended.
        public let closed: Int
        /// The largest number of connections open at the same time.
        public let mostOpen: Int
        /// Requests.
        public let requests: Int
        /// TLS handshakes completed.
        public let handshakes: Int
        /// Those of them that resumed a session.
        public let resumedHandshakes: Int
        /// TLS handshakes that failed.
        public let failedHandshakes: Int
        /// Bytes received.
        public let received: UInt64
        /// Bytes sent.
        public let sent: UInt64
    }
}

// MARK: - From C

extension TestServer.Request {
    /// What a handler sees that runs before any request.
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
        mostOpen = stats.most_open
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
