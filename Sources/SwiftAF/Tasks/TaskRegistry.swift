/// The tasks of a manager that haven't completed. Doesn't retain them: started tasks retain themselves.
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

    var isEmpty: Bool { entries.withLock { $0.isEmpty } }

    /// The tasks, in creation order.
    var tasks: [SessionTask] { tasks { _ in true } }

    func tasks(where isWanted: (SessionTask) -> Bool) -> [SessionTask] {
        // Filtered and released without the lock, because this array may have the last reference to a task, whose
        // `deinit` removes it from this registry.
        let all = entries.withLock { $0.sortedByKey.compactMap(\.value.task) }
        return all.filter(isWanted)
    }
}
