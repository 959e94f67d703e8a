internal import SwiftAF

/// One who waits for an image.
final class ImageReceiver: Sendable {
    /// Runs something where the receiver wants to be told, one after the other.
    typealias Executor = @Sendable (@escaping @Sendable () -> Void) -> Void
    typealias Partial = @Sendable (DownloadedImage) -> Void

    private struct State {
        /// The only one that is kept of those that have not been shown yet.
        var newest: DownloadedImage?
        var isOnItsWay = false
        var hasEnded = false
    }

    private let executor: Executor
    private let partial: Partial?
    private let completion: ImageDownloader.Completion
    private let state = Guarded(State())

    /// - Parameters:
    ///   - executor: At first where the result comes up.
    ///   - partial: Shows what can be seen of the image so far; never called after the completion.
    init(
        on executor: @escaping Executor = { $0() }, partial: Partial? = nil,
        _ completion: @escaping ImageDownloader.Completion
    ) {
        self.executor = executor
        self.partial = partial
        self.completion = completion
    }

    var wantsPartial: Bool { partial != nil }

    /// Once.
    func call(_ result: Result<DownloadedImage, SessionError>) {
        executor { [self] in
            state.withLock { state in
                state.newest = nil
                state.hasEnded = true
            }
            completion(result)
        }
    }

    func show(_ image: DownloadedImage) {
        let begins = state.withLock { state in
            guard !state.hasEnded else { return false }
            defer { state.isOnItsWay = true }
            state.newest = image
            return !state.isOnItsWay
        }
        guard begins else { return }
        executor { [self] in
            let newest = state.withLock { state in
                defer { (state.newest, state.isOnItsWay) = (nil, false) }
                return state.newest
            }
            if let newest { partial?(newest) }
        }
    }
}
