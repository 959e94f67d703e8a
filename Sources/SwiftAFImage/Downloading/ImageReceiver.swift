internal import SwiftAF

/// A requester of an image.
final class ImageReceiver: Sendable {
    /// Runs closures in the receiver's context, in order.
    typealias Executor = @Sendable (@escaping @Sendable () -> Void) -> Void
    typealias Partial = @Sendable (DownloadedImage) -> Void

    private struct State {
        /// The newest preview that hasn't been shown yet.
        var newest: DownloadedImage?
        var isScheduled = false
        var hasEnded = false
    }

    private let executor: Executor
    private let partial: Partial?
    private let completion: ImageDownloader.Completion
    private let state = Locked(State())

    /// - Parameters:
    ///   - executor: Where the closures are called.
    ///   - partial: Called with previews, never after the completion.
    init(
        on executor: @escaping Executor = { $0() }, partial: Partial? = nil,
        _ completion: @escaping ImageDownloader.Completion
    ) {
        self.executor = executor
        self.partial = partial
        self.completion = completion
    }

    var wantsPartial: Bool { partial != nil }

    /// Delivers the result. Called once.
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
            defer { state.isScheduled = true }
            state.newest = image
            return !state.isScheduled
        }
        guard begins else { return }
        executor { [self] in
            let newest = state.withLock { state in
                defer { (state.newest, state.isScheduled) = (nil, false) }
                return state.newest
            }
            if let newest { partial?(newest) }
        }
    }
}
