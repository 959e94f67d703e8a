extension Duration {
    /// This duration, doubled a number of times; between zero and a limit, and the same beyond it.
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
