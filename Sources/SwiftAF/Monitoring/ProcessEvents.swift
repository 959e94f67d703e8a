package import FoundationEssentials
import Synchronization

/// Something that happened to a manager, a task or the network: for observers of the whole process, such as what is
/// built above the library. ``EventMonitor`` is for the requests of one manager; ``RequestEvents`` reports to both.
package enum ProcessEvent: Sendable {
    /// A task went from not running to running.
    case taskResumed(SessionTask)
    /// A task went from running to suspended.
    case taskSuspended(SessionTask)
    /// A task is over. Reported on its completion queue, after the completion handler.
    case taskCompleted(SessionTask, TaskCompletion)
    /// A manager takes no more requests, and has cancelled those in flight if it was asked to.
    case managerInvalidated(HTTPSessionManager)
    /// A downloaded file is in its place. Without a task if the download was awaited.
    case downloadMoved(SessionTask?)
    /// A downloaded file could not be put in its place.
    case downloadNotMoved(SessionTask?, SessionError)
    /// A transfer begins that has no task, because it is awaited or streamed. Its number is no task's.
    case transferBegan(UInt64, HTTPRequest)
    /// Such a transfer is over. Reported to those who observe then.
    case transferEnded(UInt64)
    /// Reported on the manager's callback queue, after its handler.
    case reachabilityChanged(NetworkReachabilityManager, NetworkReachability)
}

/// The observers of the process. Without any, an event costs one relaxed load.
package enum ProcessEvents {
    /// Called where an event happens, outside of any lock, so it must not block.
    package typealias Observer = @Sendable (ProcessEvent) -> Void

    private static let hasObservers = Atomic(false)
    private static let observers = Locked(Registry<Observer>())

    package static var isObserved: Bool { hasObservers.load(ordering: .relaxed) }

    /// Returns what ``remove(_:)`` takes.
    package static func add(_ observer: @escaping Observer) -> Int {
        observers.withLock { observers in
            hasObservers.store(true, ordering: .relaxed)
            // The registry is never closed.
            return observers.add(observer) ?? 0
        }
    }

    /// An event that happens at the same time may still be reported.
    package static func remove(_ id: Int) {
        observers.withLock { observers in
            observers.remove(id)
            hasObservers.store(!observers.isEmpty, ordering: .relaxed)
        }
    }

    /// Calls the observers in the order in which they were added.
    package static func report(_ event: @autoclosure () -> ProcessEvent) {
        guard isObserved else { return }
        let event = event()
        for observer in observers.withLock({ $0.all }) { observer(event) }
    }
}

/// How a task ended.
package struct TaskCompletion: Sendable {
    /// The body in memory; empty if none came, or if it went into a file.
    package var body: Data
    /// The file that the task was to write, nil if it was none.
    package var filePath: String?
    /// What the serializer made of the body.
    package var value: (any Sendable)?
    /// Why the task or its serializer failed.
    package var error: SessionError?
    /// The serializer that was asked.
    package var serializer: any ResponseSerializer
    /// Times and sizes, as far as the task got.
    package var metrics: ResponseMetrics

    package init(
        body: Data, filePath: String? = nil, value: (any Sendable)? = nil, error: SessionError? = nil,
        serializer: any ResponseSerializer, metrics: ResponseMetrics = ResponseMetrics()
    ) {
        self.body = body
        self.filePath = filePath
        self.value = value
        self.error = error
        self.serializer = serializer
        self.metrics = metrics
    }
}
