import Dispatch

/// The events that the monitors of a manager haven't been notified of, in order.
///
/// Most events come in groups, such as created, resumed and sent. A group is one block of the queue, because a block
/// for each event would cost three allocations each.
final class MonitorQueue: Sendable {
    /// What a group of monitors is notified of.
    enum Notice: Sendable {
        case request(RequestEvent, MonitoredRequest, MonitorGroup)
        case invalidated(MonitorGroup)
    }

    private struct State {
        var notices: [Notice] = []
        /// Empty: the memory of delivered notices, to be used again.
        var spare: [Notice] = []
        /// Whether a block that delivers them is in the queue.
        var isScheduled = false
    }

    /// The most notices whose memory is kept. Each takes several hundred bytes.
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
            // Notices whose block comes after this one are delivered here.
            queue.async {
                self.deliver()
                continuation.resume()
            }
        }
    }

    /// Delivers what has been added until now; later notices get a block of their own. On the queue.
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
