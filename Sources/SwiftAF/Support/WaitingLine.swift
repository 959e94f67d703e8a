/// A line of calls that wait for a resource, in the order of their arrival. A call that was resumed keeps its place,
/// without a waiter, while it tries to get the resource.
///
/// Every operation takes constant time on average, because thousands of calls may wait, and the owner's lock is held.
package struct WaitingLine<Waiter> {
    private struct Entry {
        let id: UInt64
        var waiter: Waiter?
    }

    /// The calls in order; nil for those that have left.
    private var entries: [Entry?] = []
    /// The index of the first call that hasn't left.
    private var first = 0
    private var indices: [UInt64: Int] = [:]

    package init() {}

    package var isEmpty: Bool { indices.isEmpty }

    /// The first call.
    package var firstID: UInt64? { isEmpty ? nil : entries[first]?.id }

    /// Whether the call has joined and not left.
    package func contains(_ id: UInt64) -> Bool { indices[id] != nil }

    /// Adds a call, without a waiter, to the end of the line. Has no effect if it is in the line.
    package mutating func join(_ id: UInt64) {
        guard indices[id] == nil else { return }
        indices[id] = entries.count
        entries.append(Entry(id: id, waiter: nil))
    }

    /// Gives a call a waiter; a new one goes to the end of the line.
    package mutating func wait(_ id: UInt64, _ waiter: Waiter) {
        join(id)
        if let index = indices[id] { entries[index]?.waiter = waiter }
    }

    /// Removes a call. Returns whether it was the first one.
    @discardableResult
    package mutating func leave(_ id: UInt64) -> Bool {
        guard let index = indices.removeValue(forKey: id) else { return false }
        entries[index] = nil
        let wasFirst = index == first
        if wasFirst {
            first += 1
            while first < entries.count, entries[first] == nil { first += 1 }
        }
        if entries.count > 64, entries.count / 2 > indices.count { removeGaps() }
        return wasFirst
    }

    private mutating func removeGaps() {
        entries.removeAll { $0 == nil }
        first = 0
        for (index, entry) in entries.enumerated() { if let entry { indices[entry.id] = index } }
    }

    /// Takes the waiter of a call, which keeps its place.
    package mutating func takeWaiter(of id: UInt64) -> Waiter? {
        guard let index = indices[id] else { return nil }
        defer { entries[index]?.waiter = nil }
        return entries[index]?.waiter
    }

    /// Takes the waiter of the first call.
    package mutating func takeFirstWaiter() -> Waiter? {
        firstID.flatMap { takeWaiter(of: $0) }
    }

    /// Takes all waiters, in order.
    package mutating func takeWaiters() -> [Waiter] {
        entries[first...].indices.compactMap { index in
            defer { entries[index]?.waiter = nil }
            return entries[index]?.waiter
        }
    }
}
