extension HTTPSessionManager {
    /// Creates a task that isn't started; it stays in the registry and the group until it has completed.
    ///
    /// - Parameters:
    ///   - conversion: How much work `end` does.
    ///   - end: Called once, where that much work may be done; returns the closure to call on the completion queue.
    func makeTask(
        for request: HTTPRequest, kind: SessionTask.Kind, prepared: Result<CoreRequest, SessionError>,
        monitors: MonitorGroup?, target: CompletionTarget, conversion: TaskSpec.Conversion = .work,
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
