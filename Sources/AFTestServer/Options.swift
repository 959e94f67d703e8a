import CAFTestServer
public import FoundationEssentials

extension TestServer {
    /// Limits, socket buffers, and the address family.
    public struct Options: Sendable {
        /// Listens on ::1 instead of 127.0.0.1. Default: false.
        public var usesIPv6 = false
        /// Never completes a TCP handshake: a client's connect hangs until its own timeout. Default: false.
        public var isUnreachable = false
        /// Sends 100 (Continue) for `Expect: 100-continue` before reading a body, except in scripts with
        /// ``Script/readHeadOnly``. Default: true.
        public var sendsContinue = true
        /// SO_RCVBUF of every connection, in bytes; nil for the system's default. With a small buffer, uploads fill the
        /// TCP window early.
        public var receiveBuffer: Int?
        /// SO_SNDBUF of every connection, in bytes; nil for the system's default.
        public var sendBuffer: Int?
        /// The maximum number of received bytes stored per connection. Further bytes are only counted. Default: 1 MiB.
        public var receivedLimit = 1 << 20
        /// The maximum number of body bytes stored per request. Further bytes are only counted. Default: 1 MiB.
        public var bodyLimit = 1 << 20
        /// The maximum size of a request head in bytes. A longer head gets 431 as its response. Default: 256 KiB.
        public var headLimit = 256 << 10
        /// The maximum number of requests and of connections that are recorded. Further ones are only counted. Default:
        /// 4096.
        public var recordLimit = 4096

        /// Creates options with the defaults.
        public init() {}
    }

    /// A TLS protocol version.
    public enum TLSVersion: Sendable, Hashable {
        /// TLS 1.0 (RFC 2246).
        case v1_0
        /// TLS 1.1 (RFC 4346).
        case v1_1
        /// TLS 1.2 (RFC 5246).
        case v1_2
        /// TLS 1.3 (RFC 8446).
        case v1_3
    }

    /// The TLS settings of a server.
    public struct TLS: Sendable {
        /// The certificates to present, leaf first, in PEM format.
        public var chainPEM: String
        /// The leaf's private key, in PEM format.
        public var keyPEM: String
        /// The minimum version; nil for TLS 1.2. Default: nil.
        public var minimumVersion: TLSVersion?
        /// The maximum version; nil for the highest that OpenSSL supports. Default: nil.
        public var maximumVersion: TLSVersion?
        /// The ALPN protocols in order of preference; empty to not negotiate.
        ///
        /// The server speaks HTTP/1.1 only, whatever was negotiated. A client that begins HTTP/2 after "h2" gets a
        /// GOAWAY frame with HTTP_1_1_REQUIRED, and ``ConnectionRecord/refusal`` says so: offer it only to test that,
        /// or together with a script of ``TestServer/onConnection(_:_:)`` that sends frames. Default: empty.
        public var alpn: [String] = []
        /// The OpenSSL cipher list for TLS 1.2 and below; nil for OpenSSL's default.
        public var ciphers: String?
        /// The certificate authorities of client certificates, in PEM format. If set, a client certificate is
        /// requested. Default: nil.
        public var clientAuthorityPEM: String?
        /// Refuses clients without a certificate. ``clientAuthorityPEM`` must be set. Default: false.
        public var requiresClientCertificate = false
        /// Sends stateless session tickets. Without them, sessions are resumed from the server's cache. Default: true.
        public var usesTickets = true
        /// Allows clients to resume sessions. Default: true.
        public var resumesSessions = true
        /// The OCSP response to staple if the client requests one: see ``TestCertificate/ocspResponse(for:status:)``.
        /// Default: nil.
        public var ocspResponse: Data?

        /// Creates TLS settings with a test certificate.
        public init(_ certificate: TestCertificate) {
            self.init(chainPEM: certificate.chainPEM, keyPEM: certificate.keyPEM)
        }

        /// Creates TLS settings with a chain and a key.
        public init(chainPEM: String, keyPEM: String) {
            self.chainPEM = chainPEM
            self.keyPEM = keyPEM
        }
    }
}

/// Calls `body` with the options as a C struct, which is valid until `body` returns.
func withCOptions<Result>(
    _ options: TestServer.Options, _ tls: TestServer.TLS?, _ body: (UnsafePointer<afts_options>) -> Result
) -> Result {
    var cOptions = afts_options()
    cOptions.ipv6 = options.usesIPv6
    cOptions.unreachable = options.isUnreachable
    cOptions.no_auto_continue = !options.sendsContinue
    cOptions.receive_buffer = Int32(clamping: options.receiveBuffer ?? 0)
    cOptions.send_buffer = Int32(clamping: options.sendBuffer ?? 0)
    cOptions.received_limit = max(1, options.receivedLimit)
    cOptions.body_limit = max(1, options.bodyLimit)
    cOptions.head_limit = max(1, options.headLimit)
    cOptions.record_limit = max(1, options.recordLimit)
    guard let tls else { return body(&cOptions) }
    return withCTLS(tls) { cTLS in
        cOptions.tls = cTLS
        return body(&cOptions)
    }
}

private func withCTLS<Result>(_ tls: TestServer.TLS, _ body: (UnsafePointer<afts_tls>) -> Result) -> Result {
    let strings = CStrings()
    let ocsp = [UInt8](tls.ocspResponse ?? Data())
    return ocsp.withUnsafeBufferPointer { ocsp in
        var cTLS = afts_tls()
        cTLS.chain_pem = strings.copy(tls.chainPEM)
        cTLS.key_pem = strings.copy(tls.keyPEM)
        cTLS.min_version = cVersion(tls.minimumVersion)
        cTLS.max_version = cVersion(tls.maximumVersion)
        cTLS.alpn = strings.copy(tls.alpn.isEmpty ? nil : tls.alpn.joined(separator: ","))
        cTLS.ciphers = strings.copy(tls.ciphers)
        cTLS.client_ca_pem = strings.copy(tls.clientAuthorityPEM)
        cTLS.client_certificate_required = tls.requiresClientCertificate
        cTLS.no_tickets = !tls.usesTickets
        cTLS.no_resumption = !tls.resumesSessions
        cTLS.ocsp_response = tls.ocspResponse == nil ? nil : ocsp.baseAddress
        cTLS.ocsp_response_size = ocsp.count
        return withExtendedLifetime(strings) { body(&cTLS) }
    }
}

private func cVersion(_ version: TestServer.TLSVersion?) -> afts_tls_version {
    switch version {
    case .v1_0: AFTS_TLS_1_0
    case .v1_1: AFTS_TLS_1_1
    case .v1_2: AFTS_TLS_1_2
    case .v1_3: AFTS_TLS_1_3
    case nil: AFTS_TLS_ANY
    }
}

/// Owns the C strings that the fields of a C struct point to.
final class CStrings {
    private var owned: [UnsafeMutableBufferPointer<CChar>] = []

    func copy(_ string: String?) -> UnsafePointer<CChar>? {
        guard let characters = string?.utf8CString else { return nil }
        let buffer = UnsafeMutableBufferPointer<CChar>.allocate(capacity: characters.count)
        _ = buffer.initialize(from: characters)
        owned.append(buffer)
        return UnsafePointer(buffer.baseAddress)
    }

    deinit {
        for buffer in owned {
            buffer.deallocate()
        }
    }
}
