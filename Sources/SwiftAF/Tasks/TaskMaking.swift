import Dispatch

extension HTTPSessionManager {
    /// Makes a task that isn't started; it stays in the registry and the group until it has completed.
    ///
    /// - Parameters:
    ///   - conversion: How much work `end` does.
    ///   - end: Called once, where that much work may be done; returns the closure to call on the completion queue.
    func makeTask(
        _ request: HTTPRequest, _ kind: SessionTask.Kind, _ prepared: Result<CoreRequest, SessionError>,
        _ monitors: MonitorGroup?, _ target: CompletionTarget, _ conversion: TaskSpec.Conversion = .work,
        _ end: @escaping @Sendable (SessionTask, CoreOutcome) -> @Sendable () -> Void
    ) -> SessionTask {
        let (id, request) = (SessionTask.nextID(), (try? prepared.get())?.http ?? request)
        let spec = TaskSpec(
            request: prepared, executor: target.executor, conversion: conversion,
            complete: { [registry] task, outcome in
                registry.remove(task.id)
                target.run(end(task, outcome))
            },
            abandon: { [registry] in
                registry.remove(id)
                target.leave()
            })
        let events = RequestEvents.created(request, monitors, task: id)
        let task = SessionTask(request, id: id, kind: kind, events: events, spec: spec)
        target.enter()
        registry.add(task)
        return task
    }
}

/// The executor and group of completions.
struct CompletionTarget: Sendable {
    let executor: CompletionExecutor
    let group: DispatchGroup?

    init(_ settings: HTTPSessionManager.Settings) {
        executor = settings.completionExecutor
        group = settings.completionGroup
    }

    func enter() {
        group?.enter()
    }

    func leave() {
        group?.leave()
    }

    /// Progress is reported by the loop thread and passed on here.
    func reporting(to handler: HTTPSessionManager.ProgressHandler?) -> HTTPSessionManager.ProgressHandler? {
        guard let handler else { return nil }
        return { [executor] progress in executor.post { handler(progress) } }
    }

    func run(_ completion: @escaping @Sendable () -> Void) {
        executor.post {
            completion()
            leave()
        }
    }
}

extension CoreOutcome {
    /// Reports whether the file was moved to its place.
    func reportFile(of task: SessionTask?) {
        guard download != nil else { return }
        if filePath != nil {
            ProcessEvents.report(.downloadMoved(task))
        } else if let failure, failure.code == .file {
            ProcessEvents.report(.downloadNotMoved(task, failure))
        }
    }

    /// The metrics up to the end of the transfer.
    var metrics: ResponseMetrics {
        response?.metrics ?? failure?.metrics ?? ResponseMetrics()
    }
}
