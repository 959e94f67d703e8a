public import SwiftAF

/// A view that keeps what it shows of tasks: `let taskBindings = TaskBindings()`.
@MainActor
public protocol TaskDisplaying: AnyObject {
    /// Made with the view, kept by it.
    var taskBindings: TaskBindings { get }
}

/// A bar that shows how far a task is.
@MainActor
public protocol ProgressDisplaying: TaskDisplaying {
    /// Shows a fraction from 0 to 1.
    func setProgress(_ fraction: Double, animated: Bool)
}

extension ProgressDisplaying {
    /// From now on shows how much of the task's request body was sent, as long as it is known how much there is. A task
    /// that has ended changes nothing; another task takes the place of one that was shown before.
    public func setProgress(withUploadOf task: SessionTask, animated: Bool) {
        follow(task, .upload, animated) { ($0.sent, $0.sentTotal) }
    }

    /// From now on shows how much of the response's body has come, as long as it is known how much there is. What was
    /// there before of a download that goes on counts.
    public func setProgress(withDownloadOf task: SessionTask, animated: Bool) {
        follow(task, .download, animated) { progress in
            let (done, overflow) = progress.received.addingReportingOverflow(progress.offset)
            guard !overflow, let total = progress.receivedTotal else { return (0, nil) }
            let (all, isTooLarge) = total.addingReportingOverflow(progress.offset)
            return (done, isTooLarge ? nil : all)
        }
    }

    private func follow(
        _ task: SessionTask, _ aspect: TaskBindings.Aspect, _ animated: Bool,
        _ counts: @escaping @MainActor @Sendable (TransferProgress) -> (done: Int64, total: Int64?)
    ) {
        guard task.state != .completed else { return }
        taskBindings.unbindOthers(than: task)
        taskBindings.followProgress(of: task, as: aspect) { [weak self] progress in
            let (done, total) = counts(progress)
            guard let total, total > 0 else { return }
            self?.setProgress(min(1, Double(done) / Double(total)), animated: animated)
        }
    }
}

/// A spinner that turns while a task runs.
@MainActor
public protocol ActivityIndicating: TaskDisplaying {
    func startAnimating()
    func stopAnimating()
}

extension ActivityIndicating {
    /// Turns while the task runs, and stops when it is suspended or has ended. A task that has ended already changes
    /// nothing.
    ///
    /// - Parameter task: Instead of the one before; nil for none.
    public func setAnimating(withStateOf task: SessionTask?) {
        taskBindings.unbind(.activity)
        guard let task, task.state != .completed else { return }
        let start: @MainActor @Sendable () -> Void = { [weak self] in self?.startAnimating() }
        let stop: @MainActor @Sendable () -> Void = { [weak self] in self?.stopAnimating() }
        taskBindings.switchWithState(of: task, start, stop)
    }
}

/// A control that shows that what is on the screen is being fetched anew.
@MainActor
public protocol Refreshing: TaskDisplaying {
    func beginRefreshing()
    func endRefreshing()
}

extension Refreshing {
    /// Refreshes while the task runs, and ends when it is suspended or has ended, at once if it doesn't run.
    ///
    /// - Parameter task: Instead of the one before; nil for none.
    public func setRefreshing(withStateOf task: SessionTask?) {
        taskBindings.unbind(.activity)
        guard let task else { return }
        guard task.state != .completed else { return endRefreshing() }
        let begin: @MainActor @Sendable () -> Void = { [weak self] in self?.beginRefreshing() }
        let end: @MainActor @Sendable () -> Void = { [weak self] in self?.endRefreshing() }
        taskBindings.switchWithState(of: task, begin, end)
    }
}

extension TaskBindings {
    /// Calls one of the two at once, and then each time that it has become the other's turn.
    fileprivate func switchWithState(
        of task: SessionTask, _ start: @escaping @MainActor @Sendable () -> Void,
        _ stop: @escaping @MainActor @Sendable () -> Void
    ) {
        var isOn: Bool?
        let update: @MainActor @Sendable (SessionTask.State) -> Void = { state in
            guard isOn != (state == .running) else { return }
            isOn = state == .running
            if state == .running { start() } else { stop() }
        }
        followState(of: task, as: .activity, update)
        update(task.state)
    }
}
