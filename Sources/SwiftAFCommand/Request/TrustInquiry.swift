import FoundationEssentials
import SwiftAF

/// Performs a TLS handshake with a server and examines its certificates. No request is sent.
struct TrustInquiry {
    /// HOST[:PORT]
    let authority: String
    let options: Options

    func run() async throws(Failure) -> Outcome {
        var configuration = try options.configuration()
        let seen = Seen()
        configuration.security.handler = TrustHandler { report in
            seen.note(report)
            // Refuse the certificate in any case, so that no request is sent.
            return .refuse
        }
        let manager = HTTPSessionManager(configuration: configuration)
        var request = HTTPRequest(.head, "https://\(authority)/")
        request.timeouts = options.timeouts
        let failure: Failure
        do throws(SessionError) {
            _ = try await manager.response(for: request)
            failure = Failure(SessionError(.unknown, message: "the server showed no certificate"))
        } catch {
            failure = Failure(error)
        }
        guard let report = seen.report else { throw failure }
        var outcome = Outcome()
        outcome.trust = report
        outcome.url = request.url
        if !report.isAccepted {
            outcome.failure = Failure(SessionError(.untrusted, reason: report.reason, message: report.message))
        }
        return outcome
    }

    private final class Seen: Sendable {
        private let first = Locked<TrustReport?>(nil)

        var report: TrustReport? { first.withLock { $0 } }

        func note(_ report: TrustReport) {
            first.withLock { $0 = $0 ?? report }
        }
    }
}

extension Options {
    /// Returns the part of the session configuration for proxies, TLS and trust.
    ///
    /// - Throws: If a file can't be read. The session itself would report that only after its creation.
    func configuration() throws(Failure) -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.proxies = proxies
        configuration.security.allowsInvalidCertificates = allowsInvalidCertificates
        configuration.security.validatesDomainName = validatesHostName
        if let path = anchorsPath {
            _ = try InputFile.bytes(path)
            let name = try InputFile.name(path)
            configuration.security.anchors = .file(name)
            configuration.proxySecurity.anchors = .file(name)
        }
        configuration.security.pinning.keys = pins
        for path in pinnedCertificatePaths {
            configuration.security.pinning.certificates.insert(try InputFile.bytes(path))
        }
        if !pins.isEmpty { configuration.security.pinningMode = .publicKey }
        if !pinnedCertificatePaths.isEmpty { configuration.security.pinningMode = .certificate }
        if let certificatePath {
            _ = try InputFile.bytes(certificatePath)
            if let keyPath { _ = try InputFile.bytes(keyPath) }
            let name = try InputFile.name(certificatePath)
            let keyName = try keyPath.map { path throws(Failure) in try InputFile.name(path) }
            configuration.tls.clientCertificates = [
                ClientCertificate(path: name, keyPath: keyName, password: keyPassword)
            ]
        }
        if let minimumTLS { configuration.tls.minimumVersion = minimumTLS }
        return configuration
    }
}
