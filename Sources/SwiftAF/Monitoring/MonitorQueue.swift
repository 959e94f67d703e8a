import Dispatch

/// Notifies the monitors of a manager of events, in order, on a queue of its own. Adding an event never blocks.
///
/// Most events occur in groups, such as created, resumed and sent. One block on the dispatch queue delivers a whole
/// group, because a block for each event would cost three allocations.
final class MonitorQueue: Sendable {
    /// A notification of a group of monitors.
    enum Notice: Sendable {
        case request(RequestEvent, MonitoredRequest, MonitorGroup)
        case invalidated(MonitorGroup)
    }

    private struct State {
        var notices: [Notice] = []
        /// An empty array, whose memory is reused for the next notices.
        var spare: [Notice] = []
        /// Whether a block that delivers them is in the queue.
        var isScheduled = false
    }

    /// The maximum number of notices whose memory is kept. Each takes several hundred bytes.
    private static let spareCapacity = 16

    private let queue = DispatchQueue(label: "swiftaf.monitors")
    private let state = Locked(State())

    func add(_ notice: Notice) {
        let mustSchedule = state.withLock { state in
            state.notices.append(notice)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { queue.async { self.deliver() } }
    }

    /// Waits until everything that was added so far is delivered.
    func flush() async {
        await withCheckedContinuation { continuation in
            // Delivers all notices added so far, also those whose block is behind this one in the queue.
            queue.async {
                self.deliver()
                continuation.resume()
            }
        }
    }

    /// Delivers the notices added so far; later ones get another block. Called on the queue.
    private func deliver() {
        var notices = state.withLock { state in
            defer { state = State(notices: state.spare) }
            return state.notices
        }
        for notice in notices {
            switch notice {
            case .request(let event, let request, let group):
                for monitor in group.monitors { monitor.notify(event, of: request) }
            case .invalidated(let group):
                for monitor in group.monitors { monitor.managerInvalidated() }
            }
        }
        guard notices.capacity <= Self.spareCapacity else { return }
        notices.removeAll(keepingCapacity: true)
        state.withLock { [notices] in $0.spare = notices }
    }
}
