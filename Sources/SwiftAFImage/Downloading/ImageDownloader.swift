public import Dispatch
public import FoundationEssentials
public import SwiftAF

/// An image that was downloaded, or found in the cache.
public struct DownloadedImage: Sendable {
    public let image: Image
    /// Nil if the image comes from the cache.
    public let response: HTTPResponse?
    /// False while more of it is on its way.
    public let isComplete: Bool

    init(image: Image, response: HTTPResponse?, isComplete: Bool = true) {
        self.image = image
        self.response = response
        self.isComplete = isComplete
    }
}

/// What stands for an image that somebody waits for, to cancel it with.
public struct ImageDownloadReceipt: Sendable, Hashable {
    public let id: UUID
    let key: String
}

/// Downloads images: each once at a time for all who ask for it, a few at once, the others in a queue, into a cache.
///
/// ```swift
/// let downloader = ImageDownloader.default
/// let image = try await downloader.image(for: HTTPRequest("https://example.org/logo.png")).image
/// ```
///
/// Two requests are for the same image if their methods, URLs, processors and those header fields are the same that change
/// what is answered; see ``ImageCacheKey``. Images are decoded and processed away from the caller, in the places of the
/// active downloads.
public final class ImageDownloader: Sendable {
    /// Where images are kept; nil for nowhere.
    public let imageCache: (any ImageRequestCache)?
    /// What makes images of responses.
    public let responseSerializer: ImageResponseSerializer
    public let downloadPrioritization: ImageDownloadPrioritization
    public let maximumActiveDownloads: Int
    /// Where completions are called.
    public let completionQueue: DispatchQueue

    public typealias Completion = @Sendable (Result<DownloadedImage, SessionError>) -> Void

    private let fetcher: any ImageFetching
    private let state: Guarded<State>

    private struct State {
        var queue: LoadQueue<ImageReceiver>
        var orders: [String: Order] = [:]
        var tasks: [Int: Task<Void, Never>] = [:]
        /// Runs that were given up before their task was noted.
        var givenUp: Set<Int> = []
    }

    /// How to load an image.
    private struct Order {
        let request: HTTPRequest
        let processors: [any ImageProcessing]
        let additionalIdentifier: String?
    }

    /// One for the whole process: four downloads at once, in the order they were asked for, into a cache of 100 MiB.
    public static let `default` = ImageDownloader()

    /// Makes a downloader.
    ///
    /// - Parameters:
    ///   - fetcher: Nil for a session of its own, which asks for images and gives up after a minute without a byte.
    ///   - maximumActiveDownloads: Images that are downloaded and decoded at once; at least one.
    public init(
        fetcher: (any ImageFetching)? = nil,
        responseSerializer: ImageResponseSerializer = ImageResponseSerializer(),
        downloadPrioritization: ImageDownloadPrioritization = .fifo,
        maximumActiveDownloads: Int = 4,
        imageCache: (any ImageRequestCache)? = AutoPurgingImageCache(),
        completionQueue: DispatchQueue = .main
    ) {
        self.fetcher = fetcher ?? HTTPSessionManager()
        self.responseSerializer = responseSerializer
        self.downloadPrioritization = downloadPrioritization
        self.maximumActiveDownloads = max(1, maximumActiveDownloads)
        self.imageCache = imageCache
        self.completionQueue = completionQueue
        state = Guarded(
            State(
                queue: LoadQueue(
                    maximumActive: maximumActiveDownloads, prioritization: downloadPrioritization)))
    }

    /// How many images are being downloaded, and how many wait for that.
    public var counts: (active: Int, queued: Int) {
        state.withLock { ($0.queue.activeCount, $0.queue.queuedCount) }
    }

    /// How many wait for an image.
    var waitingCount: Int { state.withLock { $0.queue.waitingCount } }

    /// Whether nothing is kept of any download.
    var isAtRest: Bool {
        state.withLock { state in
            state.queue.isEmpty && state.orders.isEmpty && state.tasks.isEmpty && state.givenUp.isEmpty
        }
    }

    // MARK: Downloading

    /// Downloads an image.
    ///
    /// - Parameters:
    ///   - receiptID: The receipt's.
    ///   - processors: Applied to the image one after the other; the result is cached under their names too.
    ///   - priority: Higher ones are downloaded first.
    ///   - completion: Called once, on ``completionQueue``, never before this returns.
    /// - Returns: Nil if the image is in the cache, and the request's policy allows that it is taken from there.
    @discardableResult
    public func download(
        _ request: HTTPRequest, receiptID: UUID = UUID(), processors: [any ImageProcessing] = [], priority: Int = 0,
        completion: @escaping Completion
    ) -> ImageDownloadReceipt? {
        begin(
            request, receiptID, processors, priority,
            ImageReceiver(on: { [completionQueue] in completionQueue.async(execute: $0) }, completion))
    }

