internal import CAFCore
import FoundationEssentials

extension SessionError.Code {
    /// Maps a status of the core to an error code; no other place does. The core's enum is open, and `@unknown default`
    /// makes the compiler warn here when a status is added.
    init(_ status: afc_status) {
        self =
            switch status {
            case .AFC_EINVAL: .invalidInput
            case .AFC_ENOMEM: .outOfMemory
            case .AFC_ECANCELED: .cancelled
            case .AFC_EDNS: .dns
            case .AFC_ECONNECT: .connect
            case .AFC_ELOST: .connectionLost
            case .AFC_ETRUNCATED: .truncated
            case .AFC_EPROTOCOL: .protocol
            case .AFC_EREDIRECT: .redirect
            case .AFC_ETIMEOUT: .timeout
            case .AFC_EUNTRUSTED: .untrusted
            case .AFC_ETLS: .tls
            case .AFC_ETOOBIG: .tooLarge
            case .AFC_EAUTH: .authentication
            case .AFC_EFILE: .file
            case .AFC_EREPLAY: .bodyNotReplayable
            case .AFC_ESOURCE: .bodySource
            case .AFC_EUNSUPPORTED: .unsupported
            case .AFC_ECLOSED: .closed
            case .AFC_OK, .AFC_EAGAIN, .AFC_EINTERNAL: .unknown
            @unknown default: .unknown
            }
    }

    /// The core's explanation of this code; nil for a code that only Swift has.
    var coreExplanation: String? { Self.coreExplanations[self] }

    private static let coreExplanations: [Self: String] = {
        var texts: [Self: String] = [:]
        // The numbers of statuses have no gaps: the first unknown name is the end.
        for number in 1... {
            guard let status = afc_status(rawValue: Int32(-number)) else { break }
            let name = String(cString: afc_status_name(status))
            guard name != Self.unknown.rawValue else { break }
            // A status whose name isn't that of its code has none of its own: it is `unknown` to the callers of this
            // module.
            if Self(status).rawValue == name { texts[Self(status)] = String(cString: afc_status_text(status)) }
        }
        return texts
    }()
}

extension SessionError.Reason {
    init?(_ timeout: afc_timeout) {
        switch timeout {
        case .AFC_TIMEOUT_NONE: return nil
        case .AFC_TIMEOUT_CONNECT: self = .connect
        case .AFC_TIMEOUT_IDLE: self = .idle
        case .AFC_TIMEOUT_TOTAL: self = .total
        @unknown default: self = .other
        }
    }

    /// Maps the core's reasons other than time limits and trust, by name.
    init?(_ reason: afc_reason) {
        guard reason != .AFC_REASON_NONE else { return nil }
        self.init(rawValue: String(cString: afc_reason_name(reason)))
    }

    init?(_ reason: afc_trust_reason) {
        switch reason {
        case .AFC_TRUST_ACCEPTED: return nil
        case .AFC_TRUST_EXPIRED: self = .expired
        case .AFC_TRUST_NOT_YET_VALID: self = .notYetValid
        case .AFC_TRUST_WRONG_HOST: self = .wrongHost
        case .AFC_TRUST_SELF_SIGNED: self = .selfSigned
        case .AFC_TRUST_UNKNOWN_ISSUER: self = .unknownIssuer
        case .AFC_TRUST_PIN: self = .pin
        case .AFC_TRUST_REVOKED: self = .revoked
        case .AFC_TRUST_WEAK: self = .weak
        case .AFC_TRUST_OTHER: self = .other
        case .AFC_TRUST_UNTRUSTED_ROOT: self = .untrustedRoot
        case .AFC_TRUST_NAME_CONSTRAINT: self = .nameConstraint
        case .AFC_TRUST_PURPOSE: self = .purpose
        case .AFC_TRUST_PATH_LENGTH: self = .pathLength
        case .AFC_TRUST_NOT_AN_AUTHORITY: self = .notAnAuthority
        case .AFC_TRUST_BAD_SIGNATURE: self = .badSignature
        case .AFC_TRUST_UNKNOWN_REVOCATION: self = .unknownRevocation
        case .AFC_TRUST_MALFORMED: self = .malformed
        case .AFC_TRUST_HANDLER: self = .handler
        @unknown default: self = .other
        }
    }
}

extension SessionError.Party {
    init?(_ party: afc_party) {
        switch party {
        case .AFC_PARTY_NONE: return nil
        case .AFC_PARTY_SERVER: self = .server
        case .AFC_PARTY_PROXY: self = .proxy
        case .AFC_PARTY_RESOLVER: self = .resolver
        @unknown default: return nil
        }
    }
}

extension SessionError {
    /// Creates the error of a failure in the core.
    init(_ failure: afc_failure, url: String? = nil, response: HTTPResponse? = nil, body: Data? = nil) {
        let message = String.fromCArray(failure.text)
        self.init(
            Code(failure.status), reason: Reason(failure.reason) ?? Reason(failure.timeout) ?? Reason(failure.trust),
            message: message.isEmpty ? nil : message, url: url, response: response, body: body)
        party = Party(failure.party)
        if failure.system_error != 0 { systemError = failure.system_error }
        if failure.curl_code != 0 { curlCode = failure.curl_code }
    }
}
