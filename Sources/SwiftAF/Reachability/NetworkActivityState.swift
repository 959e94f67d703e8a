/// When an indicator of network activity is shown: not for what is over soon, and without flicker between requests
/// that follow each other. A value without effects; it asks to be woken.
struct NetworkActivityState: Sendable {
    enum Phase: Hashable, Sendable {
        case inactive
        /// Something is under way, and perhaps over before anybody need see it.
        case delayingStart
        case active
        /// Nothing is under way, and perhaps something soon again.
        case delayingEnd
    }

    enum Action: Hashable, Sendable {
        case show, hide
        /// Call ``NetworkActivityState/wake(_:)`` with this number after that time.
        case wake(Int, after: Duration)
    }

    /// What one transfer is known by.
    enum Transfer: Hashable, Sendable {
        case task(UInt64)
        case other(UInt64)
    }

    /// How long something is under way before it is shown.
    var activationDelay: Duration = .seconds(1)
    /// How long nothing is under way before nothing is shown.
    var completionDelay: Duration = .milliseconds(170)

    private(set) var phase = Phase.inactive
    private(set) var isEnabled = false
    private var transfers: Set<Transfer> = []
    private var additional = 0
    /// Of the only alarm that counts.
    private var alarm = 0

    /// What is under way, counted also while the state is not enabled.
    var count: Int { transfers.count + additional }

    var isVisible: Bool { phase == .active || phase == .delayingEnd }

    mutating func setEnabled(_ isEnabled: Bool) -> [Action] {
        guard isEnabled != self.isEnabled else { return [] }
        self.isEnabled = isEnabled
        return isEnabled ? evaluate() : enter(.inactive)
    }

    /// Running, or not any more; telling the same twice changes nothing.
    mutating func set(_ transfer: Transfer, isRunning: Bool) -> [Action] {
        if isRunning {
            transfers.insert(transfer)
        } else {
            transfers.remove(transfer)
        }
        return evaluate()
    }

    /// Of what only the program knows. Never below zero.
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
