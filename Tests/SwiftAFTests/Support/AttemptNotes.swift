import AFTestServer

@testable import SwiftAF

/// Notes what is sent, retried and finished, with the status.
struct AttemptNotes: EventMonitor {
    let events = Recorder<String>()

    func requestSent(_ request: MonitoredRequest, as sent: HTTPRequest, attempt: Int) { events.record("sent") }
    func requestRetried(_ request: MonitoredRequest, after outcome: AttemptOutcome, delay: Duration) {
        events.record("retried \(outcome.status ?? 0)")
    }
    func requestFinished(_ request: MonitoredRequest, with result: RequestResult) {
        events.record("finished \(result.response?.status ?? 0)")
    }
}
