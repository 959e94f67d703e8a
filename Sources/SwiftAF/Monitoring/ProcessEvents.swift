package import FoundationEssentials
import Synchronization

/// An event of a manager, a task or the network, for observers of the whole process, such as other modules.
/// ``EventMonitor`` is for the requests of one manager; ``RequestEvents`` reports to both.
package enum ProcessEvent: Sendable {
    /// A task went from not running to running.
    case taskResumed(SessionTask)
    /// A task went from running to suspended.
    case taskSuspended(SessionTask)
    /// A task completed. Reported on its completion queue, after the completion handler.
    case taskCompleted(SessionTask, TaskCompletion)
    /// A manager was invalidated.
    case managerInvalidated(HTTPSessionManager)
    /// A downloaded file was moved to its place. The task is nil for an awaited download.
    case downloadMoved(SessionTask?)
    /// A downloaded file couldn't be moved to its place.
    case downloadNotMoved(SessionTask?, SessionError)
    /// A transfer without a task began: an awaited call or a stream. Its number isn't used by a task.
    case transferBegan(UInt64, HTTPRequest)
    /// A transfer without a task ended.
    case transferEnded(UInt64)
    /// Reported on the manager's callback queue, after its handler.
    case reachabilityChanged(NetworkReachabilityManager, NetworkReachability)
}

/// The observers of the process. Without observers, an event costs one relaxed load.
package enum ProcessEvents {
    /// Called on the thread of the event, outside of any lock. Must not block.
    package typealias Observer = @Sendable (ProcessEvent) -> Void

    private static let hasObservers = Atomic(false)
    private static let observers = Locked(Registry<Observer>())

    package static var isObserved: Bool { hasObservers.load(ordering: .relaxed) }

    /// Adds an observer. Returns a token for ``remove(_:)``.
    package static func add(_ observer: @escaping Observer) -> UInt64 {
        observers.withLock { observers in
            hasObservers.store(true, ordering: .relaxed)
            // The registry is never closed.
            return observers.add(observer) ?? 0
        }
    }

    /// Removes an observer. An event that occurs at the same time may still be reported to it.
    package static func remove(_ id: UInt64) {
        observers.withLock { observers in
            observers.remove(id)
            hasObservers.store(!observers.isEmpty, ordering: .relaxed)
        }
    }

    /// Calls the observers in the order in which they were added.
    package static func report(_ event: @autoclosure () -> ProcessEvent) {
        if isObserved { call(with: event()) }
    }

    // Not inlined: most programs have no observers.
    @inline(never)
    private static func call(with event: ProcessEvent) {
        for observer in observers.withLock({ $0.all }) { observer(event) }
    }
}

/// The result of a task, for observers of the process.
package struct TaskCompletion: Sendable {
    /// The body in memory; empty without one, or if it was saved to a file.
    package var body: Data
    /// The path of the task's file; nil without one.
    package var filePath: String?
    /// The serialized value.
    package var value: (any Sendable)?
    /// The error of the task or its serializer.
    package var error: SessionError?
    /// The serializer.
    package var serializer: any ResponseSerializer
    /// The metrics up to the end of the task.
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
