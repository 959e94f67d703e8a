internal import SwiftAF

/// The closures of a request for an image.
final class ImageReceiver: Sendable {
    /// Runs closures in the receiver's context, in order.
    typealias Executor = @Sendable (@escaping @Sendable () -> Void) -> Void
    typealias Partial = @Sendable (DownloadedImage) -> Void

    private enum State {
        /// No preview waits to be shown.
        case idle
        /// The executor was asked to show the newest preview, which is this one.
        case showing(DownloadedImage)
        /// The result was delivered, after which no preview is shown.
        case ended
    }

    private let executor: Executor
    private let partial: Partial?
    private let completion: ImageDownloader.Completion
    private let state = Locked(State.idle)

    /// - Parameters:
    ///   - executor: Calls the closures.
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
            state.exchange(.ended)
            completion(result)
        }
    }

    func show(_ image: DownloadedImage) {
        let before = state.withLock { state in
            let before = state
            if case .ended = before { return before }
            state = .showing(image)
            return before
        }
        guard case .idle = before else { return }
        executor { [self] in
            let newest = state.withLock { state -> DownloadedImage? in
                guard case .showing(let newest) = state else { return nil }
                state = .idle
                return newest
            }
            if let newest { partial?(newest) }
        }
    }
}
