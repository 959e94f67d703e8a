/// What a task of the core may do next. A value without effects: each event says what to tell the core.
struct CoreTaskState {
    /// What came while the task was being made, to be done as soon as it is.
    struct Signals: OptionSet {
        let rawValue: UInt8
        static let cancel = Signals(rawValue: 1)
        static let wake = Signals(rawValue: 2)
        static let suspend = Signals(rawValue: 4)
    }

    private var hasBegun = false
    private var reference: CoreTaskReference?
    private var pending: Signals = []

    /// Thinks about a challenge.
    var answering: Task<Void, Never>?
    /// The last answer to one, and whether the core is still to be told.
    private(set) var reply: ChallengeReply?
    private var owesReply = false

    /// An answer is there: where to send it, nil if there is nobody yet.
    mutating func answer(with reply: ChallengeReply) -> CoreTaskReference? {
        self.reply = reply
        owesReply = reference == nil
        return reference
    }

    /// The answer that came before the core's task was known; once.
    mutating func takeReply() -> ChallengeReply? {
        defer { owesReply = false }
        return owesReply ? reply : nil
    }

    /// The reference to give back at the end.
    var owned: CoreTaskReference? { reference }

    var isCancelled: Bool { pending.contains(.cancel) }

    /// Asks to begin: true once, unless the task was cancelled.
    mutating func begin() -> Bool {
        guard !hasBegun, !isCancelled else { return false }
        hasBegun = true
        return true
    }

    /// The core has made the task. It may even have finished it.
    mutating func began(_ task: CoreTaskReference) -> Signals {
        reference = task
        return pending
    }

    /// A signal for the task: where to send it, nil if there is nobody yet.
    mutating func send(_ signal: Signals) -> CoreTaskReference? {
        if reference == nil { pending.insert(signal) }
        return reference
    }

    /// The opposite of the signal ``Signals/suspend``.
    mutating func resume() -> CoreTaskReference? {
        pending.remove(.suspend)
        return reference
    }
}

/// A pointer to a task of the core. The core lets any thread use it; whoever holds a ``CoreTask`` may.
struct CoreTaskReference: @unchecked Sendable, Equatable {
    let pointer: OpaquePointer
}
