/// Decides when an indicator of network activity is shown: not for short activities, and without flicker between
/// consecutive requests. Changes only itself; it returns the timers to set and the visibility to report.
struct NetworkActivityState: Sendable {
    enum Phase: Hashable, Sendable {
        case inactive
        /// There is activity, but not for long enough to show it.
        case delayingStart
        case active
        /// There is no activity, but not for long enough to hide the indicator.
        case delayingEnd
    }

    enum Action: Hashable, Sendable {
        case show, hide
        /// Call ``NetworkActivityState/wake(_:)`` with this number after this delay.
        case wake(Int, after: Duration)
    }

    /// Identifies a transfer.
    enum Transfer: Hashable, Sendable {
        case task(UInt64)
        case other(UInt64)
    }

    /// How long activity must last before it is shown.
    var activationDelay: Duration = .seconds(1)
    /// How long there must be no activity before the indicator is hidden.
    var completionDelay: Duration = .milliseconds(170)

    private(set) var phase = Phase.inactive
    private(set) var isEnabled = false
    private var transfers: Set<Transfer> = []
    /// Whether each task is counted, from its first start to its completion.
    private var decisions: [UInt64: Bool] = [:]
    private var additional = 0
    /// The number of the current timer; earlier timers are ignored.
    private var alarm = 0

    /// The number of activities, counted even if not enabled.
    var count: Int { transfers.count + additional }

    var isVisible: Bool { phase == .active || phase == .delayingEnd }

    mutating func setEnabled(_ isEnabled: Bool) -> [Action] {
        guard isEnabled != self.isEnabled else { return [] }
        self.isEnabled = isEnabled
        return isEnabled ? evaluate() : enter(.inactive)
    }

    /// Adds or removes a running transfer. Has no effect if that was already done.
    mutating func set(_ transfer: Transfer, isRunning: Bool) -> [Action] {
        if isRunning {
            transfers.insert(transfer)
        } else {
            transfers.remove(transfer)
        }
        return evaluate()
    }

    /// Whether a task is counted; nil until it was started, and after it completed.
    func isCounted(_ task: UInt64) -> Bool? { decisions[task] }

    /// Records the state of a task, in whatever order its changes are reported.
    ///
    /// - Parameter isCounted: Whether to count the task. The value of its first start is kept until the task completes,
    ///   so that the task is removed exactly if it was added.
    mutating func update(_ task: UInt64, to state: SessionTask.State, isCounted: Bool? = nil) -> [Action] {
        if state == .completed {
            decisions[task] = nil
        } else if let isCounted, decisions[task] == nil {
            decisions[task] = isCounted
        }
        return set(.task(task), isRunning: state == .running && decisions[task] == true)
    }

    /// Adds to the count of the program's own activities, which is never negative.
    mutating func add(_ difference: Int) -> [Action] {
        additional = max(0, additional.addingReportingOverflow(difference).partialValue)
        return evaluate()
    }

    mutating func wake(_ alarm: Int) -> [Action] {
        guard alarm == self.alarm else { return [] }
        switch phase {
        case .delayingStart: return enter(count > 0 ? .active : .inactive)
        case .delayingEnd: return enter(.inactive)
        case .inactive, .active: return []
        }
    }

    private mutating func evaluate() -> [Action] {
        guard isEnabled else { return [] }
        switch phase {
        case .inactive where count > 0: return enter(.delayingStart)
        case .active where count == 0: return enter(.delayingEnd)
        case .delayingEnd where count > 0: return enter(.active)
        case .inactive, .delayingStart, .active, .delayingEnd: return []
        }
    }

    private mutating func enter(_ phase: Phase) -> [Action] {
        let wasVisible = isVisible
        self.phase = phase
        alarm += 1
        switch phase {
        case .delayingStart: return [.wake(alarm, after: activationDelay)]
        case .delayingEnd: return [.wake(alarm, after: completionDelay)]
        case .inactive, .active: return isVisible == wasVisible ? [] : [isVisible ? .show : .hide]
        }
    }
}
