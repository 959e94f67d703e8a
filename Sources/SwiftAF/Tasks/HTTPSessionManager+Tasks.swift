extension HTTPSessionManager {
    /// Creates a task that isn't started. It is in the manager's registry, and in the completion group, until it has
    /// completed or is released without having been started.
    ///
    /// - Parameters:
    ///   - conversion: How much work `end` does, which decides on which thread it is called.
    ///   - end: Called once, on a thread where that much work may be done. Returns the closure to call on the
    ///     completion executor.
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
