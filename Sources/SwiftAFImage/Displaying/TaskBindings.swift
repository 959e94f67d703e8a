internal import SwiftAF

/// The tasks whose state a view shows. The view stores one and doesn't use it otherwise.
@MainActor
public final class TaskBindings {
    /// The part of a task's state that is shown.
    enum Aspect: Hashable {
        case upload, download, activity
    }

    private var bindings: [Aspect: Binding] = [:]
    /// Whether the view shows activity at the moment.
    package var showsActivity = false
    /// Incremented when the view begins to follow another source of activity, or none.
    package private(set) var activityTurn: UInt64 = 0

    /// Creates the state of a view that shows no task yet.
    public init() {}

    /// One task in one view. No updates happen after it is released.
    final class Binding: Sendable {
        private let observation = Locked<SessionTask.Observation?>(nil)
        let taskID: UInt64

        init(_ task: SessionTask) {
            taskID = task.id
        }

        fileprivate func keep(_ observation: SessionTask.Observation) {
            self.observation.withLock { $0 = observation }
        }

        deinit {
            observation.withLock { $0 }?.cancel()
        }
    }

    func unbind(_ aspect: Aspect) {
        bindings[aspect] = nil
        if aspect == .activity { activityTurn += 1 }
    }

    /// Whether the view was destroyed, so that it shows no task any more.
    package private(set) var hasEnded = false

    /// Called when the view is destroyed: ends all bindings, and prevents later ones.
    package func end() {
        hasEnded = true
        bindings = [:]
        activityTurn += 1
    }

    /// Ends the bindings to the progress of other tasks, because a view shows the progress of one task at a time. The
    /// binding to a task's activity is independent of that.
    func unbindProgress(ofOthersThan task: SessionTask) {
        bindings = bindings.filter { $0.key == .activity || $0.value.taskID == task.id }
    }

    /// Calls `update` on the main actor after each time the task starts, is suspended or ends.
    func followState(
        of task: SessionTask, as aspect: Aspect, _ update: @escaping @MainActor @Sendable (SessionTask.State) -> Void
    ) {
        let binding = bind(task, aspect)
        let hop = MainActorHop { [weak self, weak binding, weak task] in
            guard let task, let binding, self?.bindings[aspect] === binding else { return }
            let state = task.state
            if state == .completed { self?.unbind(aspect) }
            update(state)
        }
        binding.keep(task.watchState { hop.request(for: $0) })
    }

    /// Calls `update` on the main actor after the task has transferred bytes, until it ends.
    func followProgress(
        of task: SessionTask, as aspect: Aspect, _ update: @escaping @MainActor @Sendable (TransferProgress) -> Void
    ) {
        let binding = bind(task, aspect)
        let hop = MainActorHop { [weak self, weak binding, weak task] in
            guard let task, let binding, self?.bindings[aspect] === binding else { return }
            if task.state == .completed { self?.unbind(aspect) }
            update(task.progress)
        }
        binding.keep(task.watchProgress { hop.request(for: $0) })
    }

    private func bind(_ task: SessionTask, _ aspect: Aspect) -> Binding {
        let binding = Binding(task)
        bindings[aspect] = binding
        return binding
    }
}

/// Schedules an action on the main actor. Requests before it runs are merged into one.
final class MainActorHop: Sendable {
    private enum State {
        case idle
        /// The action is scheduled. A completed task is retained until it runs.
        case pending(keeping: SessionTask?)
    }

    private let state = Locked(State.idle)
    private let action: @MainActor @Sendable () -> Void

    init(_ action: @escaping @MainActor @Sendable () -> Void) {
        self.action = action
    }

    /// Schedules the action, which may hold `task` weakly.
    ///
    /// A completed task may have no other owner, but its last state must be shown, so it is retained until the
    /// action has run. A running task retains itself; one that wasn't started isn't retained.
    func request(for task: SessionTask) {
        request(keeping: task.state == .completed ? task : nil)
    }

    func request(keeping completed: SessionTask? = nil) {
        // The former state is released without the lock, because it may have the last reference to a task.
        let before = state.withLock { state in
            let before = state
            if case .pending(let earlier) = before {
                state = .pending(keeping: completed ?? earlier)
            } else {
                state = .pending(keeping: completed)
            }
            return before
        }
        guard case .idle = before else { return }
        Task { @MainActor in
            // Released after the action.
            let pending = state.exchange(.idle)
            withExtendedLifetime(pending) { action() }
        }
    }
}