    /// Downloads an image; cancelling the task cancels this.
    public func image(
        for request: HTTPRequest, processors: [any ImageProcessing] = [], priority: Int = 0
    ) async throws(SessionError) -> DownloadedImage {
        let key = Self.key(of: request, processors)
        let receipt = ImageDownloadReceipt(id: UUID(), key: key)
        let isCancelled = Guarded(false)
        let result: Result<DownloadedImage, SessionError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let handler = ImageReceiver { continuation.resume(returning: $0) }
                begin(request, receipt.id, processors, priority, handler)
                // Cancelled before it was begun: the handler below found nothing to cancel then.
                if isCancelled.withLock({ $0 }) { cancel(receipt) }
            }
        } onCancel: {
            isCancelled.withLock { $0 = true }
            cancel(receipt)
        }
        return try result.get()
    }

    /// Downloads an image, and gives what can be seen of it while it comes: the last element is the image itself.
    ///
    /// Nothing is gathered for a slow reader, who gets the newest. Images are seen early if the decoder can show them
    /// (``ImageDecoding/makeProgressiveDecoder(options:)``) and whoever asked first for this image wanted to see that;
    /// processors are applied to each. Ending the loop early cancels this.
    public func images(
        for request: HTTPRequest, processors: [any ImageProcessing] = [], priority: Int = 0
    ) -> AsyncThrowingStream<DownloadedImage, any Error> {
        let receipt = ImageDownloadReceipt(id: UUID(), key: Self.key(of: request, processors))
        return AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            continuation.onTermination = { [weak self] reason in
                if case .cancelled = reason { self?.cancel(receipt) }
            }
            let handler = ImageReceiver(partial: { continuation.yield($0) }) { result in
                continuation.yield(with: result.mapError { $0 })
                continuation.finish()
            }
            begin(request, receipt.id, processors, priority, handler)
        }
    }

    /// Downloads images into the cache, behind all that somebody waits for.
    public func prefetch(_ requests: [HTTPRequest], processors: [any ImageProcessing] = []) -> [ImageDownloadReceipt] {
        requests.compactMap { request in
            begin(request, UUID(), processors, .min, ImageReceiver { _ in })
        }
    }

    /// Cancels what a receipt stands for: its completion is called with ``SwiftAF/SessionError/Code/cancelled`` and
    /// nothing else. Others who wait for the same image get it; if nobody is left, its download ends.
    public func cancel(_ receipt: ImageDownloadReceipt) {
        let (cancelled, task) = state.withLock { state -> (ImageReceiver?, Task<Void, Never>?) in
            guard let (handler, run) = state.queue.cancel(receipt.id, for: receipt.key) else { return (nil, nil) }
            if !state.queue.isKnown(receipt.key) { state.orders[receipt.key] = nil }
            guard let run else { return (handler, nil) }
            if let task = state.tasks.removeValue(forKey: run) { return (handler, task) }
            state.givenUp.insert(run)
            return (handler, nil)
        }
        task?.cancel()
        cancelled?.call(.failure(SessionError(.cancelled, message: "the image is not wanted any more")))
    }

    // MARK: For views

    /// The image of a request, if it is in the cache and may be taken from there.
    func cachedImage(for request: HTTPRequest, processors: [any ImageProcessing]) -> Image? {
        guard request.mayBeAnsweredFromCache else { return nil }
        return imageCache?.image(for: request, additionalIdentifier: Self.identifier(of: processors))
    }

    /// Downloads an image, with the completion on the main actor.
    func downloadForMainActor(
        _ request: HTTPRequest, _ receipt: ImageDownloadReceipt, _ processors: [any ImageProcessing],
        partial: (@MainActor @Sendable (Image) -> Void)?,
        completion: @escaping @MainActor @Sendable (Result<DownloadedImage, SessionError>) -> Void
    ) {
        let seen = partial.map { partial -> ImageReceiver.Partial in
            { downloaded in MainActor.assumeIsolated { partial(downloaded.image) } }
        }
        let hop: ImageReceiver.Executor = { work in Task { @MainActor in work() } }
        let handler = ImageReceiver(on: hop, partial: seen) { result in
            MainActor.assumeIsolated { completion(result) }
        }
        begin(request, receipt.id, processors, 0, handler)
    }

    // MARK: Loading

    /// What two requests for the same image share.
    static func key(of request: HTTPRequest, _ processors: [any ImageProcessing]) -> String {
        ImageCacheKey.identifier(for: request, additionalIdentifier: identifier(of: processors))
    }

    private static func identifier(of processors: [any ImageProcessing]) -> String? {
        processors.isEmpty ? nil : processors.map(\.identifier).joined(separator: "|")
    }

    @discardableResult
    private func begin(
        _ request: HTTPRequest, _ receiptID: UUID, _ processors: [any ImageProcessing], _ priority: Int,
        _ handler: ImageReceiver
    ) -> ImageDownloadReceipt? {
        if let image = cachedImage(for: request, processors: processors) {
            handler.call(.success(DownloadedImage(image: image, response: nil)))
            return nil
        }
        let key = Self.key(of: request, processors)
        state.withLock { state in
            state.queue.add(
                LoadQueue.Waiting(receiptID: receiptID, handler: handler), for: key, priority: priority)
            state.orders[key] = Order(
                request: request, processors: processors, additionalIdentifier: Self.identifier(of: processors))
        }
        startWaiting()
        return ImageDownloadReceipt(id: receiptID, key: key)
    }

    private func startWaiting() {
        while let (run, order) = state.withLock({ state -> (Int, Order)? in
            guard let (key, run) = state.queue.next(), let order = state.orders[key] else { return nil }
            return (run, order)
        }) {
            let task = Task { [self] in
                finish(run, await load(run, order))
            }
            let isGivenUp = state.withLock { state in
                if state.givenUp.remove(run) != nil { return true }
                if state.queue.isRunning(run) { state.tasks[run] = task }
                return false
            }
            if isGivenUp { task.cancel() }
        }
    }

    private func load(_ run: Int, _ order: Order) async -> Result<DownloadedImage, SessionError> {
        do throws(SessionError) {
            let data = try await fetch(run, order)
            var image = try data.serialized(by: responseSerializer)
            for processor in order.processors { image = try Self.apply(processor, to: image) }
            return .success(DownloadedImage(image: image, response: data.response))
        } catch {
            return .failure(error)
        }
    }

    /// The response; those who want to see what comes are shown it meanwhile.
    private func fetch(_ run: Int, _ order: Order) async throws(SessionError) -> DataResponse {
        guard !watchers(of: run).isEmpty,
            let decoder = responseSerializer.decoder.makeProgressiveDecoder(options: responseSerializer.options)
        else { return try await fetcher.fetch(order.request) }
        let sight = PartialSight(decoder)
        return try await fetcher.fetch(order.request) { response, bytes in
            guard response.isSuccessful, var image = sight.append(bytes) else { return }
            for processor in order.processors {
                guard let processed = try? processor.process(image) else { return }
                image = processed
            }
            let downloaded = DownloadedImage(image: image, response: response, isComplete: false)
            for watcher in watchers(of: run) { watcher.show(downloaded) }
        }
    }

    /// Those who wait for a run and want to see what comes.
    private func watchers(of run: Int) -> [ImageReceiver] {
        state.withLock { $0.queue.waiting(for: run).map(\.handler).filter(\.wantsPartial) }
    }

    private static func apply(_ processor: any ImageProcessing, to image: Image) throws(SessionError) -> Image {
        do {
            return try processor.process(image)
        } catch {
            throw error as? SessionError
                ?? SessionError(.serialization, message: "the image can't be processed", underlying: error)
        }
    }

    private func finish(_ run: Int, _ result: Result<DownloadedImage, SessionError>) {
        let (order, isWanted) = state.withLock { state -> (Order?, Bool) in
            guard let key = state.queue.key(of: run) else { return (nil, false) }
            return (state.orders[key], state.queue.isWanted(run))
        }
        // Before those who wait are told: who asks again then finds it there.
        if isWanted, let order, case .success(let downloaded) = result, let imageCache,
            imageCache.shouldCache(
                downloaded.image, for: order.request, additionalIdentifier: order.additionalIdentifier)
        {
            imageCache.add(
                downloaded.image, for: order.request, additionalIdentifier: order.additionalIdentifier)
        }
        let waiting = state.withLock { state in
            state.tasks[run] = nil
            state.givenUp.remove(run)
            let key = state.queue.key(of: run)
            let waiting = state.queue.finish(run)
            if let key, !state.queue.isKnown(key) { state.orders[key] = nil }
            return waiting
        }
        for waiting in waiting { waiting.handler.call(result) }
        startWaiting()
    }
}

extension HTTPRequest {
    /// By AFNetworking's choice of policies.
    fileprivate var mayBeAnsweredFromCache: Bool {
        switch hints.cachePolicy {
        case nil, .useProtocolCachePolicy, .returnCacheDataElseLoad, .returnCacheDataDontLoad: true
        default: false
        }
    }
}
