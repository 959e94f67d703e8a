import Dispatch

extension HTTPSessionManager {
    /// A task that is not started, known to the registry and the group until it has completed.
    ///
    /// - Parameter end: Called once, where work may be done; what it returns is called on the completion queue.
    func makeTask(
        _ request: HTTPRequest, _ kind: SessionTask.Kind, _ prepared: Result<CoreRequest, SessionError>,
        _ monitors: MonitorGroup?, _ target: CompletionTarget,
        _ end: @escaping @Sendable (SessionTask, CoreOutcome) -> @Sendable () -> Void
    ) -> SessionTask {
        let (id, request) = (SessionTask.nextID(), (try? prepared.get())?.http ?? request)
        let spec = TaskSpec(
            request: prepared, callbackQueue: target.queue,
            complete: { [registry] task, outcome in
                registry.remove(task.id)
                target.run(end(task, outcome))
            },
            abandon: { target.leave() })
        let events = RequestEvents.created(request, monitors, task: id)
        let task = SessionTask(request, id: id, kind: kind, events: events, spec: spec)
        target.enter()
        registry.add(task)
        return task
    }
}

/// Where completions run.
struct CompletionTarget: Sendable {
    let queue: DispatchQueue
    let group: DispatchGroup?

    init(_ settings: HTTPSessionManager.Settings) {
        queue = settings.completionQueue ?? .main
        group = settings.completionGroup
    }

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

extension CoreOutcome {
    /// Reports whether a file is in its place, or could not be put there.
    func reportFile(of task: SessionTask?) {
        guard download != nil else { return }
        if filePath != nil {
            ProcessEvents.report(.downloadMoved(task))
        } else if let failure, failure.code == .file {
            ProcessEvents.report(.downloadNotMoved(task, failure))
        }
    }

    /// As far as the transfer got.
    var metrics: ResponseMetrics {
        response?.metrics ?? failure?.metrics ?? ResponseMetrics()
    }
}
