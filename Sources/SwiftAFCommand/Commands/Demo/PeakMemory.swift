import Glibc

/// Measures how much the process's peak memory grows after its creation.
struct PeakMemory: Sendable {
    private let before = Self.peak

    /// The growth in bytes.
    var growth: Int64 { Self.peak - before }

    private static var peak: Int64 {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Int64(usage.ru_maxrss) * 1024
    }
}
