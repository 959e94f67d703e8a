import FoundationEssentials
import SwiftAF

/// Performs a TLS handshake with a server and examines its certificates. No request is sent.
struct TrustRun {
    /// HOST[:PORT]
    let authority: String
    let options: Options
    let environment: [String: String]

    func run() async throws(Failure) -> Outcome {
        let url = "https://\(authority)/"
        var configuration = try options.configuration(for: [url], environment)
        let seen = Seen()
        configuration.securityPolicy.handler = TrustHandler { report in
            seen.note(report)
            // The certificate is refused in any case, so that no request is sent.
            return .refuse
        }
        var context = options.adviceContext
        context.showsCertificates = true
        let manager = HTTPSessionManager(configuration: configuration)
        var request = HTTPRequest(.head, url)
        request.timeouts = options.timeouts
        if let deadline = Deadline.current { request.timeouts.total = deadline.limitFromNow }
        let failure: Failure
        do throws(SessionError) {
            _ = try await manager.response(for: request)
            failure = Failure(SessionError(.unknown, message: "the server showed no certificate"))
        } catch {
            failure = Failure(error, in: context)
        }
        guard let report = seen.report else {
            return Outcome(.transfer(TransferOutcome(url: request.url)), failure: failure)
        }
        var outcome = Outcome(.trust(report, url: request.url))
        if !report.isAccepted {
            let error = SessionError(.untrusted, reason: report.reason, message: report.message)
            outcome.failure = Failure(error, in: context)
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
