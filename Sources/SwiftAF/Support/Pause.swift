extension Duration {
    /// Waits for this duration, at most 30 years, or until the Swift task is cancelled.
    package func pause() async {
        guard self > .zero else { return }
        try? await Task.sleep(for: min(self, .seconds(1_000_000_000)))
    }
}
