import AFTestServer
import Testing

@testable import SwiftAF

/// Notes events by name, with what matters of them.
struct EventNotes: EventMonitor {
    let events = Recorder<String>()
    let ends = Recorder<(MonitoredRequest, RequestResult)>()

    func requestCreated(_ request: MonitoredRequest) { events.record("created") }
    func requestResumed(_ request: MonitoredRequest) { events.record("resumed") }
    func requestSuspended(_ request: MonitoredRequest) { events.record("suspended") }
    func requestSent(_ request: MonitoredRequest, as sent: HTTPRequest, attempt: Int) {
        events.record("sent \(attempt) \(sent.headers["X-Attempt"] ?? "-")")
    }
    func requestRedirected(
        _ request: MonitoredRequest, by proposal: RedirectProposal, decision: RedirectDecision
    ) {
        events.record("redirected \(proposal.response.status)")
    }
    func requestChallenged(_ request: MonitoredRequest, by response: HTTPResponse) { events.record("challenged") }
    func challengeAnswered(_ request: MonitoredRequest, _ challenge: AuthenticationChallenge) {
        let space = challenge.protectionSpace
        #expect(challenge.proposedCredential == nil)
        events.record("by \(space.authenticationScheme) \(space.realm)\(space.isProxy ? " of a proxy" : "")")
    }
    func responseReceived(_ request: MonitoredRequest, _ response: HTTPResponse) {
        events.record("answered \(response.status)")
    }
    func requestRetried(_ request: MonitoredRequest, after outcome: AttemptOutcome, delay: Duration) {
        events.record("retried \(outcome.status ?? 0) \(delay == .zero)")
    }
    func metricsCollected(_ request: MonitoredRequest, _ metrics: ResponseMetrics) {
        events.record("metrics \(metrics.hops.count)")
    }
    func requestCancelled(_ request: MonitoredRequest) { events.record("cancelled") }
    func requestFinished(_ request: MonitoredRequest, with result: RequestResult) {
        events.record("finished \(result.error.map { $0.code.rawValue } ?? "")")
        ends.record((request, result))
    }
    func managerInvalidated() { events.record("invalidated") }
}
