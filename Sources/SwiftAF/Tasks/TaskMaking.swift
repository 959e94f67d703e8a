import Dispatch

extension HTTPSessionManager {
    /// As the settings are now.
    var completionTarget: CompletionTarget {
        CompletionTarget(queue: completionQueue ?? .main, group: completionGroup)
    }

    /// A task that is not started, known to the registry and the group until it has completed.
    ///
    /// - Parameter end: Called once, where work may be done; what it returns is called on the completion queue.
    func makeTask(
        _ request: HTTPRequest, _ kind: SessionTask.Kind, _ order: Result<CoreOrder, SessionError>,
        _ observers: TransferObservers, _ target: CompletionTarget,
        _ end: @escaping @Sendable (SessionTask, CoreOutcome) -> @Sendable () -> Void
    ) -> SessionTask {
        let (id, request) = (SessionTask.nextID(), (try? order.get())?.request ?? request)
        var observers = observers
        observers.events = .created(request, observers.monitors, task: id)
        let plan = TaskPlan(
            order: order, observers: observers, callbackQueue: target.queue,
            complete: { [registry] task, outcome in
                registry.remove(task.id)
                target.run(end(task, outcome))
            },
            abandon: { target.leave() })
        let task = SessionTask(request, id: id, kind: kind, plan: plan)
        target.enter()
        registry.add(task)
        return task
    }
}

/// Where completions run.
struct CompletionTarget: Sendable {
    let queue: DispatchQueue
    let group: DispatchGroup?

    func enter() {
        group?.enter()
    }

    func leave() {
        group?.leave()
    }

    /// Progress comes on the loop thread and is told here.
    func reporting(to handler: HTTPSessionManager.ProgressHandler?) -> HTTPSessionManager.ProgressHandler? {
        guard let handler else { return nil }
        return { [queue] progress in queue.async { handler(progress) } }
    }

    func run(_ completion: @escaping @Sendable () -> Void) {
        queue.async {
            completion()
            leave()
        }
    }
}

/// What an observer is told about the end of a task; nil, and nothing kept for it, if there is no observer.
struct TaskReport: Sendable {
    private let observers: [any TaskObserver]
    private let task: SessionTask
    private let completion: TaskCompletion

    init?(_ task: SessionTask, _ completion: () -> TaskCompletion) {
        observers = TaskObservation.observers.all
        guard !observers.isEmpty else { return nil }
        self.task = task
        self.completion = completion()
    }

    func tell() {
        for observer in observers { observer.taskDidComplete(task, completion) }
    }
}

extension CoreOutcome {
    /// Tells whoever observes tasks whether a file stands in its place, or could not be put there.
    func tellOfFile(of task: SessionTask?) {
        guard download != nil else { return }
        TaskObservation.observers.tell { observer in
            if let filePath {
                observer.downloadDidMove(task, to: filePath)
            } else if let failure, failure.code == .file {
                observer.downloadDidFailToMove(task, failure)
            }
        }
    }

    /// As far as the transfer got.
    var metrics: ResponseMetrics {
        response?.metrics ?? failure?.metrics ?? ResponseMetrics()
    }
}
