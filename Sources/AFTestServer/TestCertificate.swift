import CAFTestServer
public import FoundationEssentials

/// A certificate with its private key, generated in memory.
///
/// ```swift
/// let authority = try TestCertificate.makeAuthority()
/// let expired = try authority.issue(hosts: ["localhost"], validity: .expired)
/// let server = try TestServer(tls: .init(expired))
/// ```
public final class TestCertificate: Sendable {
    /// The validity period of a certificate.
    public struct Validity: Sendable, Hashable {
        /// The start in seconds from now; negative for the past.
        public let start: Int64
        /// The end in seconds from now; negative for the past.
        public let end: Int64

        /// Creates a period with a start and an end, relative to now.
        public init(from start: Duration, to end: Duration) {
            self.start = start.components.seconds
            self.end = end.components.seconds
        }

        /// Started a day ago, ends in a year.
        public static let current = Validity(from: .seconds(-86_400), to: .seconds(365 * 86_400))
        /// Expired an hour ago.
        public static let expired = Validity(from: .seconds(-86_400), to: .seconds(-3600))
        /// Starts tomorrow.
        public static let notYetValid = Validity(from: .seconds(86_400), to: .seconds(2 * 86_400))
    }

    /// The type of the private key.
    public enum Key: Sendable, Hashable {
        /// ECDSA on P-256.
        case p256
        /// RSA with 2048 bits.
        case rsa2048
    }

    /// The status of a certificate in an OCSP response.
    public enum OCSPStatus: Sendable, Hashable {
        /// The certificate isn't revoked.
        case good
        /// The certificate is revoked.
        case revoked
        /// The responder doesn't know the certificate.
        case unknown
    }

    /// localhost and the two loopback addresses.
    public static let loopbackHosts = ["localhost", "127.0.0.1", "::1"]

    /// The C certificate. It is immutable, so it can be shared between threads.
    private struct Handle: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private let handle: Handle

    /// The certificate alone, in PEM format.
    public var pem: String { String(cString: afts_cert_pem(handle.pointer)) }

    /// The certificate and its intermediates without the root, in PEM format: the chain that a server presents.
    public var chainPEM: String { String(cString: afts_cert_chain_pem(handle.pointer)) }

    /// The private key, in PEM format (PKCS #8).
    public var keyPEM: String { String(cString: afts_cert_key_pem(handle.pointer)) }

    /// The certificate, in DER format.
    public var der: Data {
        var count = 0
        guard let start = afts_cert_der(handle.pointer, &count) else { return Data() }
        return Data(bytes: start, count: count)
    }

    /// The SHA-256 hash of the public key info, 32 bytes: the value of a public key pin.
    public var publicKeySHA256: Data {
        guard let start = afts_cert_spki_sha256(handle.pointer) else { return Data() }
        return Data(bytes: start, count: 32)
    }

    /// Creates a self-signed certificate authority.
    ///
    /// - Throws: ``TestServerError`` if OpenSSL fails.
    public static func makeAuthority(
        commonName: String = "Test Authority", validity: Validity = .current, key: Key = .p256
    ) throws -> TestCertificate {
        try TestCertificate(
            commonName: commonName, hosts: nil, validity: validity, key: key, purpose: .authority, issuer: nil)
    }

    /// Creates a self-signed server certificate.
    ///
    /// - Throws: ``TestServerError`` if OpenSSL fails.
    public static func makeSelfSigned(
        hosts: [String] = loopbackHosts, validity: Validity = .current, key: Key = .p256
    ) throws -> TestCertificate {
        try TestCertificate(
            commonName: nil, hosts: hosts, validity: validity, key: key, purpose: .server, issuer: nil)
    }

    /// Issues a server certificate.
    ///
    /// - Parameters:
    ///   - hosts: DNS names, wildcards and IP addresses. If empty, the certificate has no subject alternative names.
    ///   - commonName: The common name of the subject; nil for the first host.
    ///   - validity: Whether it is valid now.
    ///   - key: The kind of its key.
    /// - Throws: ``TestServerError`` if OpenSSL fails.
    public func issue(
        hosts: [String] = loopbackHosts, commonName: String? = nil, validity: Validity = .current, key: Key = .p256
    ) throws -> TestCertificate {
        try TestCertificate(
            commonName: commonName, hosts: hosts, validity: validity, key: key, purpose: .server, issuer: self)
    }

    /// Issues a client certificate.
    ///
    /// - Throws: ``TestServerError`` if OpenSSL fails.
    public func issueClient(commonName: String, validity: Validity = .current) throws -> TestCertificate {
        try TestCertificate(
            commonName: commonName, hosts: [], validity: validity, key: .p256, purpose: .client, issuer: self)
    }

    /// Issues an intermediate certificate authority.
    ///
    /// - Throws: ``TestServerError`` if OpenSSL fails.
    public func issueAuthority(
        commonName: String = "Test Intermediate", validity: Validity = .current
    ) throws -> TestCertificate {
        try TestCertificate(
            commonName: commonName, hosts: nil, validity: validity, key: .p256, purpose: .authority, issuer: self)
    }

    /// Creates an OCSP response for a certificate issued by this one. It is valid for a day, starting an hour ago.
    ///
    /// - Throws: ``TestServerError`` if OpenSSL fails.
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

    /// Returns the private key in PEM format (PKCS #8), encrypted with a password.
    ///
    /// - Throws: ``TestServerError`` if OpenSSL fails.
    public func encryptedKeyPEM(password: String) throws -> String {
        guard let text = afts_cert_encrypted_key_pem(handle.pointer, password) else {
            throw TestServerError(message: "the key can't be encrypted")
        }
        defer { afts_bytes_free(text) }
        return String(cString: text)
    }

    private enum Purpose {
        case authority, server, client
    }

    private init(
        commonName: String?, hosts: [String]?, validity: Validity, key: Key, purpose: Purpose,
        issuer: TestCertificate?
    ) throws {
        let strings = CStrings()
        var options = afts_cert_options()
        options.common_name = strings.copy(commonName)
        options.hosts = strings.copy(hosts?.joined(separator: ","))
        options.not_before_s = validity.start
        options.not_after_s = validity.end
        options.authority = purpose == .authority
        options.client = purpose == .client
        options.rsa = key == .rsa2048
        let made = withExtendedLifetime((strings, issuer)) { afts_cert_new(&options, issuer?.handle.pointer) }
        guard let made else { throw TestServerError(message: "the certificate can't be made") }
        handle = Handle(pointer: made)
    }

    deinit {
        afts_cert_free(handle.pointer)
    }
}
