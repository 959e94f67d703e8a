import Synchronization

/// Who hears of something in the whole process. While there is nobody, telling costs one relaxed load.
package struct ObserverList<Observer: Sendable>: ~Copyable, Sendable {
    private struct Entry: Sendable {
        let id: Int
        let observer: Observer
    }

    private struct State {
        var entries: [Entry] = []
        var lastID = 0
    }

    private let count = Atomic(0)
    private let state = Guarded(State())

    package init() {}

    /// Whether anybody hears.
    package var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    /// In the order in which they were added.
    package var all: [Observer] {
        isEmpty ? [] : state.withLock { $0.entries.map(\.observer) }
    }

    /// - Returns: What ``remove(_:)`` takes.
    package func add(_ observer: Observer) -> Int {
        state.withLock { state in
            state.lastID += 1
            state.entries.append(Entry(id: state.lastID, observer: observer))
            count.store(state.entries.count, ordering: .relaxed)
            return state.lastID
        }
    }

    /// What happens at the same time may still be told.
    package func remove(_ id: Int) {
        state.withLock { state in
            state.entries.removeAll { $0.id == id }
            count.store(state.entries.count, ordering: .relaxed)
        }
    }

    /// Calls `body` with each of them, under no lock.
    package func tell(_ body: (Observer) -> Void) {
        for observer in all { body(observer) }
    }
}
