import Glibc

/// How much the most memory that the process ever had rises from now on.
struct PeakMemory: Sendable {
    private let before = Self.peak

    /// In bytes.
    var growth: Int64 { Self.peak - before }

    private static var peak: Int64 {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Int64(usage.ru_maxrss) * 1024
    }
}
