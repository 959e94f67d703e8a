import Glibc

/// A point in time of the clock that `ContinuousClock` reads, which also counts the sleep of the system.
///
/// Its layout is fixed, unlike that of `ContinuousClock.Instant`, which later standard libraries may change. With that
/// type, the program would have to compute the layout of each type that stores an instant when it starts: 0.2 ms before
/// the first byte (`Benchmarks/first-byte`).
struct Instant: InstantProtocol {
    private var sinceBoot: Duration

    static var now: Instant {
        var time = timespec()
        // It fails only for an unknown clock.
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Instant(sinceBoot: .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
    }

    /// The time from now until this instant, as the limit of something that begins now. At least 1 ms, also for a time
    /// in the past: zero would be no limit.
    var limitFromNow: Duration { max(self - .now, .milliseconds(1)) }

    func advanced(by duration: Duration) -> Instant {
        Instant(sinceBoot: sinceBoot + duration)
    }

    func duration(to other: Instant) -> Duration {
        other.sinceBoot - sinceBoot
    }

    static func + (instant: Instant, duration: Duration) -> Instant {
        instant.advanced(by: duration)
    }

    static func - (end: Instant, start: Instant) -> Duration {
        start.duration(to: end)
    }

    static func < (one: Instant, other: Instant) -> Bool {
        one.sinceBoot < other.sinceBoot
    }
}
