internal import CAFCore
import FoundationEssentials

extension TrustReport {
    init(_ report: afc_trust_report) {
        self.init(
            isAccepted: report.is_accepted,
            reason: SessionError.Reason(report.reason),
            depth: Int(report.depth),
            message: String(cString: report.text),
            pinning: PinOutcome(report.pins),
            isVerified: report.is_verified,
            host: String(cString: report.host),
            chain: UnsafeBufferPointer(start: report.chain, count: report.chain_count).map(TrustCertificate.init))
    }
}

extension TrustReport.PinOutcome {
    fileprivate init(_ outcome: afc_pin_outcome) {
        switch outcome {
        case .AFC_PINS_NONE: self = .none
        case .AFC_PINS_MATCHED: self = .matched
        case .AFC_PINS_MISSED: self = .missed
        case .AFC_PINS_EXPIRED: self = .expired
        case .AFC_PINS_REPORTED: self = .reported
        @unknown default: self = .none
        }
    }
}

extension TrustCertificate {
    fileprivate init(_ one: afc_trust_certificate) {
        let names = UnsafeBufferPointer(start: one.names, count: one.name_count)
        self.init(
            der: Data(one.der.buffer),
            subject: String(cString: one.subject),
            issuer: String(cString: one.issuer),
            serial: String(cString: one.serial),
            key: String(cString: one.key),
            signature: String(cString: one.signature),
            notBefore: Date(timeIntervalSince1970: TimeInterval(one.not_before_s)),
            notAfter: Date(timeIntervalSince1970: TimeInterval(one.not_after_s)),
            names: names.compactMap { $0.map { String(cString: $0) } },
            pin: String.fromCArray(one.pin),
            fingerprint: String.fromCArray(one.fingerprint))
    }
}
