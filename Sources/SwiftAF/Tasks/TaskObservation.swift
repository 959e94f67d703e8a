package import FoundationEssentials

/// Hears of what happens to every manager and task of the process: the seam for what is built above the library. What
/// happens to the requests of one manager, an ``EventMonitor`` hears; ``RequestEvents`` tells both.
///
/// Called where it happens, outside of any lock, so no method may block.
package protocol TaskObserver: Sendable {
    /// A task went from not running to running.
    func taskDidResume(_ task: SessionTask)
    /// A task went from running to suspended.
    func taskDidSuspend(_ task: SessionTask)
    /// A task is over. Called on its completion queue, after the completion handler.
    func taskDidComplete(_ task: SessionTask, _ completion: TaskCompletion)
    /// A manager takes no more requests, and has cancelled those under way if it was asked to.
    func managerDidInvalidate(_ manager: HTTPSessionManager)
    /// A download stands in its place.
    func downloadDidMove(_ task: SessionTask?, to path: String)
    /// A download could not be put in its place. Without a task if it was awaited.
    func downloadDidFailToMove(_ task: SessionTask?, _ error: SessionError)
    /// A transfer begins that has no task, because it is awaited or streamed. Its number is no task's.
    func transferDidBegin(_ id: UInt64, _ request: HTTPRequest)
    /// It is over. Told to whoever observes then.
    func transferDidEnd(_ id: UInt64)
}

extension TaskObserver {
    package func taskDidResume(_ task: SessionTask) {}
    package func taskDidSuspend(_ task: SessionTask) {}
    package func taskDidComplete(_ task: SessionTask, _ completion: TaskCompletion) {}
    package func managerDidInvalidate(_ manager: HTTPSessionManager) {}
    package func downloadDidMove(_ task: SessionTask?, to path: String) {}
    package func downloadDidFailToMove(_ task: SessionTask?, _ error: SessionError) {}
    package func transferDidBegin(_ id: UInt64, _ request: HTTPRequest) {}
    package func transferDidEnd(_ id: UInt64) {}
}

/// How a task ended, for a ``TaskObserver``.
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

/// The observers of the process.
package enum TaskObservation {
    package static let observers = ObserverList<any TaskObserver>()
}
