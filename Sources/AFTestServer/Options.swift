import CAFTestServer
public import FoundationEssentials

extension TestServer {
    /// Limits, buffers, and the address family.
    public struct Options: Sendable {
        /// Listen on ::1 in place of 127.0.0.1.
        public var usesIPv6 = false
        /// Never complete a TCP handshake: a client's connect hangs until its own time limit.
        public var isUnreachable = false
        /// Answer "Expect: 100-continue" by 100 before reading a body (except in scripts that read the
        /// head only).
        public var sendsContinue = true
        /// SO_RCVBUF of every connection, in bytes; nil for the system's. A small one makes uploads meet
        /// a full window early.
        public var receiveBuffer: Int?
        /// SO_SNDBUF of every connection, in bytes; nil for the system's.
        public var sendBuffer: Int?
        /// Received bytes kept per connection; more are only counted.
        public var receivedLimit = 1 << 20
        /// Body bytes kept per request; more are only counted.
        public var bodyLimit = 1 << 20
        /// Bytes of the longest request head; a longer one is answered by 431.
        public var headLimit = 256 << 10
        /// Requests and connections kept in the record; more are only counted.
        public var recordLimit = 4096

        /// The defaults.
        public init() {}
    }

    /// A TLS protocol version.
    public enum TLSVersion: Sendable, Hashable {
        case v1_0, v1_1, v1_2, v1_3
    }

    /// How a server speaks TLS.
    public struct TLS: Sendable {
        /// The certificates to present, leaf first, as PEM.
        public var chainPEM: String
        /// The leaf's private key, as PEM.
        public var keyPEM: String
        /// The lowest version spoken; nil for TLS 1.2.
        public var minimumVersion: TLSVersion?
        /// The highest version spoken; nil for all that OpenSSL knows.
        public var maximumVersion: TLSVersion?
        /// Protocols for ALPN in order of preference; empty for none.
        public var alpn: [String] = []
        /// OpenSSL cipher list for TLS 1.2 and below; nil for OpenSSL's default.
        public var ciphers: String?
        /// Authorities of client certificates, as PEM. Set: a certificate is requested.
        public var clientAuthorityPEM: String?
        /// Refuse a client without a certificate.
        public var requiresClientCertificate = false
        /// Send stateless session tickets. Without them a session resumes by the server's cache.
        public var usesTickets = true
        /// Let sessions resume.
        public var resumesSessions = true
        /// An OCSP response to staple when the client asks: see
        /// ``TestCertificate/ocspResponse(for:status:)``.
        public var ocspResponse: Data?

        /// TLS with a certificate made for the test.
        public init(_ certificate: TestCertificate) {
            self.init(chainPEM: certificate.chainPEM, keyPEM: certificate.keyPEM)
        }

        /// TLS with a given certificate.
        public init(chainPEM: String, keyPEM: String) {
            self.chainPEM = chainPEM
            self.keyPEM = keyPEM
        }
    }
}

/// Calls `body` with options in the C form, which live until it returns.
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

/// Owns C strings for the fields of a C struct.
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
