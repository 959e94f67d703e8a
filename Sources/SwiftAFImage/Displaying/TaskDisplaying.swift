public import SwiftAF

/// A view that shows the state of tasks: store `let taskBindings = TaskBindings()` in it.
@MainActor
public protocol TaskDisplaying: AnyObject {
    /// The state of this view: a stored property, made with the view.
    var taskBindings: TaskBindings { get }
}

/// A bar that shows a task's progress.
@MainActor
public protocol ProgressDisplaying: TaskDisplaying {
    /// Shows a fraction from 0 to 1.
    func setProgress(_ fraction: Double, animated: Bool)
}

extension ProgressDisplaying {
    /// Shows the upload progress of a task while the total is known. A task that has already ended changes nothing. The
    /// new task replaces a previous one.
    public func setProgress(withUploadOf task: SessionTask, animated: Bool) {
        follow(task, .upload, animated) { ($0.sent, $0.sentTotal) }
    }

    /// Shows the download progress of a task while the total is known. The bytes that a resumed download started with
    /// are included.
    public func setProgress(withDownloadOf task: SessionTask, animated: Bool) {
        follow(task, .download, animated) { ($0.downloaded, $0.downloadTotal) }
    }

    private func follow(
        _ task: SessionTask, _ aspect: TaskBindings.Aspect, _ animated: Bool,
        _ counts: @escaping @MainActor @Sendable (TransferProgress) -> (done: Int64, total: Int64?)
    ) {
        guard !taskBindings.hasEnded, task.state != .completed else { return }
        taskBindings.unbindProgress(ofOthersThan: task)
        taskBindings.followProgress(of: task, as: aspect) { [weak self] progress in
            let (done, total) = counts(progress)
            guard let total, total > 0 else { return }
            self?.setProgress(min(1, Double(done) / Double(total)), animated: animated)
        }
    }
}

/// A spinner that is shown while a task runs.
@MainActor
public protocol ActivityIndicating: TaskDisplaying {
    /// Shows that a task is running.
    func startAnimating()
    /// Shows that no task is running.
    func stopAnimating()
}

extension ActivityIndicating {
    /// Starts while the task runs, and stops when it is suspended or ends. A task that has already ended doesn't start
    /// it.
    ///
    /// - Parameter task: Replaces the previous task; nil for none.
    public func setAnimating(withStateOf task: SessionTask?) {
        guard !taskBindings.hasEnded else { return }
        taskBindings.unbind(.activity)
        guard let task, task.state != .completed else {
            // The previous task is unbound, so its end won't stop the animation.
            if taskBindings.showsActivity { stopAnimating() }
            taskBindings.showsActivity = false
            return
        }
        let start: @MainActor @Sendable () -> Void = { [weak self] in self?.startAnimating() }
        let stop: @MainActor @Sendable () -> Void = { [weak self] in self?.stopAnimating() }
        taskBindings.switchWithState(of: task, start, stop)
    }
}

/// A control that shows that the content is being reloaded.
@MainActor
public protocol Refreshing: TaskDisplaying {
    /// Shows that a task is running.
    func beginRefreshing()
    /// Shows that no task is running.
    func endRefreshing()
}

extension Refreshing {
    /// Refreshes while the task runs, and stops when it is suspended or ends; at once if it doesn't run, or if there is
    /// none any more.
    ///
    /// - Parameter task: Replaces the previous task; nil for none.
    public func setRefreshing(withStateOf task: SessionTask?) {
        guard !taskBindings.hasEnded else { return }
        taskBindings.unbind(.activity)
        guard let task else {
            if taskBindings.showsActivity { endRefreshing() }
            taskBindings.showsActivity = false
            return
        }
        guard task.state != .completed else {
            taskBindings.showsActivity = false
            return endRefreshing()
        }
        let begin: @MainActor @Sendable () -> Void = { [weak self] in self?.beginRefreshing() }
        let end: @MainActor @Sendable () -> Void = { [weak self] in self?.endRefreshing() }
        taskBindings.switchWithState(of: task, begin, end)
    }
}

extension TaskBindings {
    /// Calls one of the two closures at once, and then the other one after each change.
    fileprivate func switchWithState(
        of task: SessionTask, _ start: @escaping @MainActor @Sendable () -> Void,
        _ stop: @escaping @MainActor @Sendable () -> Void
    ) {
        var isOn: Bool?
        let update: @MainActor @Sendable (SessionTask.State) -> Void = { [weak self] state in
            guard isOn != (state == .running) else { return }
            isOn = state == .running
            self?.showsActivity = state == .running
            if state == .running { start() } else { stop() }
        }
        followState(of: task, as: .activity, update)
        update(task.state)
    }
}
