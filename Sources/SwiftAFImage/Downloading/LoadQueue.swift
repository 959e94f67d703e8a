internal import FoundationEssentials

/// The order of waiting downloads.
public enum ImageDownloadPrioritization: Sendable, Hashable {
    /// First in, first out.
    case fifo
    /// Last in, first out.
    case lifo
}

/// The requests for images, the active loads and their order. A value without threads; its owner has a lock and
/// performs the loads.
///
/// Each image is loaded once at a time; further requests join it. A load whose requests were all cancelled is
/// cancelled, but counts as active until it has ended. A new request for its image waits for that.
///
/// Adding, cancelling and choosing take the same time for any number of waiting loads, because a scrolling view does
/// all of them between two frames.
///
/// - `Handler`: The receiver of the image.
/// - `Spec`: The data for loading the image; for several requests, that of the first one.
/// - `Work`: The work that loads the image and can be cancelled.
struct LoadQueue<Handler, Spec, Work> {
    struct Waiting {
        let receiptID: UUID
        let handler: Handler
    }

    /// The values that have left the queue. The caller keeps them until it has released its lock, because they are
    /// objects of the program that may use the queue when they are released.
    struct Departure {
        var waiting: [Waiting] = []
        var work: Work?
        var spec: Spec?
    }

    private enum State {
        /// In the line of its priority, with this ticket.
        case queued(ticket: Int)
        case running(Int)
    }

    /// An image with requests that wait for it.
    private struct Load {
        var waiting: [Waiting]
        var spec: Spec
        var priority: Int
        var state: State

        var run: Int? {
            if case .running(let run) = state { run } else { nil }
        }

        func isQueued(with ticket: Int) -> Bool {
            if case .queued(let current) = state { current == ticket } else { false }
        }
    }

    /// An active load that hasn't ended, whether or not requests still wait for its image.
    private struct Run {
        let key: String
        var state = RunState.starting
    }

    private enum RunState {
        /// The run was chosen, and its work isn't known yet.
        case starting
        case working(Work)
        /// All requests for the image were cancelled.
        case cancelled
    }

    /// The waiting keys of one priority, in the order of their tickets. The entry of a key that has left is removed
    /// when it is reached, or when half of the entries have left.
    private struct Line {
        var entries: [(key: String, ticket: Int)] = []
        /// The index of the first entry that may not have left.
        var start = 0
        /// The number of keys that haven't left.
        var count = 0
    }

    let maximumActive: Int
    let prioritization: ImageDownloadPrioritization
    private var loads: [String: Load] = [:]
    private var lines: [Int: Line] = [:]
    /// The priorities of the lines, highest first.
    private var priorities: [Int] = []
    private var lastTicket = 0
    private var runs: [Int: Run] = [:]
    private var lastRun = 0

    init(maximumActive: Int, prioritization: ImageDownloadPrioritization) {
        self.maximumActive = max(1, maximumActive)
        self.prioritization = prioritization
    }

    /// The number of active loads.
    var activeCount: Int { runs.count }

    /// The number of waiting loads.
    var queuedCount: Int { lines.values.reduce(0) { $0 + $1.count } }

    /// The number of requests, for active and waiting loads.
    var waitingCount: Int { loads.values.reduce(0) { $0 + $1.waiting.count } }

    var isEmpty: Bool { loads.isEmpty && lines.isEmpty && runs.isEmpty }

    /// The load of a run; nil if that was cancelled or has ended.
    private func load(of run: Int) -> Load? {
        guard let key = runs[run]?.key, let load = loads[key], load.run == run else { return nil }
        return load
    }

    /// The spec of a run; nil if that was cancelled or has ended.
    func spec(of run: Int) -> Spec? { load(of: run)?.spec }

    /// The requests of a run; none if that was cancelled or has ended.
    func waiting(for run: Int) -> [Waiting] { load(of: run)?.waiting ?? [] }

    /// Adds a request. If it joins a load, it doesn't change that load's spec. ``next()`` returns the loads to start.
    mutating func add(_ waiting: Waiting, for key: String, _ spec: Spec, priority: Int) {
        guard var load = loads[key] else {
            let state = State.queued(ticket: enqueue(key, priority))
            loads[key] = Load(waiting: [waiting], spec: spec, priority: priority, state: state)
            return
        }
        load.waiting.append(waiting)
        if load.run == nil, priority > load.priority {
            let former = load.priority
            load.priority = priority
            load.state = .queued(ticket: enqueue(key, priority))
            loads[key] = load
            leaveLine(of: former)
        } else {
            loads[key] = load
        }
    }

