internal import FoundationEssentials

/// The order of waiting downloads.
public enum ImageDownloadPrioritization: Sendable, Hashable {
    /// First in, first out.
    case fifo
    /// Last in, first out.
    case lifo
}

/// The requests for images, the active loads and their order: a value type without threads.
///
/// Each image is loaded once at a time; further requests join it. A load without requests is cancelled, but counts as
/// active until it has ended. A new request for the image waits for that end.
struct LoadQueue<Handler> {
    struct Waiting {
        let receiptID: UUID
        let handler: Handler
    }

    private struct Load {
        var waiting: [Waiting]
        var priority: Int
        /// Nil while the image isn't being loaded.
        var run: Int?
    }

    let maximumActive: Int
    let prioritization: ImageDownloadPrioritization
    private var loads: [String: Load] = [:]
    /// The waiting keys, in order.
    private var queue: [String] = []
    /// Keys by run, including cancelled runs that haven't ended.
    private var runs: [Int: String] = [:]
    private var lastRun = 0

    init(maximumActive: Int, prioritization: ImageDownloadPrioritization) {
        self.maximumActive = max(1, maximumActive)
        self.prioritization = prioritization
    }

    /// The number of active loads.
    var activeCount: Int { runs.count }

    /// The number of waiting loads.
    var queuedCount: Int { queue.count }

    /// The number of requests, for active and waiting loads.
    var waitingCount: Int { loads.values.reduce(0) { $0 + $1.waiting.count } }

    /// The key of a run that hasn't ended.
    func key(of run: Int) -> String? { runs[run] }

    /// Whether a run hasn't ended.
    func isRunning(_ run: Int) -> Bool { runs[run] != nil }

    /// Whether a run has requests.
    func isWanted(_ run: Int) -> Bool { runs[run].map { loads[$0]?.run == run } ?? false }

    var isEmpty: Bool { loads.isEmpty && queue.isEmpty && runs.isEmpty }

    /// The requests of a run.
    func waiting(for run: Int) -> [Waiting] {
        guard let key = runs[run], let load = loads[key], load.run == run else { return [] }
        return load.waiting
    }

    /// Whether an image is waiting or being loaded.
    func isKnown(_ key: String) -> Bool { loads[key] != nil || runs.values.contains(key) }

    /// Adds a request. ``next()`` returns the loads to start.
    mutating func add(_ waiting: Waiting, for key: String, priority: Int) {
        if var load = loads[key] {
            load.waiting.append(waiting)
            if priority > load.priority, load.run == nil, let index = queue.firstIndex(of: key) {
                queue.remove(at: index)
                load.priority = priority
                enqueue(key, priority)
            }
            loads[key] = load
        } else {
            enqueue(key, priority)
            loads[key] = Load(waiting: [waiting], priority: priority)
        }
    }

    /// After the others of the same priority, or before them if the order is last in, first out.
    private mutating func enqueue(_ key: String, _ priority: Int) {
        let index = queue.firstIndex { other in
            let others = loads[other]?.priority ?? 0
            return prioritization == .fifo ? others < priority : others <= priority
        }
        queue.insert(key, at: index ?? queue.endIndex)
    }

    /// The next image to load, with the number of its run, if the limit allows it.
    mutating func next() -> (key: String, run: Int)? {
        guard runs.count < maximumActive, let index = queue.firstIndex(where: { !runs.values.contains($0) }) else {
            return nil
        }
        let key = queue.remove(at: index)
        lastRun += 1
        runs[lastRun] = key
        loads[key]?.run = lastRun
        return (key, lastRun)
    }

    /// Ends a run and returns its requests in order; none if it was cancelled.
    mutating func finish(_ run: Int) -> [Waiting] {
        guard let key = runs.removeValue(forKey: run), loads[key]?.run == run else { return [] }
        return loads.removeValue(forKey: key)?.waiting ?? []
    }

    /// Removes a request.
    ///
    /// - Returns: The request, and its run if that has no other requests; nil if there is no such request.
    mutating func cancel(_ receiptID: UUID, for key: String) -> (handler: Handler, givenUp: Int?)? {
        guard var load = loads[key], let index = load.waiting.firstIndex(where: { $0.receiptID == receiptID }) else {
            return nil
        }
        let waiting = load.waiting.remove(at: index)
        if load.waiting.isEmpty {
            loads[key] = nil
            if load.run == nil { queue.removeAll { $0 == key } }
        } else {
            loads[key] = load
        }
        return (waiting.handler, load.waiting.isEmpty ? load.run : nil)
    }
}
