/// The tasks of a manager that have not completed. It does not keep them alive: started ones keep themselves.
final class TaskRegistry: Sendable {
    private struct Entry {
        weak var task: SessionTask?
    }

    private let entries = Locked<[UInt64: Entry]>([:])

    func add(_ task: SessionTask) {
        entries.withLock { $0[task.id] = Entry(task: task) }
    }

    func remove(_ id: UInt64) {
        entries.withLock { $0[id] = nil }
    }

    /// In the order they were made.
    var tasks: [SessionTask] { tasks { _ in true } }

    func tasks(where isWanted: (SessionTask) -> Bool) -> [SessionTask] {
        // Filtered and let go outside of the lock: the last reference to a task may be among these.
        let all = entries.withLock { $0.values.compactMap(\.task) }
        return all.filter(isWanted).sorted { $0.id < $1.id }
    }
}