    /// Adds a key to the end of the line of a priority.
    ///
    /// - Returns: Its ticket.
    private mutating func enqueue(_ key: String, _ priority: Int) -> Int {
        lastTicket += 1
        if lines[priority] == nil {
            priorities.insert(priority, at: priorities.firstIndex { $0 < priority } ?? priorities.endIndex)
        }
        lines[priority, default: Line()].entries.append((key, lastTicket))
        lines[priority]?.count += 1
        return lastTicket
    }

    /// Notes that a key has left a line. Its entry is recognised as void by its ticket.
    private mutating func leaveLine(of priority: Int) {
        guard var line = lines.removeValue(forKey: priority) else { return }
        line.count -= 1
        guard line.count > 0 else { return priorities.removeAll { $0 == priority } }
        if line.count * 2 < line.entries.count {
            line.entries.removeAll { !isInLine($0) }
            line.start = 0
        }
        lines[priority] = line
    }

    /// The spec of the next image to load, and the number of its run, if the limit allows it. ``begin(_:by:)``
    /// follows.
    mutating func next() -> (spec: Spec, run: Int)? {
        guard runs.count < maximumActive else { return nil }
        for priority in priorities {
            guard let key = firstKey(in: priority), let spec = loads[key]?.spec else { continue }
            lastRun += 1
            runs[lastRun] = Run(key: key)
            loads[key]?.state = .running(lastRun)
            leaveLine(of: priority)
            return (spec, lastRun)
        }
        return nil
    }

    /// Records the work of a run, unless the run has ended.
    ///
    /// - Returns: Whether the run was cancelled meanwhile, so that the caller must cancel the work.
    mutating func begin(_ run: Int, by work: Work) -> Bool {
        switch runs[run]?.state {
        case .cancelled: return true
        case .starting: runs[run]?.state = .working(work)
        case .working, nil: break
        }
        return false
    }

    private func isInLine(_ entry: (key: String, ticket: Int)) -> Bool {
        loads[entry.key]?.isQueued(with: entry.ticket) == true
    }

    /// Returns the next key of a line. Skips keys whose cancelled run hasn't ended.
    private mutating func firstKey(in priority: Int) -> String? {
        // Taken out of the dictionary, so that changing it doesn't copy all entries.
        guard var line = lines.removeValue(forKey: priority) else { return nil }
        defer { lines[priority] = line }
        func isReady(_ entry: (key: String, ticket: Int)) -> Bool {
            isInLine(entry) && !runs.values.contains { $0.key == entry.key }
        }
        switch prioritization {
        case .fifo:
            while line.start < line.entries.count, !isInLine(line.entries[line.start]) { line.start += 1 }
            return line.entries[line.start...].first(where: isReady)?.key
        case .lifo:
            while let last = line.entries.last, !isInLine(last) { line.entries.removeLast() }
            return line.entries.last(where: isReady)?.key
        }
    }

    /// Ends a run and returns its requests in order; none if it was cancelled.
    mutating func finish(_ run: Int) -> Departure {
        var departure = Departure()
        guard let ended = runs.removeValue(forKey: run) else { return departure }
        if case .working(let work) = ended.state { departure.work = work }
        guard loads[ended.key]?.run == run, let load = loads.removeValue(forKey: ended.key) else { return departure }
        departure.waiting = load.waiting
        departure.spec = load.spec
        return departure
    }

    /// Removes a request.
    ///
    /// - Returns: The request, and the work to cancel if the image has no other requests; nil if there is no such
    ///   request.
    mutating func cancel(_ receiptID: UUID, for key: String) -> Departure? {
        guard var load = loads[key], let index = load.waiting.firstIndex(where: { $0.receiptID == receiptID }) else {
            return nil
        }
        var departure = Departure(waiting: [load.waiting.remove(at: index)])
        guard load.waiting.isEmpty else {
            loads[key] = load
            return departure
        }
        loads[key] = nil
        departure.spec = load.spec
        guard let run = load.run else {
            leaveLine(of: load.priority)
            return departure
        }
        if case .working(let work) = runs[run]?.state { departure.work = work }
        runs[run]?.state = .cancelled
        return departure
    }
}
