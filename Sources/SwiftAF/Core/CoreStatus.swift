internal import CAFCore
import FoundationEssentials

extension SessionError.Code {
    /// Maps a status of the core to an error code. The only such mapping. The core's enum is open, so the compiler
    /// warns here when a status is added.
    init(_ status: af_status) {
        self =
            switch status {
            case .AF_EINVAL: .invalidInput
            case .AF_ENOMEM: .outOfMemory
            case .AF_ECANCELED: .cancelled
            case .AF_EDNS: .dns
            case .AF_ECONNECT: .connect
            case .AF_ELOST: .connectionLost
            case .AF_ETRUNCATED: .truncated
            case .AF_EPROTOCOL: .protocol
            case .AF_EREDIRECT: .redirect
            case .AF_ETIMEOUT: .timeout
            case .AF_EUNTRUSTED: .untrusted
            case .AF_ETLS: .tls
            case .AF_ETOOBIG: .tooLarge
            case .AF_EAUTH: .authentication
            case .AF_EFILE: .file
            case .AF_EREPLAY: .bodyNotReplayable
            case .AF_ESOURCE: .bodySource
            case .AF_EUNSUPPORTED: .unsupported
            case .AF_ECLOSED: .closed
            case .AF_OK, .AF_EAGAIN, .AF_EINTERNAL: .unknown
            @unknown default: .unknown
            }
    }
}

extension SessionError.Reason {
    init?(_ timeout: af_timeout) {
        switch timeout {
        case .AF_TIMEOUT_NONE: return nil
        case .AF_TIMEOUT_CONNECT: self = .connect
        case .AF_TIMEOUT_IDLE: self = .idle
        case .AF_TIMEOUT_TOTAL: self = .total
        @unknown default: self = .other
        }
    }

    init?(_ reason: af_trust_reason) {
        switch reason {
        case .AF_TRUST_ACCEPTED: return nil
        case .AF_TRUST_EXPIRED: self = .expired
        case .AF_TRUST_NOT_YET_VALID: self = .notYetValid
        case .AF_TRUST_WRONG_HOST: self = .wrongHost
        case .AF_TRUST_SELF_SIGNED: self = .selfSigned
        case .AF_TRUST_UNKNOWN_ISSUER: self = .unknownIssuer
        case .AF_TRUST_PIN: self = .pin
        case .AF_TRUST_REVOKED: self = .revoked
        case .AF_TRUST_WEAK: self = .weak
        case .AF_TRUST_OTHER: self = .other
        case .AF_TRUST_UNTRUSTED_ROOT: self = .untrustedRoot
        case .AF_TRUST_NAME_CONSTRAINT: self = .nameConstraint
        case .AF_TRUST_PURPOSE: self = .purpose
        case .AF_TRUST_PATH_LENGTH: self = .pathLength
        case .AF_TRUST_NOT_AN_AUTHORITY: self = .notAnAuthority
        case .AF_TRUST_BAD_SIGNATURE: self = .badSignature
        case .AF_TRUST_UNKNOWN_REVOCATION: self = .unknownRevocation
        case .AF_TRUST_MALFORMED: self = .malformed
        case .AF_TRUST_HOOK: self = .hook
        @unknown default: self = .other
        }
    }
}

extension SessionError {
    /// Makes the error of a failure in the core.
    init(_ failure: af_failure, url: String? = nil, response: HTTPResponse? = nil, body: Data? = nil) {
        let message = withUnsafeBytes(of: failure.text) { text in
            String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
        }
        self.init(
            Code(failure.status), reason: Reason(failure.timeout) ?? Reason(failure.trust),
            message: message.isEmpty ? nil : message, url: url, response: response, body: body)
        if failure.system_error != 0 { systemError = failure.system_error }
        if failure.curl_code != 0 { curlCode = failure.curl_code }
    }
}
