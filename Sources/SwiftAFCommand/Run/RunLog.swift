import SwiftAF

/// Records events of the current attempt of a run.
final class RunLog: EventMonitor {
    private struct State {
        var locations: [String] = []
        var metrics: ResponseMetrics?
        var trailers: HTTPHeaders?
        var requestHead: String?
    }

    private let state = Locked(State())

    /// The metrics of a response that was printed while it was received; known at its end.
    var metrics: ResponseMetrics? { state.withLock { $0.metrics } }

    /// The trailers of such a response.
    var trailers: HTTPHeaders? { state.withLock { $0.trailers } }

    /// The head of the last request, if it is printed at the end.
    var requestHead: String? {
        get { state.withLock { $0.requestHead } }
        set { state.withLock { $0.requestHead = newValue } }
    }

    /// The Location fields of the redirects.
    var locations: [String] { state.withLock { $0.locations } }

    /// Called when an attempt starts.
    @Sendable func begin() {
        state.withLock { $0.locations = [] }
    }

    func note(_ proposal: RedirectProposal) {
        let location = proposal.response.headers.first(named: .location) ?? ""
        state.withLock { $0.locations.append(location) }
    }

    func requestFinished(_ request: MonitoredRequest, with result: RequestResult) {
        state.withLock {
            $0.metrics = result.metrics.hops.isEmpty ? nil : result.metrics
            $0.trailers = result.response?.trailers
        }
    }
}
