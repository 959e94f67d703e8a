import FoundationEssentials
import SwiftAF

/// The output of `trust`: for people, and as JSON.
enum TrustText {
    static func text(_ report: TrustReport) -> String {
        var lines = ["host         \(report.host.printable)", "verdict      \(verdict(report))"]
        lines.append("chain        \(report.isVerified ? "verified" : "as the server sent it, not verified")")
        for depth in report.chain.indices { lines += [""] + self.lines(of: report, depth) }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns the lines about the certificates.
    static func chain(_ report: TrustReport) -> [String] {
        report.chain.indices.flatMap { lines(of: report, $0) }
    }

    private static func lines(of report: TrustReport, _ depth: Int) -> [String] {
        let certificate = report.chain[depth]
        return ["\(depth)  \(certificate.subject.printable)"] + fields(of: certificate)
    }

    /// Returns whether the server is trusted, and why not.
    static func verdict(_ report: TrustReport) -> String {
        let reason = Failure.name(of: report.reason).map {
            "\($0): \(report.message.printable) (certificate \(report.depth))"
        }
        switch (report.isAccepted, reason) {
        case (true, nil): return "accepted"
        case (true, let reason?): return "accepted, although \(reason)"
        case (false, let reason): return "refused, \(reason ?? "other")"
        }
    }

    private static func fields(of certificate: TrustCertificate) -> [String] {
        [
            "   issuer       \(certificate.issuer.printable)",
            "   valid        \(time(certificate.notBefore)) to \(time(certificate.notAfter))",
            "   names        \(certificate.names.isEmpty ? "none" : certificate.names.joined(separator: ", ").printable)",
            "   key          \(certificate.key), signed with \(certificate.signature)",
            "   fingerprint  \(certificate.fingerprint)",
            "   pin          \(certificate.pin)",
        ]
    }

    private static func time(_ date: Date) -> String {
        date.formatted(.iso8601)
    }

    static func value(_ report: TrustReport) -> JSONValue {
        [
            "accepted": .bool(report.isAccepted),
            "reason": Failure.name(of: report.reason).map { .string($0) } ?? .null,
            "message": .string(report.message),
            "depth": .integer(Int64(report.depth)),
            "host": .string(report.host),
            "verified": .bool(report.isVerified),
            "chain": .array(report.chain.map(value)),
        ]
    }

    private static func value(_ certificate: TrustCertificate) -> JSONValue {
        [
            "subject": .string(certificate.subject),
            "issuer": .string(certificate.issuer),
            "serial": .string(certificate.serial),
            "notBefore": .string(time(certificate.notBefore)),
            "notAfter": .string(time(certificate.notAfter)),
            "names": .array(certificate.names.map { .string($0) }),
            "key": .string(certificate.key),
            "signature": .string(certificate.signature),
            "fingerprint": .string(certificate.fingerprint),
            "pin": .string(certificate.pin),
        ]
    }
}
