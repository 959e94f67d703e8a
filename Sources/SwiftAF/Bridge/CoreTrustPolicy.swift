internal import CAFCore
import FoundationEssentials

/// Owns one reference to a trust policy of the core, which never changes.
final class CoreTrustPolicy: @unchecked Sendable {
    let raw: OpaquePointer

    /// - Throws: ``SessionError/Code/invalidInput`` for anchors that can't be read as certificates,
    ///   ``SessionError/Code/file`` for an unreadable file of them.
    init(_ policy: SecurityPolicy) throws(SessionError) {
        let anchors = try policy.anchors.pem()
        var failure = af_failure()
        var raw: OpaquePointer?
        let status = anchors.withUnsafeBytes { anchors in
            var options = af_trust_options()
            options.size = MemoryLayout<af_trust_options>.stride
            options.anchors = af_slice(anchors)
            options.everywhere.allow_invalid_certificates = policy.allowsInvalidCertificates
            options.everywhere.skip_host_check = !policy.validatesDomainName
            return af_trust_policy_new(&raw, &options, &failure)
        }
        guard status == .AF_OK, let raw else { throw SessionError(failure) }
        self.raw = raw
    }

    deinit {
        af_trust_policy_release(raw)
    }
}

extension TrustAnchors {
    /// The certificates as PEM text, empty for the system's.
    fileprivate func pem() throws(SessionError) -> Data {
        switch self {
        case .system:
            return Data()
        case .pem(let data):
            guard !data.isEmpty else {
                throw SessionError(.invalidInput, message: "there are no certificates to trust")
            }
            return data
        case .file(let path):
            return try Self.read(path)
        }
    }

    private static func read(_ path: String) throws(SessionError) -> Data {
        do {
            let data = try Data(contentsOf: URL(filePath: path))
            guard !data.isEmpty else { throw SessionError(.file, message: "\(path) is empty") }
            return data
        } catch let error as SessionError {
            throw error
        } catch {
            throw SessionError(.file, message: "cannot read the certificates in \(path)", underlying: error)
        }
    }
}
