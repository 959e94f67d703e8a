internal import SwiftAF

/// The tasks that a view shows the state of. The view keeps one, and asks nothing of it.
@MainActor
public final class TaskBindings {
    /// What of a task is shown.
    enum Aspect: Hashable {
        case upload, download, activity
    }

    private var bindings: [Aspect: Binding] = [:]

    public init() {}

    /// One task in one view. When it goes, nothing comes of it any more.
    final class Binding: Sendable {
        private let observation = Guarded<Int?>(nil)
        let taskID: UInt64

        init(_ task: SessionTask) {
            taskID = task.id
        }

        fileprivate func observe(_ observer: any TaskObserver) {
            observation.withLock { $0 = TaskObservation.observers.add(observer) }
        }

        deinit {
            if let observation = observation.withLock({ $0 }) { TaskObservation.observers.remove(observation) }
        }
    }

    func unbind(_ aspect: Aspect) {
        bindings[aspect] = nil
    }

    /// A view shows one task at a time.
    func unbindOthers(than task: SessionTask) {
        bindings = bindings.filter { $0.value.taskID == task.id }
    }

    /// Calls `update` on the main actor, soon and whenever the task has started, stopped or ended since.
    func followState(
        of task: SessionTask, as aspect: Aspect, _ update: @escaping @MainActor @Sendable (SessionTask.State) -> Void
    ) {
        let binding = bind(task, aspect)
        binding.observe(
            StateObserver(taskID: task.id) { [weak self, weak binding, weak task] in
                guard let task, let binding, self?.bindings[aspect] === binding else { return }
                let state = task.state
                if state == .completed { self?.unbind(aspect) }
                update(state)
            })
    }

    /// Calls `update` on the main actor whenever the task has moved bytes since, until it has ended.
    func followProgress(
        of task: SessionTask, as aspect: Aspect, _ update: @escaping @MainActor @Sendable (TransferProgress) -> Void
    ) {
        let binding = bind(task, aspect)
        let hop = MainActorHop { [weak self, weak binding, weak task] in
            guard let task, let binding, self?.bindings[aspect] === binding else { return }
            if task.state == .completed { self?.unbind(aspect) }
            update(task.progress)
        }
        task.watchProgress { hop.request(for: $0) }
    }

    private func bind(_ task: SessionTask, _ aspect: Aspect) -> Binding {
        let binding = Binding(task)
        bindings[aspect] = binding
        return binding
    }
}

/// Hears of one task among all of the process.
private final class StateObserver: TaskObserver {
    private let taskID: UInt64
    private let hop: MainActorHop

    init(taskID: UInt64, _ update: @escaping @MainActor @Sendable () -> Void) {
        self.taskID = taskID
        hop = MainActorHop(update)
    }

    private func note(_ task: SessionTask) {
        if task.id == taskID { hop.request(for: task) }
    }

    func taskDidResume(_ task: SessionTask) { note(task) }
    func taskDidSuspend(_ task: SessionTask) { note(task) }
    func taskDidComplete(_ task: SessionTask, _ completion: TaskCompletion) { note(task) }
}

/// Runs an action on the main actor soon: once for all requests made before it runs.
final class MainActorHop: Sendable {
    private struct State {
        var isPending = false
        /// Lives until the action has run.
        var completed: SessionTask?
    }

    private let state = Guarded(State())
    private let action: @MainActor @Sendable () -> Void

    init(_ action: @escaping @MainActor @Sendable () -> Void) {
        self.action = action
    }

    /// Requests the action, which may refer to `task` weakly.
    ///
    /// A task that has completed may have no other owner, and its last state must be shown: it is kept until the
    /// action has run. A task that was started keeps itself until then, and one that wasn't isn't kept.
    func request(for task: SessionTask) {
        request(keeping: task.state == .completed ? task : nil)
    }

    func request(keeping completed: SessionTask? = nil) {
        let wasPending = state.withLock { state in
            if let completed { state.completed = completed }
            defer { state.isPending = true }
            return state.isPending
        }
        guard !wasPending else { return }
        Task { @MainActor in
            // Released behind the action.
            let completed = state.withLock { state in
                defer { state = State() }
                return state.completed
            }
            withExtendedLifetime(completed) { action() }
        }
    }
}
