extension Duration {
    /// Returns after this time, at most 30 years, or as soon as the Swift task is cancelled.
    func pause() async {
        guard self > .zero else { return }
        try? await Task.sleep(for: min(self, .seconds(1_000_000_000)))
    }
}
