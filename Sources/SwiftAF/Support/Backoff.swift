extension Duration {
    /// Returns this duration, doubled a number of times, but at least zero and at most `limit`.
    func doubled(times: Int, atMost limit: Duration) -> Duration {
        let limit = max(.zero, limit)
        var duration = min(limit, max(.zero, self))
        for _ in 0..<max(0, times) {
            guard duration > .zero, duration < limit else { break }
            duration = duration < limit / 2 ? duration * 2 : limit
        }
        return duration
    }
}

/// Computes the delay before another attempt after failures, for retries and for sequences that reconnect. It is the
/// sum of a fixed part and a random time, so that clients that failed at the same time don't retry at the same time.
struct Backoff {
    /// The fixed part: the delay of Retry-After, or the time between connections.
    var least: Duration
    /// The upper bound of the random time after the first failure; doubled for each further one.
    var jitter: Duration
    /// The upper bound of all random times.
    var maximumJitter: Duration

    /// - Parameters:
    ///   - failures: The number of consecutive failures; if 0, there is no random time.
    ///   - random: The fraction of the upper bound to add: at least 0, less than 1.
    func delay(failures: Int, random: Double) -> Duration {
        guard failures > 0 else { return least }
        // A sum of longer durations might overflow.
        let longest = Duration.seconds(Int64.max)
        let jitter = jitter.doubled(times: failures - 1, atMost: min(maximumJitter, longest))
        return min(least, longest) + jitter * min(1, max(0, random))
    }
}
