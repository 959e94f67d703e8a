internal import FoundationEssentials

/// Which of two waiting images is downloaded first.
public enum ImageDownloadPrioritization: Sendable, Hashable {
    /// The one that was asked for first.
    case fifo
    /// The one that was asked for last.
    case lifo
}

/// Who waits for which image, which are being loaded and which come next: a value without threads.
///
/// An image is loaded once at a time. Who asks for one that is waiting or being loaded joins. One that nobody waits for any
/// more is given up, but keeps its place among the active until it has ended; asked for again meanwhile, it waits for that.
struct LoadQueue<Handler> {
    struct Waiting {
        let receiptID: UUID
        let handler: Handler
    }

    private struct Load {
        var waiting: [Waiting]
        var priority: Int
        /// Nil while it is not being loaded.
        var run: Int?
    }

    let maximumActive: Int
    let prioritization: ImageDownloadPrioritization
    private var loads: [String: Load] = [:]
    /// Keys that wait, the next first.
    private var queue: [String] = []
    /// Keys by run: those that were given up and have not ended among them.
    private var runs: [Int: String] = [:]
    private var lastRun = 0

    init(maximumActive: Int, prioritization: ImageDownloadPrioritization) {
        self.maximumActive = max(1, maximumActive)
        self.prioritization = prioritization
    }

    /// How many are being loaded.
    var activeCount: Int { runs.count }

    /// How many wait to be loaded.
    var queuedCount: Int { queue.count }

    /// How many wait for an image, whether it is being loaded or not.
    var waitingCount: Int { loads.values.reduce(0) { $0 + $1.waiting.count } }

    /// The image of a run that has not ended.
    func key(of run: Int) -> String? { runs[run] }

    /// Whether a run has not ended.
    func isRunning(_ run: Int) -> Bool { runs[run] != nil }

    /// Whether somebody waits for a run.
    func isWanted(_ run: Int) -> Bool { runs[run].map { loads[$0]?.run == run } ?? false }

    var isEmpty: Bool { loads.isEmpty && queue.isEmpty && runs.isEmpty }

    /// Those who wait for a run.
    func waiting(for run: Int) -> [Waiting] {
        guard let key = runs[run], let load = loads[key], load.run == run else { return [] }
        return load.waiting
    }

    /// Whether an image is waited for or being loaded.
    func isKnown(_ key: String) -> Bool { loads[key] != nil || runs.values.contains(key) }

    /// Somebody wants an image. Whatever is to be loaded now is what ``next()`` gives.
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

    /// Among those of the same priority, at the end or, if the last is to be first, at the front.
    private mutating func enqueue(_ key: String, _ priority: Int) {
        let index = queue.firstIndex { other in
            let others = loads[other]?.priority ?? 0
            return prioritization == .fifo ? others < priority : others <= priority
        }
        queue.insert(key, at: index ?? queue.endIndex)
    }

    /// The next image to load, with the number of its run, if there is room for it.
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

    /// A run has ended: those who waited for it, in the order they came. None, if it was given up.
    mutating func finish(_ run: Int) -> [Waiting] {
        guard let key = runs.removeValue(forKey: run), loads[key]?.run == run else { return [] }
        return loads.removeValue(forKey: key)?.waiting ?? []
    }

    /// Somebody doesn't want an image any more.
    ///
    /// - Returns: Who that was, and the run that nobody waits for now; nil if nobody with that receipt waits.
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
