import SwiftAF

/// Waits until all events of a manager were delivered to its monitors.
final class MonitorDrain: EventMonitor {
    private let waiting = Locked<CheckedContinuation<Void, Never>?>(nil)

    func managerInvalidated() {
        waiting.withLock { $0 }?.resume()
    }

    /// Invalidates the manager, and waits until all of its events are delivered.
    func drain(_ manager: HTTPSessionManager) async {
        await withCheckedContinuation { continuation in
            waiting.withLock { $0 = continuation }
            manager.invalidate(cancellingTasks: false)
        }
    }
}
