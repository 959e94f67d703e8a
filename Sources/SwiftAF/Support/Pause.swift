extension Duration {
    /// The longest pause, 30 years, because `Task.sleep` needs a deadline that its clock can represent.
    static let longestPause = Duration.seconds(1_000_000_000)

    /// Waits for this duration, at most ``longestPause``, or until the Swift task is cancelled.
    package func pause() async {
        guard self > .zero else { return }
        try? await Task.sleep(for: min(self, .longestPause))
    }
}
