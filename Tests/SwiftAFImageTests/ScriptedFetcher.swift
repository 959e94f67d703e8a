import FoundationEssentials
import SwiftAF
import SwiftAFImage

/// Answers with sizes that ``TextDecoder`` reads, when it is told to; notes how many it works on.
final class ScriptedFetcher: ImageFetching {
    struct Record {
        var active = 0
        var peakActive = 0
        var perURL: [String: Int] = [:]
        var twiceAtATime = false
        var fetched: [String] = []
    }

    private let record = Locked(Record())
    private let gate: Gate?
    private let status: Int

    init(gate: Gate? = nil, status: Int = 200) {
        self.gate = gate
        self.status = status
    }

    var snapshot: Record { record.withLock { $0 } }

    func fetch(_ request: HTTPRequest) async throws(SessionError) -> Response<Data> {
        let url = request.url
        record.withLock { record in
            record.active += 1
            record.peakActive = max(record.peakActive, record.active)
            record.perURL[url, default: 0] += 1
            if record.perURL[url, default: 0] > 1 { record.twiceAtATime = true }
            record.fetched.append(url)
        }
        await gate?.pass()
        await Task.yield()
        record.withLock { record in
            record.active -= 1
            record.perURL[url, default: 0] -= 1
        }
        if Task.isCancelled { throw SessionError(.cancelled) }
        let response = HTTPResponse(status: status, headers: ["Content-Type": "image/png"], url: url)
        return Response(head: response, body: Data("4x2".utf8))
    }
}

/// Holds tasks until it is opened.
final class Gate: Sendable {
    private let state = Locked((isOpen: false, waiting: [CheckedContinuation<Void, Never>]()))

    func pass() async {
        await withCheckedContinuation { continuation in
            let passes = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if passes { continuation.resume() }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isOpen = true
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
