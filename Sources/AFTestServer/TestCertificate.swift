import CAFTestServer
public import FoundationEssentials

/// A certificate with its private key, made in memory.
///
/// ```swift
/// let authority = try TestCertificate.makeAuthority()
/// let expired = try authority.issue(hosts: ["localhost"], validity: .expired)
/// let server = try TestServer(tls: .init(expired))
/// ```
public final class TestCertificate: Sendable {
    /// When a certificate is valid.
    public struct Validity: Sendable, Hashable {
        /// Seconds from now; negative in the past.
        public let start: Int64
        /// Seconds from now; negative in the past.
        public let end: Int64

        /// From a start to an end, relative to now.
        public init(from start: Duration, to end: Duration) {
            self.start = start.components.seconds
            self.end = end.components.seconds
        }

        /// From a day ago for a year.
        public static let current = Validity(from: .seconds(-86_400), to: .seconds(365 * 86_400))
        /// Over since an hour ago.
        public static let expired = Validity(from: .seconds(-86_400), to: .seconds(-3600))
        /// From tomorrow on.
        public static let notYetValid = Validity(from: .seconds(86_400), to: .seconds(2 * 86_400))
    }

    /// The kind of key.
    public enum Key: Sendable, Hashable {
        /// ECDSA on P-256.
        case p256
        /// RSA with 2048 bits.
        case rsa2048
    }

    /// What an OCSP responder says about a certificate.
    public enum OCSPStatus: Sendable, Hashable {
        case good, revoked, unknown
    }

    /// localhost and both loopback addresses.
    public static let loopbackHosts = ["localhost", "127.0.0.1", "::1"]

    /// The C certificate, which is immutable.
    private struct Handle: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private let handle: Handle

    /// The certificate alone, as PEM.
    public var pem: String { String(cString: afts_cert_pem(handle.pointer)) }

    /// The certificate and its intermediates without the root, as PEM: what a server presents.
    public var chainPEM: String { String(cString: afts_cert_chain_pem(handle.pointer)) }

    /// The private key, as PEM (PKCS #8).
    public var keyPEM: String { String(cString: afts_cert_key_pem(handle.pointer)) }

    /// The certificate, as DER.
    public var der: Data {
        var count = 0
        guard let start = afts_cert_der(handle.pointer, &count) else { return Data() }
        return Data(bytes: start, count: count)
    }

    /// SHA-256 of the public key info, 32 bytes: what a pin compares.
    public var publicKeySHA256: Data {
        guard let start = afts_cert_spki_sha256(handle.pointer) else { return Data() }
        return Data(bytes: start, count: 32)
    }

    /// Makes a self-signed authority.
    ///
    /// - Throws: ``TestServerError`` when OpenSSL refuses.
    public static func makeAuthority(
        commonName: String = "Test Authority", validity: Validity = .current, key: Key = .p256
    ) throws -> TestCertificate {
        try TestCertificate(
            commonName: commonName, hosts: nil, validity: validity, key: key, authority: true, client: false,
            issuer: nil)
    }

    /// Makes a self-signed certificate for a server.
    ///
    /// - Throws: ``TestServerError`` when OpenSSL refuses.
    public static func makeSelfSigned(
        hosts: [String] = loopbackHosts, validity: Validity = .current, key: Key = .p256
    ) throws -> TestCertificate {
        try TestCertificate(
            commonName: nil, hosts: hosts, validity: validity, key: key, authority: false, client: false,
            issuer: nil)
    }

    /// Issues a certificate for a server.
    ///
    /// - Parameters:
    ///   - hosts: names, wildcards and IP addresses. None: no alternative names at all.
    ///   - commonName: the subject's; nil for the first host.
    /// - Throws: ``TestServerError`` when OpenSSL refuses.
    public func issue(
        hosts: [String] = loopbackHosts, commonName: String? = nil, validity: Validity = .current, key: Key = .p256
    ) throws -> TestCertificate {
        try TestCertificate(
            commonName: commonName, hosts: hosts, validity: validity, key: key, authority: false, client: false,
            issuer: self)
    }

    /// Issues a certificate for a client.
    ///
    /// - Throws: ``TestServerError`` when OpenSSL refuses.
    public func issueClient(commonName: String, validity: Validity = .current) throws -> TestCertificate {
        try TestCertificate(
            commonName: commonName, hosts: [], validity: validity, key: .p256, authority: false, client: true,
            issuer: self)
    }

    /// Issues an intermediate authority.
    ///
    /// - Throws: ``TestServerError`` when OpenSSL refuses.
    public func issueAuthority(
        commonName: String = "Test Intermediate", validity: Validity = .current
    ) throws -> TestCertificate {
        try TestCertificate(
            commonName: commonName, hosts: nil, validity: validity, key: .p256, authority: true, client: false,
            issuer: self)
    }

    /// Makes an OCSP response about a certificate that this one has issued, valid from an hour ago for a
    /// day.
    ///
    /// - Throws: ``TestServerError`` when OpenSSL refuses.
    public func ocspResponse(for certificate: TestCertificate, status: OCSPStatus = .good) throws -> Data {
        let cStatus =
            switch status {
            case .good: AFTS_OCSP_GOOD
            case .revoked: AFTS_OCSP_REVOKED
            case .unknown: AFTS_OCSP_UNKNOWN
            }
        var count = 0
        guard let bytes = afts_cert_ocsp(certificate.handle.pointer, handle.pointer, cStatus, 0, 0, &count) else {
            throw TestServerError(message: "the OCSP response can't be made")
        }
        defer { afts_bytes_free(bytes) }
        return Data(bytes: bytes, count: count)
    }

    private init(
        commonName: String?, hosts: [String]?, validity: Validity, key: Key, authority: Bool, client: Bool,
        issuer: TestCertificate?
    ) throws {
        let strings = CStrings()
        var options = afts_cert_options()
        options.common_name = strings.copy(commonName)
        options.hosts = strings.copy(hosts?.joined(separator: ","))
        options.not_before_s = validity.start
        options.not_after_s = validity.end
        options.authority = authority
        options.client = client
        options.rsa = key == .rsa2048
        let made = withExtendedLifetime((strings, issuer)) { afts_cert_new(&options, issuer?.handle.pointer) }
        guard let made else { throw TestServerError(message: "the certificate can't be made") }
        handle = Handle(pointer: made)
    }

    deinit {
        afts_cert_free(handle.pointer)
    }
}
